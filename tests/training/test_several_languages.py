"""Pairs of several languages in one training."""

import pytest
from pydantic import ValidationError

import jumok
from jumok import Translator
from jumok.bundle.reading import read_bundle
from jumok.config import parse_config
from jumok.config.data import DataConfig
from jumok.data.tokenizer import Tokenizer
from jumok.errors import ConfigError
from jumok.training.preparing.pairs import prepare_translation, update_stream
from jumok.training.run import train
from jumok.training.start import parse
from tests.training.conftest import Recorder
from tests.training.starts import STACK, TRAINING, rows, write


def corpora(folder, counts=(90, 30)):
    """English read backwards is German, and letter by letter French."""
    found = []
    for seed, (language, count) in enumerate(zip(("de", "fr"), counts, strict=True)):
        texts = [" ".join(row) for row in rows(seed, count)]
        turned = {"de": [" ".join(reversed(text.split())) for text in texts], "fr": texts}[language]
        source = write(folder / f"{language}.source", texts)
        target = write(folder / f"{language}.target", turned)
        pair = {"source_language": "en", "target_language": language}
        found.append({"source": source, "target": target, **pair})
    return found


def recipe(folder, **more):
    return {
        "name": "two",
        "data": {"train": corpora(folder), "validation_pairs": 11} | more,
        "tokenizer": {"kind": "bpe", "size": 60, "byte_fallback": False},
        "model": {**STACK, "encoder_layers": 1, "decoder_layers": 1},
        "training": TRAINING,
        "validation": {"decode_pairs": 6, "every": 4, "metric": "loss"},
    }


def test_a_source_opens_with_the_language_that_is_asked_for(tmp_path):
    config = parse_config(recipe(tmp_path))
    prepared = prepare_translation(config, tmp_path, tmp_path / "cache", print)
    german, french = (prepared.tokenizers["en", code] for code in ("de", "fr"))
    assert german.pieces(german.opening) == ["<2de>"]
    for store, cuts in zip(prepared.train, (german, french), strict=True):
        assert {int(store.source[row][0]) for row in range(5)} == {*cuts.opening}
        assert store.target[0][0] not in (*german.opening, *french.opening)
    assert "<2de>" not in german.plain.pieces(german.plain.encode("one <2de> two"))
    assert german.decode(german.encode("one two")) == "one two"
    assert {*prepared.pairs} == {("en", "de"), ("en", "fr")}
    assert german.hash != french.hash != prepared.tokenizer.hash
    assert Tokenizer.load(tmp_path / "tokenizer.model").hash == prepared.tokenizer.hash


@pytest.mark.parametrize(("temperature", "share"), [(1.0, 0.75), (1e9, 0.5)])
def test_the_temperature_flattens_the_shares(tmp_path, temperature, share):
    values = recipe(tmp_path, sampling_temperature=temperature, validation_pairs=1)
    values["data"]["train"] = corpora(tmp_path, (300, 100))
    config = parse_config(values)
    prepared = prepare_translation(config, tmp_path, tmp_path / "cache", print)
    stream = update_stream(config, prepared.train, prepared.tokenizers)
    (german,) = prepared.tokenizers["en", "de"].opening
    counts = [0, 0]
    for _ in range(60):
        for batch in next(stream):
            counts[int(batch.source[0, 0] != german)] += batch.targets
    assert counts[0] / sum(counts) == pytest.approx(share, abs=0.05)


def test_a_model_of_two_pairs_is_trained_and_trained_further(tmp_path):
    result = train(parse_config(recipe(tmp_path)), tmp_path / "runs", Recorder())
    bundle = read_bundle(result.model)
    assert bundle.config.pairs == (("en", "de"), ("en", "fr"))
    assert bundle.config.source_language == "en"
    system = jumok.load(result.model, kind=Translator)
    with pytest.raises(ConfigError, match="several pairs"):
        system.translate(["one"])
    assert len(system.between(target="fr").translate(["one two", "three"])) == 2
    further = {"name": "more", "start": {"model": str(result.model)}}
    only = corpora(tmp_path)[0]
    data = {"train": [only], "validation_pairs": 5}
    config = parse(further | {"data": data}, ["training.steps=2"])
    again = train(config, tmp_path / "runs", Recorder())
    assert read_bundle(again.model).config.pairs == bundle.config.pairs
    unknown = data | {"train": [only | {"target_language": "ko"}]}
    with pytest.raises(ConfigError, match="does not translate between"):
        train(parse(further | {"data": unknown, "name": "no"}, []), tmp_path / "runs", Recorder())


def test_languages_that_contradict(tmp_path):
    train = corpora(tmp_path)
    for data in (
        {"train": [train[0], {**train[1], "source_language": ""}]},
        {"train": train, "validation": [{**train[0], "target_language": "ko"}]},
        {"train": [{**each, "weight": 1.0} for each in train], "sampling_temperature": 2.0},
    ):
        with pytest.raises(ValidationError):
            DataConfig.model_validate(data)
