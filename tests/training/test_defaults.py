"""A recipe sized to the corpus."""

import gzip
import tomllib
from pathlib import Path

import pytest

from jumok.config import parse_config
from jumok.data.pairs.corpus import Corpus
from jumok.data.texts.corpus import TextCorpus
from jumok.data.texts.tokenizer import train_text_tokenizer
from jumok.errors import DataError
from jumok.training.defaults.pairs import PAIR_SIZES, pair_size_for, recipe_for
from jumok.training.defaults.texts import (
    LEAST_CHARACTERS,
    TEXT_SIZES,
    measure,
    recipe_for_text,
    text_size_for,
)


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


def test_the_sizes_of_pairs_rise():
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
    source, target = tmp_path / "train.en.gz", tmp_path / "train.de.gz"
    for path in (source, target):
        with gzip.open(path, "wt") as file:
            file.write("a\n")
    data = tomllib.loads(recipe_for(Corpus(source, target), "a"))["data"]
    assert (data["source_language"], data["target_language"]) == ("en", "de")


# 40 characters with the line break, so that lengths can be counted by hand.
LINE = "the cat sat on the mat and the dog slept\n"[-40:]
LINES = LEAST_CHARACTERS // 40


@pytest.fixture
def book(tmp_path: Path) -> Path:
    file = tmp_path / "book.txt"
    file.write_text(LINE * LINES)
    return file


@pytest.mark.parametrize(
    ("characters", "dim", "subwords"),
    [
        (LEAST_CHARACTERS, 128, 300),
        (300_001, 128, 700),
        (3_000_001, 256, 6_000),
        (40_000_000, 384, 12_000),
        (10**10, 512, 24_000),
    ],
)
def test_the_size_follows_the_length_of_a_text(characters: int, dim: int, subwords: int) -> None:
    size = text_size_for(characters)
    assert (size.dim, size.subwords) == (dim, subwords)


def test_the_sizes_of_texts_rise_and_always_stop_early() -> None:
    bounds = [size.characters or 10**12 for size in TEXT_SIZES]
    assert bounds == sorted(bounds)
    assert [size.steps for size in TEXT_SIZES] == sorted(size.steps for size in TEXT_SIZES)
    assert [size.subwords for size in TEXT_SIZES] == sorted(size.subwords for size in TEXT_SIZES)
    assert all(size.patience > 0 for size in TEXT_SIZES)
    assert all(size.dim % size.heads == 0 for size in TEXT_SIZES)


def test_characters_and_documents_are_counted(tmp_path: Path, book: Path) -> None:
    (tmp_path / "two.txt").write_text(f"{LINE}\n{LINE * LINES}")
    corpora = [TextCorpus(book), TextCorpus(tmp_path / "two.txt")]
    assert measure(corpora, "file").documents == 2
    length = measure(corpora, "blank-line")
    assert length.documents == 3
    assert length.characters == 80 * LINES + 40 - 3  # the last line break of a block is none of it
    assert length.alphabet == len(set(LINE))


def test_rare_characters_are_left_to_the_bytes(tmp_path: Path) -> None:
    """One character in 10,001 is beyond the 99.95 % that the vocabulary covers."""
    file = tmp_path / "a.txt"
    file.write_text(LINE * LINES + "龜", "utf-8")
    assert measure([TextCorpus(file)], "file").alphabet == len(set(LINE))


def test_a_text_too_short_is_refused_with_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text(LINE * (LINES - 1))
    with pytest.raises(DataError) as caught:
        recipe_for_text([file], "a")
    text = str(caught.value)
    assert text.startswith(f"{file}: the text is too short to train a language model on.")
    assert "at least 10,000 characters; a book has 500,000" in text
    assert "got:      9,960 characters" in text
    assert "give more text: --text FILE --text FILE" in text


@pytest.mark.parametrize("rule", ["file", "line", "blank-line"])
def test_the_recipe_of_a_text_can_be_followed(tmp_path: Path, rule: str) -> None:
    files = [tmp_path / "a$b.ko.txt", tmp_path / "c.ko.txt.gz"]
    files[0].write_text(LINE * LINES, "utf-8")
    files[1].write_bytes(gzip.compress((LINE * LINES).encode()))
    config = parse_config(tomllib.loads(recipe_for_text(files, "a", rule)))
    assert [corpus.file for corpus in config.data.train] == files
    assert config.data.documents == rule
    assert config.data.language == "ko"
    assert config.validation.patience > 0
    assert config.validation.every * 20 == config.training.steps


def test_the_vocabulary_has_room_for_every_alphabet(tmp_path: Path) -> None:
    """Hangul has thousands of syllables; SentencePiece refuses a vocabulary without room."""
    file = tmp_path / "ko.txt"
    syllables = [chr(0xAC00 + 7 * number) for number in range(1_500)]
    rows = [" ".join(syllables[row : row + 30]) for row in range(0, 1_500, 30)]
    file.write_text("".join(f"{row}\n" for row in rows * 8), "utf-8")
    config = parse_config(tomllib.loads(recipe_for_text([file], "ko")))
    tokenizer = train_text_tokenizer(
        [file.read_text("utf-8")],
        config.tokenizer.kind,
        config.tokenizer.size,
        coverage=config.tokenizer.character_coverage,
    )
    assert tokenizer.size == config.tokenizer.size


@pytest.mark.parametrize(("characters", "share"), [(LEAST_CHARACTERS, 0.1), (4_000_000, 0.03)])
def test_long_texts_hold_out_less(tmp_path: Path, characters: int, share: float) -> None:
    file = tmp_path / "a.txt"
    file.write_text(LINE * (characters // 40))
    assert tomllib.loads(recipe_for_text([file], "a"))["data"]["held_out"] == share
