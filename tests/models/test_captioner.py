"""Captioners of every kind: steps against forward, what the Memory holds, what may be looked at."""

import pytest
import torch
import torch.nn.functional as F

from jumok.attention.observe import observe
from jumok.config import CaptionerConfig
from jumok.decoding import DecodingOptions, decode
from jumok.decoding.score import score_pairs
from jumok.models.captioner import CaptionerModel
from tests.parity.torch_weights import roughen

VOCABULARY = 31
TARGET = torch.tensor([[2, 21, 22, 23, 24], [2, 25, 26, 27, 28], [2, 29, 30, 19, 20]])
CNN = {"kind": "cnn", "size": 8, "patch": 1, "channels": [8, 16], "blocks": 1, "dropout": 0.5}
GIVEN = {"kind": "given", "rows": 3, "columns": 5, "dim": 7}
STACK = {
    "kind": "transformer",
    "dim": 12,
    "heads": 3,
    "feedforward": 29,
    "layers": 2,
    "dropout": 0.5,
}
RNN = {"kind": "rnn", "cell": "lstm", "dim": 12, "embedding": 7, "layers": 2, "dropout": 0.5}
READER = {"layers": 2, "heads": 2, "feedforward": 17, "dropout": 0.5}
VARIANTS = {
    "pixels": {"encoder": CNN},
    "features": {"encoder": GIVEN},
    "cells that look": {"encoder": CNN, "reader": READER},
    "rnn over cells that look": {"encoder": GIVEN, "decoder": RNN, "reader": READER},
    "one vector": {"encoder": CNN, "memory": "one"},
    "one vector of features": {"encoder": GIVEN, "memory": "one"},
    "rnn": {"encoder": GIVEN, "decoder": RNN},
    "rnn without a gate": {"encoder": GIVEN, "decoder": {**RNN, "gate": False, "cell": "rnn"}},
    "rnn of one vector": {"encoder": GIVEN, "memory": "one", "decoder": {**RNN, "cell": "gru"}},
}
every_variant = pytest.mark.parametrize("variant", VARIANTS)


def build(variant: str) -> CaptionerModel:
    """A rough model in evaluation mode; dropout is set, and must not show."""
    torch.manual_seed(1)
    config = CaptionerConfig.model_validate({"decoder": STACK, **VARIANTS[variant]})
    return roughen(CaptionerModel(config, VOCABULARY)).eval()


def pictures(variant: str, count: int = 3) -> torch.Tensor:
    torch.manual_seed(2)
    if VARIANTS[variant]["encoder"] is GIVEN:
        return torch.randn(count, 15, 7)
    return torch.randint(256, (count, 3, 8, 8), dtype=torch.uint8)


def assert_close(found: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)


@every_variant
def test_steps_give_the_logits_of_forward(variant):
    with torch.inference_mode():
        model = build(variant)
        memory = model.encode(pictures(variant))
        expected = model.decoder(memory, TARGET)
        state = model.decoder.start(memory)
        for t in range(5):
            logits, state = model.decoder.step(TARGET[:, t], state)
            assert_close(logits, expected[:, t])


@every_variant
def test_a_picture_is_described_alone_as_among_others(variant):
    model, batch = build(variant), pictures(variant)
    together = model.decoder(model.encode(batch), TARGET)
    alone = model.decoder(model.encode(batch[1:2]), TARGET[1:2])
    assert_close(alone[0], together[1])


@every_variant
def test_the_memory_has_a_state_for_every_cell_of_the_grid(variant):
    model = build(variant)
    rows, columns = model.grid
    assert model.encode(pictures(variant)).states.shape == (3, rows * columns, 12)
    of_encoder = (4, 4) if VARIANTS[variant]["encoder"] is CNN else (3, 5)
    assert model.grid == ((1, 1) if "one" in variant else of_encoder)


def test_cells_know_of_others_only_where_they_look_at_one_another():
    """Of features: convolutions would see their neighbours."""
    cells, other = pictures("features", 1), pictures("features", 1)
    other[0, 14] += 1.0
    for variant, moved in (("features", 1), ("rnn over cells that look", 15)):
        model = build(variant)
        change = model.encode(other).states - model.encode(cells).states
        assert int((change.abs().amax(dim=2) > 1e-4).sum()) == moved


@every_variant
def test_what_is_written_depends_on_the_picture(variant):
    model, batch = build(variant), pictures(variant)
    memory = model.encode(batch)
    logits = model.decoder(memory, TARGET[:1].expand(3, 5))
    assert not torch.allclose(logits[0], logits[1], atol=1e-3)


def test_cells_stand_row_by_row():
    """A picture black but for one corner: only the cells near it differ from those of black."""
    model = build("pixels")
    black = torch.zeros(1, 3, 8, 8, dtype=torch.uint8)
    marked = black.clone()
    marked[..., :2, 7] = 255
    # Group norms tell every cell of it, so the convolutions' stem is looked at alone.
    stem = model.cells.convolutions.stem
    changed = (stem(marked / 127.5 - 1) - stem(black / 127.5 - 1)).abs().sum(1) > 0
    flat = model.cells(marked, torch.zeros(1))
    grid = model.cells.convolutions(marked / 127.5 - 1)
    assert torch.equal(flat[0, 1], grid[0, :, 0, 1])
    assert torch.equal(flat[0, 4], grid[0, :, 1, 0])
    assert changed[0].nonzero().tolist() == [
        *([row, column] for row in range(3) for column in (6, 7))
    ]


def test_one_vector_is_an_mlp_over_all_cells():
    model = build("one vector of features")
    features = pictures("one vector of features")
    named = dict(model.writer.named_parameters())
    squeezed = F.relu(features @ named["squeeze.weight"].T + named["squeeze.bias"])
    beside = squeezed.reshape(3, 15 * 3)
    inner = F.relu(beside @ named["inner.weight"].T + named["inner.bias"])
    outer = inner @ named["outer.weight"].T + named["outer.bias"]
    expected = F.layer_norm(outer, (12,), *model.reader.first_norm.parameters())
    assert_close(model.encode(features).states[:, 0], expected)


@every_variant
def test_the_looks_are_the_attentions_over_the_memory(variant):
    model = build(variant)
    memory = model.encode(pictures(variant))
    sites: dict[str, torch.Size] = {}
    with observe(model, lambda site, seen: sites.update({site: seen.weights.shape})):
        model.decoder.hidden(memory, TARGET)
    assert set(model.cross_sites) <= set(sites)
    for site in model.cross_sites:
        assert sites[site][-1] == model.grid[0] * model.grid[1]
    assert bool(model.cross_sites) == ("one" not in variant)


def test_dropout_masks_come_from_the_models_noise():
    model = build("pixels").train()
    logits = []
    for key in (1, 1, 2):
        model.noise.rekey(key)
        logits.append(model.decoder(model.encode(pictures("pixels")), TARGET))
    assert torch.equal(logits[0], logits[1])
    assert not torch.equal(logits[0], logits[2])


def test_bytes_are_computed_with_in_the_weights_number_format():
    model = build("pixels").to(torch.bfloat16)
    assert model.encode(pictures("pixels")).states.dtype == torch.bfloat16


def test_the_gate_scales_what_is_found_by_what_the_state_says():
    model = build("rnn")
    memory = model.encode(pictures("rnn"))
    state = model.decoder.start(memory)
    found, _ = model.decoder.attention(
        state.seen[:, None], state.keys, memory.states, memory.allowed, None
    )
    gate = model.decoder.gate
    beta = 1 / (1 + torch.exp(-(state.seen @ gate.weight[0] + gate.bias[0])))
    looked, _ = model.decoder.attend(state.seen, state)
    assert_close(looked, beta[:, None] * found[:, 0])
    assert bool(((beta > 0) & (beta < 1)).all())


BEAM = DecodingOptions(beam=4, nbest=3, maximum_length=9)


@every_variant
def test_reordered_steps_are_those_of_the_reordered_pictures(variant):
    """Rows repeat, change places and leave, as in a beam; a twin recomputes all from the start."""
    with torch.inference_mode():
        model = build(variant)
        memory = model.encode(pictures(variant))
        state = model.decoder.start(memory)
        written, kept = TARGET[:, :0], memory
        moves = [[0, 1, 2], [2, 0, 0, 1, 2], [1, 0, 2, 3, 4], [4, 3, 3, 1], [2]]
        for t, move in enumerate(moves):
            rows = torch.tensor(move)
            state = model.decoder.reorder(state, rows)
            following = torch.arange(len(move)) * 7 % 23 + 4 + t  # a word of its own for every row
            written, kept = torch.cat([written[rows], following[:, None]], 1), kept.select(rows)
            logits, state = model.decoder.step(written[:, -1], state)
            assert_close(logits, model.decoder(kept, written)[:, -1])


@every_variant
def test_a_batch_is_decoded_as_its_pictures_are(variant):
    with torch.inference_mode():
        model, batch = build(variant), pictures(variant)
        together = decode(model.decoder, model.encode(batch), BEAM)
        for row in range(3):
            (single,) = decode(model.decoder, model.encode(batch[row : row + 1]), BEAM)
            assert [one.tokens for one in together[row]] == [one.tokens for one in single]


@every_variant
def test_hypotheses_come_best_first_with_the_scores_of_forced_decoding(variant):
    with torch.inference_mode():
        model = build(variant)
        memory = model.encode(pictures(variant))
        for row, found in enumerate(decode(model.decoder, memory, BEAM)):
            ranks = [(one.finished, one.score) for one in found]  # those that were cut come last
            assert ranks == sorted(ranks, reverse=True)
            rows = torch.full((len(found),), row)
            forced = score_pairs(model.decoder, memory.select(rows), [one.tokens for one in found])
            for one, given in zip(found, forced, strict=True):
                count = len(one.token_log_probabilities)
                assert one.token_log_probabilities == pytest.approx(
                    given.token_log_probabilities[:count], abs=1e-4
                )


@every_variant
def test_a_beam_of_one_is_greedy(variant):
    with torch.inference_mode():
        model = build(variant)
        memory = model.encode(pictures(variant))
        for (best,), row in zip(
            decode(model.decoder, memory, DecodingOptions(beam=1, maximum_length=9)),
            range(3),
            strict=True,
        ):
            tokens = torch.tensor([[2, *best.tokens]])
            logits = model.decoder(memory.select(torch.tensor([row])), tokens)[0].clone()
            logits[:, [0, 2]] = -torch.inf  # PAD and START are never written
            written = [*best.tokens, *([3] if best.finished else [])]
            assert logits.argmax(1).tolist()[: len(written)] == written
