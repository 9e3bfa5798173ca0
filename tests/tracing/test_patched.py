"""Patching: vectors of one run put into another, and directions added while a model writes."""

import re
import threading

import numpy as np
import pytest
import torch
from torch import nn

import jumok
from jumok.decoding import DecodingOptions
from jumok.errors import ModelError
from tests.systems.lm import write_lm
from tests.systems.test_ordinary_module import transformer

TEXTS = ["the cat sat on the mat", "the dog barked"]
TARGET = "고양이가 앉았다"
OPTIONS = DecodingOptions(beam=1, maximum_length=9)


@pytest.fixture(params=["pre", "post"])
def translator(request, tmp_path) -> jumok.Translator:
    folder = transformer(tmp_path / "model", norm=request.param)
    return jumok.load(folder, kind=jumok.Translator, device="cpu")


def ids_of(system: jumok.Translator, written: jumok.Translation) -> list[int]:
    names = system.tokenizer.pieces(range(system.tokenizer.size))
    return [names.index(token) for token in written.tokens]


def full(system: jumok.Translator, text: str) -> jumok.Trace:
    return jumok.trace(system, text, TARGET, level="full")


def test_the_streams_of_another_run_make_its_predictions(translator):
    """With the whole stream of text B after the last block, text A is predicted as B is."""
    one, other = (full(translator, text) for text in TEXTS)
    last = len(translator.models[0].decoder.blocks) - 1
    patch = {f"decoder.blocks.{last}": other.streams["decoder"][last + 1]}
    with jumok.patched(translator, patch):
        found = full(translator, TEXTS[0])
    assert found.steps != one.steps
    for step, wanted in zip(found.steps, other.steps, strict=True):
        assert step.log_probability == pytest.approx(wanted.log_probability, abs=1e-5)
    assert full(translator, TEXTS[0]).steps == one.steps


def test_only_the_named_positions_are_replaced(translator):
    """A decoder looks back: what is patched at position 2 changes no prediction before it."""
    one, other = (full(translator, text) for text in TEXTS)
    patch = {"decoder.blocks.0": other.streams["decoder"][1]}
    with jumok.patched(translator, patch, positions=[2]):
        found = full(translator, TEXTS[0])
    stream, plain, wanted = (each.streams["decoder"][1] for each in (found, one, other))
    assert np.allclose(stream[2], wanted[2], atol=1e-6)
    assert np.array_equal(np.delete(stream, 2, 0), np.delete(plain, 2, 0))
    for place, (step, before) in enumerate(zip(found.steps, one.steps, strict=True)):
        same = step.log_probability == pytest.approx(before.log_probability, abs=1e-6)
        assert same == (place < 2)


def test_step_by_step_is_as_all_at_once(translator):
    """In decoding, positions are counted from the first, whatever is read at once."""
    vectors = torch.randn(3, 48, generator=torch.Generator().manual_seed(5))
    with jumok.patched(translator, {"decoder.blocks.0": vectors}, positions=[1, 2]):
        written = translator.translate([TEXTS[0]], OPTIONS)[0]
        with jumok.record(translator, level="full") as recording:
            translator.translate([TEXTS[0]], OPTIONS)
        stepwise = recording.trace
        at_once = jumok.trace(translator, TEXTS[0], ids_of(translator, written), level="full")
    assert np.allclose(stepwise.streams["decoder"][1][1:3], vectors[1:3], atol=1e-6)
    count = min(each.streams["decoder"].shape[1] for each in (stepwise, at_once))
    assert count > 3
    assert np.allclose(
        stepwise.streams["decoder"][:, :count], at_once.streams["decoder"][:, :count], atol=1e-4
    )


def test_the_output_of_a_head_is_replaced_before_the_projection(translator):
    path = "decoder.blocks.1.cross_attention"

    def without(found: torch.Tensor) -> torch.Tensor:
        return found.clone().index_fill_(1, torch.tensor([2]), 0.0)

    with jumok.patched(translator, {path: without}):
        patched = full(translator, TEXTS[0])
    with jumok.changed(translator, ["cross 2.3"]):
        ablated = full(translator, TEXTS[0])
    assert [each.log_probability for each in patched.steps] == pytest.approx(
        [each.log_probability for each in ablated.steps], abs=1e-6
    )


def test_torchs_own_hook_does_the_same(translator):
    """The five lines without a helper, of a model with pre-norm: both outputs of the block."""
    block = translator.models[0].decoder.blocks[0]
    vector = torch.randn(48, generator=torch.Generator().manual_seed(5))

    def add(_: nn.Module, __: object, made: tuple[torch.Tensor, torch.Tensor]) -> object:
        stream = made[0] + vector
        post_norm = made[0] is made[1] or torch.equal(*made)
        return stream, stream if post_norm else block.after_feedforward.norm(stream)

    handle = block.register_forward_hook(add)
    hooked = full(translator, TEXTS[0])
    handle.remove()
    with jumok.patched(translator, {"decoder.blocks.0": lambda stream: stream + vector}):
        patched = full(translator, TEXTS[0])
    assert [each.log_probability for each in patched.steps] == pytest.approx(
        [each.log_probability for each in hooked.steps], abs=1e-5
    )


@pytest.mark.parametrize("beam", [1, 3])
def test_steering_writes_the_token_it_points_to_and_leaves_no_trace(translator, beam):
    """Toward a token's row of the output layer, that token is what is written."""
    model = translator.models[0]
    before = translator.translate(TEXTS, OPTIONS, beam=beam, keep=False)
    rows = model.decoder.embedding.table.detach()
    (token, *_) = translator.tokenizer.encode("개가")
    assert all(token not in ids_of(translator, each) for each in before)
    last = f"decoder.blocks.{len(model.decoder.blocks) - 1}"
    direction = rows[token] / rows[token].norm()
    plain = [each.log_probability for each in translator.score(TEXTS, ["개가", "개가"])]
    gains = []
    for strength in (2.0, 200.0):
        with jumok.patched(translator, {last: lambda stream, by=strength: stream + by * direction}):
            scored = translator.score(TEXTS, ["개가", "개가"])
            steered = translator.translate(TEXTS, OPTIONS, beam=beam, keep=False)
        gains.append(scored[0].token_log_probabilities[0])
    first = translator.score(TEXTS, ["개가", "개가"])[0].token_log_probabilities[0]
    assert first < gains[0] < gains[1]
    assert all(
        set(each.tokens) == {translator.tokenizer.pieces([token])[0]} for each in steered
    ) or all(set(each.tokens) == {token} for each in steered)
    assert translator.translate(TEXTS, OPTIONS, beam=beam, keep=False) == before
    assert [each.log_probability for each in translator.score(TEXTS, ["개가", "개가"])] == plain


def test_other_threads_are_not_steered(translator):
    before, elsewhere = translator.translate(TEXTS, OPTIONS), []
    with jumok.patched(translator, {"decoder.blocks.0": torch.zeros_like}):
        thread = threading.Thread(
            target=lambda: elsewhere.append(translator.translate(TEXTS, OPTIONS))
        )
        thread.start()
        thread.join()
        assert translator.translate(TEXTS, OPTIONS) != before
    (found,) = elsewhere
    for one, other in zip(found, before, strict=True):
        assert one.tokens == other.tokens
        # Torch computes for the thread that sees hooks, whose last digits differ from the engine's.
        assert one.score == pytest.approx(other.score, abs=1e-4)


def test_a_language_model_is_steered_while_it_generates(tmp_path):
    system = jumok.load(write_lm(tmp_path / "model"), device="cpu")
    options = DecodingOptions(beam=1, sample=False)

    def written() -> str:
        return "".join(system.generate("the", options, max_tokens=4))

    before = written()
    row = system.model.decoder.embedding.table.detach()[
        ord("z") + system.tokenizer.encode("a")[0] - ord("a")
    ]
    with jumok.patched(system, {"decoder.blocks.0": lambda stream: stream + 100 * row}):
        assert written() == "zzzz"
    assert written() == before


PATHS = (
    "encoder.blocks.0, encoder.blocks.0.self_attention, "
    "decoder.blocks.0, decoder.blocks.0.self_attention, decoder.blocks.0.cross_attention, "
    "decoder.blocks.1, decoder.blocks.1.self_attention, decoder.blocks.1.cross_attention"
)


@pytest.mark.parametrize(
    "path", ["decoder.blocks.2", "decoder", "", "encoder.blocks.0.feedforward"]
)
def test_a_path_that_cannot_be_patched_lists_those_that_can(translator, path):
    told = (
        "the model has no block or multi-head attention at this path.\n"
        f"  expected: {PATHS}\n  got:      {path}"
    )
    with (
        pytest.raises(ModelError, match=f"^{re.escape(told)}$"),
        jumok.patched(translator, {path: torch.zeros_like}),
    ):
        pass


@pytest.mark.parametrize(
    ("path", "patch", "told"),
    [
        ("decoder.blocks.1", torch.zeros(3, 5), "3 x 48\n  got:      3 x 5"),
        ("decoder.blocks.1", torch.zeros(48), "1 x 48\n  got:      48"),
        (
            "decoder.blocks.1.cross_attention", torch.zeros(2, 3, 16),
            "3 x 3 x 16\n  got:      2 x 3 x 16",
        ),
    ],
)  # fmt: skip
def test_vectors_of_another_size_are_refused(translator, path, patch, told):
    told = f"the patch of {path} does not fit.\n  expected: a vector for each position: {told}"
    with pytest.raises(ModelError, match=re.escape(told)), jumok.patched(translator, {path: patch}):
        full(translator, TEXTS[0])
    with (
        pytest.raises(ModelError, match="the shape that it was given"),
        jumok.patched(translator, {path: lambda found: found[..., :1]}),
    ):
        full(translator, TEXTS[0])


def test_a_model_without_blocks_has_nothing_to_patch():
    told = pytest.raises(ModelError, match="a model with blocks of a Transformer")
    with told, jumok.patched(nn.Linear(2, 2), {"x": torch.zeros_like}):
        pass
