"""Attention that a user has becomes a trace that page, plot, file and table take."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch

import jumok
from jumok.errors import ModelError
from jumok.inspection.trace import grid_axis
from tests.inspection.pages import inside

WORDS, SOURCE = ["the", "cat", "sat"], ["고양이가", "앉았다", "</s>", "x", "y"]


def weights(*shape: int, causal: bool = False) -> np.ndarray:
    """Softmaxed noise."""
    scores = np.random.default_rng(7).normal(size=shape).astype(np.float32)
    if causal:
        scores = np.where(np.tril(np.ones(shape[-2:], bool)), scores, -np.inf)
    powers = np.exp(scores)
    return (powers / powers.sum(-1, keepdims=True)).astype(np.float32)


def whole_use(trace: jumok.Trace, folder: Path) -> jumok.Trace:
    """Page, figures and file; returns what the file holds."""
    jumok.page(trace).save(folder / "page.html")
    shown = inside((folder / "page.html").read_text("utf-8"))
    assert all(name in shown for name in trace.axes)
    for part in {site.part for site in trace.sites}:
        jumok.plot.save(jumok.plot.grid(trace, part=part), folder / "grid.svg")
        jumok.plot.save(jumok.plot.head(trace, part=part, layer=1, head=1), folder / "head.svg")
    jumok.plot.save(jumok.plot.alignment(trace), folder / "alignment.svg")
    trace.save(folder / "trace.npz")
    return jumok.load_trace(folder / "trace.npz")


@pytest.mark.parametrize("causal", [False, True])
def test_self_attention_of_one_array(tmp_path, causal):
    given = weights(2, 5, 3, 3, causal=causal)
    trace = jumok.trace_of(given, WORDS, name="mine")
    again = whole_use(trace, tmp_path)
    assert [site.layer for site in again.sites] == [0, 1]
    for site, layer in zip(again.sites, given, strict=True):
        assert (site.weights == layer).all()
        assert (site.part, site.queries, site.keys) == (
            "decoder" if causal else "encoder", "text", "text"
        )  # fmt: skip
        hidden = None if site.allowed is None else (~site.allowed).sum()
        assert hidden == (3 if causal else None)
    assert again.axes["text"].tokens == tuple(WORDS)
    assert (again.model, again.text) == ("mine", "the cat sat")


def test_cross_attention_has_two_axes_and_each_row_its_own_token(tmp_path):
    given = torch.from_numpy(weights(2, 7, 3, 5))
    again = whole_use(jumok.trace_of(given, WORDS, SOURCE), tmp_path)
    assert [(site.part, site.queries, site.keys) for site in again.sites] == [
        ("cross", "target", "source")
    ] * 2
    from jumok.plot.board import board

    site = again.sites[1]
    drawn = board(again, site, site.weights[3])
    assert (drawn.rows, drawn.columns) == (tuple(WORDS), tuple(SOURCE))
    np.testing.assert_allclose(drawn.values, given[1, 3].numpy(), atol=1e-6)


def test_all_three_kinds_as_lists_with_batches_of_one(tmp_path):
    given = {
        "encoder": [torch.from_numpy(weights(1, 2, 5, 5)), torch.from_numpy(weights(1, 2, 5, 5))],
        "decoder": [weights(2, 3, 3, causal=True), weights(2, 3, 3, causal=True)],
        "cross": (None, weights(1, 2, 3, 5)),
    }
    again = whole_use(jumok.trace_of(given, WORDS, SOURCE), tmp_path)
    assert [(site.part, site.layer, site.queries, site.keys) for site in again.sites] == [
        ("encoder", 0, "source", "source"),
        ("encoder", 1, "source", "source"),
        ("decoder", 0, "target", "target"),
        ("decoder", 1, "target", "target"),
        ("cross", 1, "target", "source"),
    ]


def test_words_of_an_axis_and_cells_of_an_image(tmp_path):
    words = jumok.Axis(("<s>", "un", "do"), (None, 0, 0), ("undo",))
    given = weights(2, 2, 3, 6)
    again = whole_use(jumok.trace_of(given, words, grid_axis(2, 3)), tmp_path)
    assert again.task == "captioning"
    assert again.sites[0].keys == "picture"


def test_masks_and_rows_that_sum_to_less():
    given = weights(1, 2, 3, 3)
    mask = np.array([[1, 0, 1], [1, 1, 1], [0, 0, 0]], dtype=bool)
    masked = given * mask
    with pytest.raises(ModelError, match="sum to 1"):
        jumok.trace_of(masked, WORDS, allowed=mask)
    trace = jumok.trace_of(masked, WORDS, allowed=torch.from_numpy(mask), tolerance=None)
    assert (trace.sites[0].allowed == mask).all()
    whole = masked / np.maximum(masked.sum(-1, keepdims=True), 1e-9)
    assert jumok.trace_of(whole, WORDS, allowed={"encoder": mask}).sites[0].part == "encoder"


HALF = np.full((1, 1, 3, 3), 0.25, np.float32)
FAULTS = {
    "sum": (
        lambda: jumok.trace_of(HALF, WORDS),
        "these are not attention weights: a row does not sum to 1.\n"
        "  expected: 1, or 0 where all is masked, within 0.01\n"
        "  got:      0.75 in encoder attention, layer 1, head 1, row 1\n"
        "  do:       give weights after the softmax and before dropout; tolerance=None takes any",
    ),
    "shape": (
        lambda: jumok.trace_of(weights(1, 2, 3, 3), WORDS[:2]),
        "the encoder attention of layer 1 does not fit the tokens.\n"
        "  expected: heads x 2 queries x 2 keys\n  got:      2 x 3 x 3",
    ),
    "scores": (
        lambda: jumok.trace_of(-HALF, WORDS),
        "these are not attention weights: some are negative or not finite.\n"
        "  expected: weights after the softmax, from 0 to 1\n"
        "  got:      encoder attention, layer 1: from -0.25 to -0.25",
    ),
    "batch": (
        lambda: jumok.trace_of([weights(2, 2, 3, 3)], WORDS),
        "a trace is of one example, and these are attention weights of a batch.\n"
        "  expected: layers x heads x queries x keys\n  got:      2 x 2 x 3 x 3 in layer 1\n"
        "  do:       give the weights of one example: [layer[0] for layer in attentions]",
    ),
    "mask": (
        lambda: jumok.trace_of(weights(1, 2, 3, 3), WORDS, allowed=np.ones((3, 2), bool)),
        "the mask of the encoder attention does not fit the tokens.\n"
        "  expected: 3 queries x 3 keys\n  got:      3 x 2",
    ),
    "tokens": (
        lambda: jumok.trace_of(weights(1, 2, 3, 3), "cat"),
        "the tokens are not a list of words.\n"
        '  expected: a list such as ["the", "cat"], with one token or more\n  got:      \'cat\'',
    ),
    "keys": (
        lambda: jumok.trace_of({"cross": weights(1, 2, 3, 5)}, WORDS),
        "cross-attention needs the tokens of its keys.\n  do:       give key_tokens",
    ),
    "nothing": (
        lambda: jumok.trace_of([None, None], WORDS),
        "there are no attention weights.\n  expected: a layer or more",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_no_attention_is_refused(fault):
    call, told = FAULTS[fault]
    with pytest.raises(ModelError, match=f"^{re.escape(told)}$"):
        call()


def test_half_precision_is_near_enough():
    given = torch.from_numpy(weights(2, 2, 3, 3)).bfloat16()
    trace = jumok.trace_of(given, WORDS)
    assert (trace.sites[0].weights == given[0].float().numpy()).all()
