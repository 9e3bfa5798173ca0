"""What a BERT that somebody else trained looked at: its trace is what Hugging Face says."""

from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from jumok.cli.main import app
from jumok.errors import DataError, ModelError
from jumok.inspection.hooks.intervene import Change
from jumok.tracing.catalog import Family, load_family

pytest.importorskip("transformers")

from tests.inspection.pages import inside
from tests.interop.bert import LAYERS, LENGTH, bert, save

TEXT = "the cats sat downly"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(bert().bert, tmp_path_factory.mktemp("berts") / "small-bert")


@pytest.fixture(scope="module")
def family(folder: Path) -> Family:
    return load_family(folder, device="cpu")


def test_the_weights_are_hugging_faces(family: Family) -> None:
    trace = family.trace(TEXT)
    with torch.no_grad():
        theirs = bert().bert(torch.tensor([[2, 5, 6, 9, 7, 8, 10, 3]]), output_attentions=True)
    assert [site.part for site in trace.sites] == ["encoder"] * LAYERS
    for site, expected in zip(trace.sites, theirs.attentions, strict=True):
        np.testing.assert_allclose(site.weights, expected[0].numpy(), atol=1e-5)
    axis = trace.axes[trace.sites[0].queries]
    assert axis.tokens == ("[CLS]", "▁the", "▁cat", "s", "▁sat", "▁down", "ly", "[SEP]")
    assert axis.texts == ("the", "cats", "sat", "downly")
    assert family.name == "small-bert"
    assert trace.steps == ()
    assert trace.fingerprint == family.system.fingerprint


def test_a_head_can_be_switched_off(family: Family) -> None:
    whole = family.trace(TEXT)
    site = whole.sites[0].name
    changed = family.trace(TEXT, change=Change(off={site: [1]}))
    np.testing.assert_array_equal(whole.sites[0].weights, changed.sites[0].weights)
    assert not np.allclose(whole.sites[1].weights, changed.sites[1].weights, atol=1e-4)


def test_what_cannot_be_looked_at_is_refused(family: Family) -> None:
    with pytest.raises(DataError, match=f"at most {LENGTH - 2} tokens"):
        family.trace("the cat " * 9)
    with pytest.raises(DataError, match="at least one word"):
        family.trace(" ")
    with pytest.raises(DataError, match="every gap needs its token"):
        family.trace(TEXT, "the")
    with pytest.raises(ModelError, match="without a prediction head"):
        family.trace("the [MASK] sat")


def test_look_makes_a_page_of_it(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = CliRunner().invoke(app, ["look", str(folder), TEXT, "--save", str(page)])
    assert done.exit_code == 0, done.exception
    assert "downly" in inside(page.read_text("utf-8"))


def test_explain_computes_a_row_of_it_anew(folder: Path) -> None:
    done = CliRunner().invoke(app, ["explain", str(folder), TEXT, "--row", "cats"])
    assert done.exit_code == 0, done.exception
    assert "sum of the weights 1.0000" in done.stdout
