"""Whole runs of a language model on a tiny text."""

import math

import pytest

from jumok.bundle.reading import read_bundle
from jumok.config import parse_config
from jumok.errors import ConfigError, DataError
from jumok.systems.language_model import LanguageModel, joined_scores
from jumok.training.run import train
from tests.training.conftest import WORDS
from tests.training.starts import STACK, TRAINING

LINES = [" ".join(WORDS[(row + step) % 11] for step in range(2 + row % 7)) for row in range(60)]


@pytest.fixture
def make_text_config(tmp_path):
    (tmp_path / "rows.txt").write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")

    def make(*overrides: str):
        values = {
            "name": "tiny",
            "data": {"train": [{"file": str(tmp_path / "rows.txt")}]},
            "model": {"kind": "causal-lm", **STACK, "layers": 1, "max_length": 16},
            "training": TRAINING
            | {"steps": 8, "tokens_per_batch": 96, "tokens_per_micro_batch": 48},
            "validation": {"every": 4},
        }
        return parse_config(values, overrides)

    return make


PACKED = ["data.documents=line", "tokenizer.kind=bpe", "tokenizer.size=300"]


@pytest.mark.parametrize("overrides", [[], PACKED])
def test_a_run_leaves_a_model_that_writes_and_scores(
    tmp_path, make_text_config, recorder, overrides
):
    screen = recorder()
    result = train(make_text_config(*overrides), tmp_path, screen)
    assert result.outcome.reason == "finished"
    assert screen.validations[-1].loss < screen.steps[0].loss
    bundle = read_bundle(result.model)
    assert bundle.config.max_tokens == 16
    system = LanguageModel.load(result.model, device="cpu")
    assert system.documents == ("line" if overrides else "file")
    assert "".join(system.generate("one ", max_tokens=5))


def test_documents_share_no_window_where_attention_knows_its_place_in_it(make_text_config):
    linear = ["model.positions=rotary", "model.attention_kind=linear"]
    assert make_text_config(*linear).data.documents == "file"
    with pytest.raises(ConfigError, match=r'documents = "line" lets documents share a window'):
        make_text_config(*linear, "data.documents=line")


def test_the_validation_loss_is_that_of_the_held_out_lines(tmp_path, make_text_config, recorder):
    """Documents that fit into the context are scored alone as they are validated packed."""
    screen = recorder()
    config = make_text_config(*PACKED, "model.max_length=48", "data.held_out=0.25")
    result = train(config, tmp_path, screen)
    system = LanguageModel.load(result.model, device="cpu")
    whole = joined_scores(system.score(LINES[45:]))
    best = next(record for record in reversed(screen.validations) if record.best)
    assert best.loss == pytest.approx(whole.loss, abs=1e-4)
    (bits,) = read_bundle(result.model).card.scores
    assert bits.value == pytest.approx(whole.bits_per_byte, abs=1e-4)
    assert bits.value == pytest.approx(
        whole.loss * len(whole.tokens) / sum(map(len, LINES[45:])) / math.log(2), abs=1e-4
    )


def test_validation_data_may_be_given(tmp_path, make_text_config, recorder):
    (tmp_path / "unseen.txt").write_text("one two\n")
    screen = recorder()
    config = make_text_config('data.validation=[{file="unseen.txt"}]', "training.steps=1")
    with pytest.raises(DataError, match=r"unseen\.txt"):
        train(config, tmp_path, screen)
    config = make_text_config(
        f'data.validation=[{{file="{tmp_path / "unseen.txt"}"}}]', "training.steps=1", "name=two"
    )
    result = train(config, tmp_path, screen)
    assert "9 validation tokens" in read_bundle(result.model).card.scores[0].on


def test_a_batch_must_hold_a_window(make_text_config):
    with pytest.raises(ConfigError, match="at least one window of 64 tokens"):
        make_text_config("model.max_length=64")


def test_windows_may_be_shorter_than_what_the_model_reads(make_text_config, tmp_path, recorder):
    config = make_text_config("model.max_length=64", "data.window=8", "training.steps=1")
    bundle = read_bundle(train(config, tmp_path, recorder()).model)
    assert bundle.config.max_tokens == 64
    assert bundle.card.scores[0].on.endswith("in windows of 8")
