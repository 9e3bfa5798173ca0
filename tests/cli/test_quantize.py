"""`jumok quantize`: what it writes, what it refuses, and what it tells."""

import json
import re
from functools import partial
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from typer.testing import CliRunner

from jumok.bundle.fingerprint import fingerprint_in
from jumok.bundle.reading import read_bundle
from jumok.cli import quality
from jumok.cli.main import app
from jumok.engine.quantising import quantised
from jumok.engine.structures import library
from jumok.errors import BundleError, ConfigError
from jumok.systems.language_model import LanguageModel
from tests.bundle.conftest import sign
from tests.cli.calls import call, fault
from tests.systems.lm import write_lm
from tests.systems.test_ordinary_module import recurrent, transformer
from tests.systems.untrained import write_masked, write_text_classifier

SOURCES = ["the cat sat on the mat", "I am a student.", "the dog barked", ""] * 3
REFERENCES = ["고양이가 매트 위에 앉았고", "나는 학생입니다.", "개가 짖었다.", ""] * 3


quantize = partial(call, "quantize")
refused = partial(fault, "quantize")


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    return transformer(tmp_path_factory.mktemp("quantize") / "model")


@pytest.fixture
def check(tmp_path: Path) -> list[str | Path]:
    source, reference = tmp_path / "test.en", tmp_path / "test.ko"
    source.write_text("\n".join(SOURCES) + "\n", "utf-8")
    reference.write_text("\n".join(REFERENCES) + "\n", "utf-8")
    return ["--check", source, reference]


@pytest.fixture
def fragile(tmp_path: Path) -> Path:
    """Every row of its matrices has one large weight, which int8 rounds the others away for."""
    folder = transformer(tmp_path / "fragile")
    tensors = load_file(folder / "model.safetensors")
    for name, tensor in tensors.items():
        if tensor.dim() == 2 and "feedforward" in name:
            tensor[:, 0] *= 3000
    save_file(tensors, folder / "model.safetensors")
    sign(folder)
    return folder


def test_it_writes_a_smaller_bundle_with_its_figures(model, check, tmp_path):
    small = tmp_path / "small"
    done = quantize(model, "--to", "bf16", "--output", small, *check, "--beam", "2", "--batch", "3")
    assert done.exit_code == 0, done.output
    bundle, whole = read_bundle(small), read_bundle(model)
    assert bundle.precision == "bf16"
    quality = bundle.card.quality
    assert quality is not None
    assert quality.made_from == f"{whole.card.name} {fingerprint_in(model)}"
    assert [each.name for each in quality.after] == ["BLEU", "chrF2"]
    assert quality.on == "test.en + test.ko: 12 sentences, beam 2"
    assert quality.tokens > 12
    assert quality.equal >= 0.97
    assert quality.forced == ""
    assert f"equal tokens          {quality.equal:.2%}  of {quality.tokens}" in done.stdout
    assert f"size, MB        {whole.size / 1e6:.2f}" in done.stdout
    assert "x faster" in done.stdout
    assert done.stdout.splitlines()[-1] == f"written to {small}"
    told = CliRunner().invoke(app, ["info", str(small)], env={"COLUMNS": "300"}).stdout
    assert "precision     bf16" in told
    assert f"{quality.equal:.2%} of {quality.tokens} tokens equal" in told
    assert "## Quantized" in (small / "README.md").read_text("utf-8")


def test_json_has_the_same_figures(model, check, tmp_path):
    small = tmp_path / "small"
    done = quantize(model, "--to", "bf16", "-o", small, *check, "--json", "--beam", "1")
    facts = json.loads(done.stdout)
    card = json.loads((small / "card.json").read_text("utf-8"))
    assert facts["quality"] == card["quality"]
    assert facts["bytes"] == [read_bundle(model).size, read_bundle(small).size]
    assert len(facts["seconds"]) == 2


def test_a_model_that_loses_too_much_is_not_written(fragile, check, tmp_path):
    small = tmp_path / "small"
    error = refused(fragile, "--to", "int8", "--output", small, *check, "--beam", "1")
    assert isinstance(error, ConfigError)
    assert error.exit_code == 2
    assert f"{fragile}: the model loses too much in int8: nothing was written." in str(error)
    assert "tokens are equal (at least 97%)" in str(error)
    assert 'do:       --to bf16 loses less; or --force "REASON" writes it all the same' in str(
        error
    )
    assert not small.exists()
    assert not list(tmp_path.glob(".small*"))


def test_force_writes_it_with_the_reason(fragile, check, tmp_path):
    small, reason = tmp_path / "small", "only to show what is lost"
    done = quantize(fragile, "--to", "int8", "-o", small, *check, "-b", "1", "--force", reason)
    assert done.exit_code == 0, done.output
    quality = read_bundle(small).card.quality
    assert quality is not None
    assert quality.forced == reason
    assert quality.equal < 0.97
    assert f"forced: {reason}" in done.stdout
    assert f"- forced: {reason}" in (small / "README.md").read_text("utf-8")
    again = refused(small, "--to", "bf16", "--output", tmp_path / "other", *check)
    assert str(again) == (
        f"{small}: this model is already stored in int8.\n"
        "  do:       quantize the model that it was made from"
    )


def test_a_reason_is_not_recorded_where_none_was_needed(model, check, tmp_path):
    small = tmp_path / "small"
    quantize(model, "--to", "bf16", "-o", small, *check, "-b", "1", "--force", "in a hurry")
    quality = read_bundle(small).card.quality
    assert quality is not None
    assert quality.forced == ""


@pytest.mark.skipif(library() is None, reason="needs a C compiler")
def test_translate_uses_int8_by_itself(fragile, check, tmp_path):
    """As on the fly from the floats that its integers stand for."""
    small = tmp_path / "small"
    quantize(fragile, "--to", "int8", "-o", small, *check, "-b", "1", "--force", "a test")
    scores = {}
    for options in ((), ("--precision", "int8"), ("--precision", "fp32"), ("--engine", "torch")):
        done = call("translate", small, check[1], "--json", "--no-keep", "-b", "1", *options)
        assert done.exit_code == 0, done.output
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        scores[options] = [(each["tokens"], each["log_probability"]) for each in lines]
    assert scores[()] == scores["--precision", "int8"]
    assert scores[()] != scores["--precision", "fp32"]
    for one, other in zip(scores["--precision", "fp32"], scores["--engine", "torch"], strict=True):
        assert one[0] == other[0]
        assert one[1] == pytest.approx(other[1], abs=1e-3)


def test_a_recurrent_translator(check, tmp_path):
    rnn, small = recurrent(tmp_path / "rnn", attention="dot", order="luong"), tmp_path / "small"
    done = quantize(rnn, "--to", "bf16", "--output", small, *check, "--beam", "1")
    assert done.exit_code == 0, done.output
    assert read_bundle(small).card.quality.tokens > 12


def test_a_language_model_is_measured_by_its_perplexity(tmp_path):
    lm, text, small = write_lm(tmp_path / "lm"), tmp_path / "text.txt", tmp_path / "small"
    text.write_text("the cat sat on the mat\n" * 9, "utf-8")
    done = quantize(lm, "--to", "int8", "--output", small, "--data", text)
    assert done.exit_code == 0, done.output
    quality = read_bundle(small).card.quality
    assert quality is not None
    ((before,), (after,)) = quality.before, quality.after
    assert before.name == "perplexity"
    assert 0 < abs(after.value / before.value - 1) < 0.01
    assert quality.tokens == 23 * 9 + 1  # START is followed by the first byte, the last by END
    evaluated = call("evaluate", lm, "--data", text, "--json")
    scores = {each["name"]: each["value"] for each in json.loads(evaluated.stdout)["scores"]}
    assert before.value == pytest.approx(scores["perplexity"], rel=1e-6)


def test_a_kind_without_a_measure_needs_a_reason(tmp_path):
    kind, small = write_masked(tmp_path / "masked"), tmp_path / "small"
    error = refused(kind, "--to", "int8", "--output", small)
    assert "got:      what it loses is not measured for this kind of model" in str(error)
    assert error.do == '--force "REASON" writes it all the same'
    assert not small.exists()
    done = quantize(kind, "--to", "int8", "-o", small, "--force", "evaluated by hand")
    assert done.exit_code == 0
    assert "quality not measured" in (small / "README.md").read_text("utf-8")
    assert call("fill", small, given="the ___ sat").exit_code == 0


def test_a_classifier_is_measured_by_its_labels(tmp_path):
    kind, small = write_text_classifier(tmp_path / "classifier"), tmp_path / "small"
    data = tmp_path / "test.tsv"
    data.write_text("text\tlabel\n" + "the cat sat\tgood\nthe dog\tbad\n" * 6, "utf-8")
    start = kind, "--to", "int8", "--output", small
    assert refused(*start).do == "--data FILE, what jumok evaluate MODEL --data FILE reads"
    done = quantize(*start, "--data", data, "--columns", "text,label")
    assert done.exit_code == 0, done.output
    quality = read_bundle(small).card.quality
    assert quality is not None
    assert [each.name for each in quality.after] == ["accuracy"]
    assert (quality.tokens, quality.equal, quality.unit) == (12, 1.0, "labels")
    assert re.search(r"equal labels +100\.00% +of 12", done.stdout)
    asked = ("-d", data, "--columns", "text,label", "--json")
    for each, (score,) in ((kind, quality.before), (small, quality.after)):
        evaluated = json.loads(call("evaluate", each, *asked).stdout)
        assert score.value == evaluated["scores"][0]["value"]


def test_what_cannot_be_meant_is_refused_at_once(model, check, tmp_path):
    start = model, "--to", "int8", "--output"
    assert "would replace the one that it is made from." in str(refused(*start, model, *check))
    other = tmp_path / "notes"
    other.mkdir()
    error = refused(*start, other, *check)
    assert isinstance(error, BundleError)
    assert "something else than a bundle" in str(error)
    error = refused(*start, tmp_path / "small", *check, "--force", " ")
    assert "--force takes the reason, which is recorded in the card." in str(error)
    error = refused(*start, tmp_path / "small", *check, "--data", check[1])
    assert "--check and --data both name the data." in str(error)
    lm = write_lm(tmp_path / "lm")
    error = refused(lm, "--to", "int8", "-o", tmp_path / "small", *check)
    assert "--check names pairs, and a language model reads one text." in str(error)
    assert not (tmp_path / "small").exists()


def test_data_is_found_in_the_run_or_asked_for(model, check, tmp_path):
    error = refused(model, "--to", "int8", "--output", tmp_path / "small")
    assert str(error) == (
        f"{model}: there is no data to measure what the model loses.\n"
        "  expected: the run that the model comes from, with its data, or data of yours\n"
        "  got:      the model is not in the folder of a run\n"
        "  do:       --check SOURCE REFERENCE, two files of lines, or --data FILE with both"
    )
    run = tmp_path / "run"
    copy = transformer(run / "model")
    recipe = f'name = "a"\n[data]\nsource_language = "en"\n[[data.train]]\nsource = "{check[1]}"\n'
    recipe += f'target = "{check[2]}"\n'
    (run / "config.json").write_text("{}", "utf-8")
    (run / "recipe.toml").write_text(recipe, "utf-8")
    error = refused(copy, "--to", "bf16", "--output", tmp_path / "small")
    assert "got:      its recipe names no data for validation or test" in str(error)
    named = f'[[data.validation]]\nsource = "{check[1]}"\ntarget = "{check[2]}"\n'
    (run / "recipe.toml").write_text(recipe + named, "utf-8")
    assert quantize(copy, "--to", "bf16", "-o", tmp_path / "a", "-b", "1").exit_code == 0
    assert read_bundle(tmp_path / "a").card.quality.on.startswith("test.en + test.ko: 12 ")
    pairs = "".join(f"{a}\t{b}\n" for a, b in zip(SOURCES[:3], REFERENCES[:3], strict=True))
    (run / "test.tsv").write_text(pairs, "utf-8")
    assert quantize(copy, "--to", "bf16", "-o", tmp_path / "b", "-b", "1").exit_code == 0
    assert read_bundle(tmp_path / "b").card.quality.on.startswith("test.tsv: 3 sentences")
    lm = write_lm(tmp_path / "lm")
    error = refused(lm, "--to", "int8", "--output", tmp_path / "small")
    assert error.do == "--data FILE, a text that the model was not trained on"


def test_weights_are_rounded_not_moved(model, check, tmp_path):
    quantize(model, "--to", "bf16", "-o", tmp_path / "small", *check, "-b", "1")
    before, after = (load_file(each / "model.safetensors") for each in (model, tmp_path / "small"))
    assert before.keys() == after.keys()
    for name, tensor in before.items():
        expected = tensor.bfloat16() if tensor.dim() == 2 else tensor
        assert torch.equal(after[name], expected), name


def test_a_language_model_that_needs_groups_gets_them(tmp_path, monkeypatch):
    """Large weights at the beginning of each row round the others away; these stand in groups, of
    which nothing is rounded. The whole model is measured once.
    """
    measured = []
    joined = quality.joined_scores
    monkeypatch.setattr(
        quality, "joined_scores", lambda scores: measured.append(1) or joined(scores)
    )
    folder, small = write_lm(tmp_path / "lm", dim=64, heads=2, feedforward=96), tmp_path / "small"
    tensors = load_file(folder / "model.safetensors")
    for name, tensor in tensors.items():
        if tensor.dim() == 2:
            if "table" not in name:
                tensor[:, :2] *= 60
            tensors[name] = torch.from_numpy(quantised(tensor.numpy(), grouped=True).floats())
    save_file(tensors, folder / "model.safetensors")
    sign(folder)
    text = tmp_path / "text.txt"
    text.write_text("the cat sat on the mat and the dog barked at it\n" * 3, "utf-8")
    done = quantize(folder, "--to", "int8", "--output", small, "--data", text)
    assert done.exit_code == 0, done.output
    bundle = read_bundle(small)
    assert len(measured) == 3
    assert (bundle.precision, bundle.input_precision) == ("int8", "int16")
    assert bundle.card.notes[-1] == "32 inputs of an output share a scale, and inputs have 16 bits"
    assert bundle.card.quality is not None
    assert bundle.card.quality.equal == 1.0
    model = LanguageModel.load(bundle, engine="native")
    assert model.computed_by == {"name": "native", "precision": "int8"}
    on_torch = LanguageModel.load(bundle, engine="torch", device="cpu")
    for one, other in zip(model.score(["a cat"]), on_torch.score(["a cat"]), strict=True):
        assert one.perplexity == pytest.approx(other.perplexity, rel=1e-3)  # 16-bit inputs
