"""`jumok evaluate --off`: the score of a model without some heads, which says so."""

import json
from pathlib import Path

import pytest
import torch

import jumok
from jumok.bundle.card import Card
from jumok.bundle.reading import read_bundle
from jumok.bundle.writing import write_bundle
from jumok.errors import ModelError
from tests.cli.calls import call, fault
from tests.data.painted import paint
from tests.systems.lm import write_lm
from tests.systems.pictures import READER, write_captioner, write_pictures
from tests.systems.untrained import write_classifier, write_masked, write_text_classifier

CROSS = "decoder.blocks.1.cross_attention"
FAST = ["--threads", "1", "--beam", "1"]


def without_head(bundle: Path, folder: Path, head: int) -> Path:
    """The same model, with a head removed from the weights by hand."""
    read = read_bundle(bundle)
    system = jumok.load(bundle, kind=jumok.Translator, device="cpu")
    with torch.no_grad():
        attention = system.models[0].get_submodule(CROSS)
        attention.output.weight.chunk(attention.heads, dim=1)[head].zero_()
    weights = system.models[0].state_dict()
    return write_bundle(folder, weights, read.config, system.tokenizer, Card("pruned"))


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    file = tmp_path / "test.tsv"
    file.write_text("the cat sat\t고양이가 앉았다\nthe dog barked\t개가 짖었다\n", "utf-8")
    return file


def test_scores_and_outputs_are_those_of_a_model_without_the_head(tiny_bundle, pairs, tmp_path):
    pruned = without_head(tiny_bundle, tmp_path / "pruned", 2)
    found = {}
    for name, bundle, off in (
        ("off", tiny_bundle, ["--off", "cross.2.3"]),
        ("pruned", pruned, []),
        ("whole", tiny_bundle, []),
    ):
        file = tmp_path / f"{name}.out"
        told = call("evaluate", bundle, "--data", pairs, *FAST, *off, "--json", "--output", file)
        found[name] = json.loads(told.stdout)["scores"], file.read_text("utf-8")
    assert found["off"][1] == found["pruned"][1] != found["whole"][1]
    values = {name: [score["value"] for score in scores] for name, (scores, _) in found.items()}
    assert values["off"] == values["pruned"]
    for ablated, whole in zip(found["off"][0], found["whole"][0], strict=True):
        assert ablated["signature"] == f"{whole['signature']}|off:cross.2.3"


def test_the_printed_lines_name_the_heads(tiny_bundle, pairs):
    off = ["--off", "cross 2.3", "--off", "encoder.1"]
    lines = call("evaluate", tiny_bundle, "--data", pairs, *FAST, *off).stdout.splitlines()
    assert lines[-1].startswith("2 sentences, beam 1, heads ablated: cross.2.3, encoder.1, in ")
    signatures = [line for line in lines if "|nrefs:" in line]
    assert len(signatures) == 3
    assert all(line.endswith("|off:cross.2.3, encoder.1") for line in signatures)


def test_a_head_that_the_model_does_not_have_is_named(tiny_bundle, pairs):
    error = fault("evaluate", tiny_bundle, "--data", pairs, *FAST, "--off", "cross.9.1")
    assert isinstance(error, ModelError)
    assert "cross 3.1 to 3.3" in str(error)


def lines(file: Path, *rows: str) -> Path:
    file.write_text("".join(f"{row}\n" for row in rows), "utf-8")
    return file


def captions(folder: Path) -> list[object]:
    files = write_pictures(folder / "images")
    rows = [f"{file.name}\t0\ta cat and dog {number}" for number, file in enumerate(files)]
    return ["--data", lines(folder / "captions.tsv", *rows), "--beam", "1"]


KINDS = {
    "language-model": (
        write_lm, "1.2", lambda to: ["--data", lines(to / "a.txt", "the cat sat on the mat")]
    ),
    "masked-lm": (
        write_masked, "2.1", lambda to: ["--data", lines(to / "a.txt", "the cat sat on the mat")]
    ),
    "text-classification": (
        write_text_classifier, "1.3",
        lambda to: ["--data", lines(to / "a.tsv", "the cat\tgood")],
    ),
    "captioning": (lambda to: write_captioner(to, reader=READER), "image.2.1", captions),
    "image-classification": (
        write_classifier, "2.2", lambda to: ["--data", paint(to / "painted", 3)]
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_with_attention_is_scored_without_a_head(kind, tmp_path):
    write, head, data = KINDS[kind]
    asked = [write(tmp_path / "model"), *data(tmp_path), "--threads", "1", "--json"]
    found = json.loads(call("evaluate", *asked, "--off", head).stdout)
    whole = json.loads(call("evaluate", *asked).stdout)
    assert f"heads ablated: {head}" in found["examples"]
    for ablated, other in zip(found["scores"], whole["scores"], strict=True):
        assert ablated["signature"] == "|".join(filter(None, [other["signature"], f"off:{head}"]))
