"""Vocabularies that grow when a model is trained further."""

import pytest
import torch
from safetensors.torch import load_file

from jumok import Translator
from jumok.bundle.reading import read_bundle
from jumok.data.tokenizer import Tokenizer
from jumok.errors import ConfigError
from jumok.interop.importing import read_model, write_imported
from jumok.training.preparing.growing import grown_rows
from jumok.training.run import train
from jumok.training.start import parse
from tests.training.conftest import Recorder
from tests.training.runs import Killed, assert_same_end, killed_at
from tests.training.starts import FURTHER, earlier, further, rows, write

NEW = {"one": "flugelhorn", "two": "주목", "three": "three"}


@pytest.fixture
def old(tmp_path):
    return train(earlier("transformer", tmp_path), tmp_path / "runs", Recorder()).model


def asked(folder, model, *overrides, runs=None):
    """Pairs with words that the model has not seen."""
    texts = [" ".join(NEW.get(word, word) for word in row) for row in rows(7)]
    pair = {
        "source": write(folder / "more.en", texts),
        "target": write(folder / "more.ko", [" ".join(reversed(each.split())) for each in texts]),
    }
    values = {
        "name": "grown", "start": {"model": str(model)}, "training": FURTHER,
        "data": {"train": [pair], "validation_pairs": 11},
        "validation": {"every": 2, "keep": "all"},
    }  # fmt: skip
    return parse(values, ["start.grow=2", *overrides], runs=runs)


@pytest.mark.parametrize("mix", [0.0, 0.4])
def test_new_words_get_rows_and_old_texts_keep_their_ids(tmp_path, old, mix):
    result = train(asked(tmp_path, old, f"start.mix={mix}"), tmp_path / "runs", Recorder())
    before, after = (Tokenizer.load(each / "tokenizer.model") for each in (old, result.model))
    assert after.pieces(range(before.size, after.size)) == ["▁flugelhorn", "▁주목"]
    assert len(before.encode("flugelhorn")) > 4
    assert len(after.encode("flugelhorn")) == 1
    for text in (tmp_path / "old" / "a.en").read_text("utf-8").splitlines():
        assert after.encode(text) == before.encode(text)
    assert after.decode(after.encode("two flugelhorn 주목")) == "two flugelhorn 주목"
    whole = load_file(old / "model.safetensors")
    first = load_file(result.folder / "steps" / "000000" / "model.safetensors")
    grew = {name for name in whole if whole[name].shape != first[name].shape}
    assert grew
    for name in grew:  # both tables, or the one of both
        torch.testing.assert_close(first[name][: before.size], whole[name], rtol=0, atol=0)
        parts = [id for id in before.encode("flugelhorn") if id != 1]
        torch.testing.assert_close(first[name][before.size], whole[name][parts].mean(0))
    assert read_bundle(result.model).config.vocabulary_size == after.size
    text = ["one flugelhorn"]
    for engine in ("torch", "native"):
        system = Translator.load(result.model, engine=engine, device="cpu")
        assert len(system.translate(text, beam=1)) == 1


def test_a_grown_run_is_resumed_in_the_same_bits(tmp_path, old):
    whole = train(asked(tmp_path, old), tmp_path / "whole", Recorder())
    with pytest.raises(Killed):
        train(asked(tmp_path, old), tmp_path / "cut", killed_at(Recorder, 3))
    config = asked(tmp_path, old, runs=tmp_path / "cut")
    again = train(config, tmp_path / "cut", Recorder(), resume=True)
    assert_same_end(whole.folder, again.folder)


def test_a_vocabulary_that_cannot_grow_is_named(tmp_path):
    model = train(earlier("text", tmp_path), tmp_path / "runs", Recorder()).model
    config = further("text", tmp_path, model, "start.grow=3")
    with pytest.raises(ConfigError, match="cannot grow") as raised:
        train(config, tmp_path / "runs", Recorder())
    assert raised.value.got == "a model of another task"


@pytest.mark.parametrize(
    ("family", "kind"), [("marian", "two SentencePiece models"), ("bart", "a tokenizer.json")]
)
def test_an_imported_vocabulary_that_cannot_grow_is_named(tmp_path, family, kind):
    folders = pytest.importorskip("tests.interop.folders", reason="transformers writes the models")
    model = write_imported(read_model(folders.WRITTEN[family](tmp_path / "theirs")), tmp_path / "m")
    with pytest.raises(ConfigError, match="cannot grow") as raised:
        train(asked(tmp_path, model), tmp_path / "runs", Recorder())
    assert kind in raised.value.got
    assert "\n" not in raised.value.got


def test_rows_of_unknown_characters_are_the_mean_of_all():
    table = torch.arange(12.0).reshape(6, 2)
    grown = grown_rows(table, [[1], [4, 1, 5]])
    torch.testing.assert_close(grown[6], table.mean(0))
    torch.testing.assert_close(grown[7], table[4:].mean(0))
