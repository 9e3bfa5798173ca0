"""The verbs of models that read whole texts, from the command line."""

import json
from pathlib import Path

import pytest

from jumok.bundle.card import BundleConfig, Card
from jumok.bundle.writing import write_bundle
from jumok.config import MaskedConfig, TextClassifierConfig
from jumok.data.tokenizer import Tokenizer
from jumok.errors import ConfigError, DataError
from jumok.models.catalog import DataSizes, build
from jumok.systems import masked_model
from jumok.systems.masked_model import plain_batches
from tests.cli.calls import call
from tests.systems.masked import LINES

SIZES = {"dim": 12, "heads": 3, "layers": 1, "feedforward": 20, "max_length": 29}


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Models that nobody trained, by task."""
    tokenizer = Tokenizer.train(LINES, "bpe", 300)
    made = {}
    for task, section, labels in (
        ("masked-lm", MaskedConfig(**SIZES), ()),
        ("text-classification", TextClassifierConfig(**SIZES), ("bad", "good")),
    ):
        model = build(section, DataSizes(tokenizer.size, len(labels)))
        config = BundleConfig(
            task, section.model_dump(), tokenizer.size, labels=labels, max_tokens=23
        )
        folder = tmp_path_factory.mktemp("bundles") / task
        weights = dict(model.named_parameters())
        made[task] = write_bundle(folder, weights, config, tokenizer, Card(name="tiny"))
    return made


def test_fill_keeps_the_lines_and_names_those_without_a_gap(bundles):
    given = "the ___ sat\n\nno gap\n[MASK] cat [MASK]\n"
    result = call("fill", bundles["masked-lm"], "--top", 3, given=given)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert len(lines) == 4
    assert lines[1:3] == ["", "no gap"]
    assert len(lines[0].split("\t")[1].split(", ")) == 3
    assert len(lines[3].split("\t")) == 3
    assert "passed through unchanged: line 3" in result.stderr


def test_fill_goes_on_behind_a_line_that_cannot_be_read(bundles):
    far = f"[MASK] {'the cat ' * 20}[MASK]"
    result = call("fill", bundles["masked-lm"], "--json", given=f"{far}\nthe ___\n")
    first, second = map(json.loads, result.stdout.splitlines())
    assert (first["line"], first["text"]) == (1, None)
    assert len(second["gaps"][0]) == 5
    assert "line 1: the gaps are too far apart" in result.stderr


def test_classify_reads_texts_and_lines_and_names_the_empty_one(bundles):
    model = bundles["text-classification"]
    result = call("classify", model, "the cat", "the dog")
    assert [line.split("\t")[0] for line in result.stdout.splitlines()] == ["the cat", "the dog"]
    result = call("classify", model, "--json", given="the cat\n\nthe dog\n")
    found = [json.loads(line) for line in result.stdout.splitlines()]
    assert [one["label"] is None for one in found] == [False, True, False]
    assert "text 2 is empty" in result.stderr
    assert isinstance(result.exception, DataError)


def test_evaluate_says_accuracy_and_who_was_taken_for_whom(bundles, tmp_path):
    file = tmp_path / "test.tsv"
    file.write_text("text\tlabel\nthe cat\tgood\nthe dog sat\tbad\n \tbad\n")
    columns = ["--data", file, "--columns", "text,label"]
    result = call("evaluate", bundles["text-classification"], *columns, "--json")
    assert result.exit_code == 0, result.output
    judged = json.loads(result.stdout)
    assert [score["name"] for score in judged["scores"]] == ["accuracy", "macro-F1"]
    assert judged["details"][0].startswith("bad: predicted as ")
    assert "skipped empty texts: 1, the first in line 4" in result.stderr
    file.write_text("text\tlabel\nthe cat\tugly\n")
    result = call("evaluate", bundles["text-classification"], *columns)
    assert "line 2: the model does not know this label." in str(result.exception)
    assert "one of bad, good" in str(result.exception)


def test_evaluate_says_how_well_masked_pieces_are_guessed(bundles, tmp_path):
    file = tmp_path / "test.txt"
    file.write_text("the cat sat on the mat\nthe dog\n")
    result = call("evaluate", bundles["masked-lm"], "--data", file)
    assert result.exit_code == 0, result.output
    assert "accuracy" in result.stdout
    assert "share:0.15|mask:1|random:0|words" in result.stdout
    assert "2 texts, in" in result.stdout


def test_embed_knows_a_masked_model(bundles, tmp_path):
    file = tmp_path / "texts.txt"
    file.write_text("the cat sat\nthe dog\n")
    result = call("embed", bundles["masked-lm"], file, "--words")
    assert result.exit_code == 0, result.output
    first, second = map(json.loads, result.stdout.splitlines())
    assert len(first["vector"]) == 12
    assert second["words"] == ["the", "dog"]
    assert call("embed", bundles["masked-lm"], "--nearest", "the").exit_code == 0


def test_these_models_run_in_bfloat16(bundles):
    options = ("--precision", "bf16")
    result = call("fill", bundles["masked-lm"], *options, given="the ___ sat\n")
    assert result.exit_code == 0, result.output
    result = call("classify", bundles["text-classification"], "the cat", *options)
    assert result.exit_code == 0, result.output


def test_info_says_what_they_are(bundles):
    result = call("info", bundles["text-classification"])
    assert result.exit_code == 0, result.output
    assert "bad, good" in result.stdout


@pytest.mark.parametrize("option", [("--by", "0"), ("--lowercase",), ("--beam", "4")])
def test_evaluate_refuses_what_counts_for_nothing(bundles, tmp_path, option):
    data = tmp_path / "texts.tsv"
    data.write_text("the cat sat\tgood\n")
    words = ["evaluate", bundles["text-classification"], "--data", data, *option]
    error = call(*words).exception
    assert isinstance(error, ConfigError)
    assert f"{option[0]} has no effect for this kind of model" in str(error)


def test_fill_reads_as_many_lines_at_once_as_it_is_told(bundles, monkeypatch):
    sizes = []

    def batches(ids, size):
        sizes.append(size)
        return plain_batches(ids, size)

    monkeypatch.setattr(masked_model, "plain_batches", batches)
    assert call("fill", bundles["masked-lm"], "--batch", 40, given="a ___\n" * 3).exit_code == 0
    assert sizes == [40]
