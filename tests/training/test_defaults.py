"""A recipe sized to the corpus."""

import tomllib

import pytest

from jumok.config import parse_config
from jumok.data.pairs.corpus import Corpus
from jumok.training.defaults.pairs import PAIR_SIZES, pair_size_for, recipe_for


@pytest.mark.parametrize(
    ("pairs", "dim", "layers", "subwords"),
    [
        (100, 128, 2, 4_000),
        (2_001, 128, 3, 4_000),
        (29_000, 128, 4, 6_000),
        (140_000, 256, 4, 16_000),
        (1_000_000, 512, 6, 32_000),
        (50_000_000, 512, 6, 32_000),
    ],
)
def test_the_size_follows_the_number_of_pairs(pairs, dim, layers, subwords):
    size = pair_size_for(pairs)
    assert (size.dim, size.layers, size.subwords) == (dim, layers, subwords)


def test_the_ladder_rises():
    bounds = [size.pairs or 10**12 for size in PAIR_SIZES]
    assert bounds == sorted(bounds)
    assert [size.steps for size in PAIR_SIZES] == sorted(size.steps for size in PAIR_SIZES)


@pytest.mark.parametrize("pairs", [12, 2_001])
def test_the_recipe_can_be_followed(tmp_path, pairs):
    source, target = tmp_path / "a$b.en", tmp_path / "a$b.ko.txt"
    source.write_text("".join(f"sentence {number}\n" for number in range(pairs)), "utf-8")
    target.write_text("".join(f"문장 {number}\n" for number in range(pairs)), "utf-8")
    text = recipe_for(Corpus(source, target), "a")
    config = parse_config(tomllib.loads(text))
    assert f"for {pairs:,} pairs" in text
    assert config.data.train[0].source == source
    assert config.data.source_language == "en"
    assert config.data.target_language == ""
    assert config.model.dim == pair_size_for(pairs).dim
    assert config.validation.every * 20 == config.training.steps


def test_languages_are_read_from_compressed_names(tmp_path):
    import gzip

    source, target = tmp_path / "train.en.gz", tmp_path / "train.de.gz"
    for path in (source, target):
        with gzip.open(path, "wt") as file:
            file.write("a\n")
    data = tomllib.loads(recipe_for(Corpus(source, target), "a"))["data"]
    assert (data["source_language"], data["target_language"]) == ("en", "de")
