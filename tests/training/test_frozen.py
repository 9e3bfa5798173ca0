"""Frozen rows stay bit by bit, whatever follows the weights about; all else learns as before."""

import pytest
import torch

from jumok.training.learner import Learner
from jumok.training.objectives import translation
from tests.training.tiny import assert_same_bits, batches, config, model, saved

ROWS = torch.tensor([5, 7, 11])
OTHERS = torch.tensor([row for row in range(31) if row not in (5, 7, 11)])
TABLE = "encoder.embedding.table"


def learner(frozen: torch.Tensor | None, threads: int = 1, tied: str = "all", **options):
    trained = model(tied=tied)
    for part in (trained.encoder, trained.decoder):
        part.embedding.frozen = frozen
    return Learner(trained, translation, config(**options), 5, torch.float32, threads, threads)


def run(learning: Learner, first: int, last: int) -> None:
    for step in range(first, last + 1):
        learning.update(batches(step), step, 3e-3)
    learning.snapshot()


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
@pytest.mark.parametrize("average", ["none", "ema", "last"])
def test_frozen_rows_keep_their_bits_and_the_others_learn(average, optimizer):
    learning = learner(ROWS, average=average, optimizer=optimizer, weight_decay=0.1)
    before = {name: tensor.clone() for name, tensor in learning.weights().items()}
    run(learning, 1, 2)
    run(learning, 3, 5)
    after = learning.weights()
    assert torch.equal(after[TABLE][ROWS], before[TABLE][ROWS])
    assert torch.equal(learning.averaged().encoder.embedding.table[ROWS], before[TABLE][ROWS])
    assert not (after[TABLE][OTHERS] == before[TABLE][OTHERS]).all(1).any()


def test_every_table_of_a_model_that_ties_none_is_frozen():
    learning = learner(ROWS, tied="none")
    before = {name: tensor.clone() for name, tensor in learning.weights().items()}
    run(learning, 1, 2)
    for name in (TABLE, "decoder.embedding.table"):
        assert torch.equal(learning.weights()[name][ROWS], before[name][ROWS])
    output = "decoder.output.weight"
    assert not torch.equal(learning.weights()[output][ROWS], before[output][ROWS])


def test_frozen_rows_count_for_nothing_in_the_norm_that_is_clipped():
    free, held = learner(None), learner(ROWS)
    norms = [learning.update(batches(1), 1, 3e-3).gradient_norm for learning in (free, held)]
    still = learner(None)
    still.update(batches(1), 1, 0.0)
    layout, gradient = still._weights.layout, still._weights.gradient
    of_rows = float(layout.views(gradient)[TABLE][ROWS].square().sum())
    assert of_rows > 0
    # clipping scales what is there by clip / norm; so the share of the rows is taken as a ratio
    whole = float(gradient.square().sum())
    assert norms[1] == pytest.approx(norms[0] * (1 - of_rows / whole) ** 0.5, rel=1e-4)


def test_the_first_step_of_all_other_weights_is_that_without_frozen_rows():
    """Nothing is clipped at this bound, so no other weight hears of the rows."""
    free, held = learner(None, clip=1e9), learner(ROWS, clip=1e9)
    for learning in (free, held):
        run(learning, 1, 1)
    for name, tensor in held.weights().items():
        expected = free.weights()[name].clone()
        if name == TABLE:
            expected[ROWS] = tensor[ROWS]
        assert torch.equal(tensor, expected), name


@pytest.mark.parametrize("threads", [1, 2])
def test_resumed_rows_are_those_of_the_checkpoint(threads):
    """Even if the file of vectors was changed in the meantime."""
    learning = learner(ROWS, threads)
    run(learning, 1, 2)
    state = saved(learning)
    run(learning, 3, 3)
    changed = model()
    with torch.no_grad():
        changed.encoder.embedding.table[ROWS] = 1.0
    changed.encoder.embedding.frozen = ROWS
    resumed = Learner(changed, translation, config(), 5, torch.float32, threads, threads)
    resumed.load_state(state)
    run(resumed, 3, 3)
    assert_same_bits(resumed.weights(), learning.weights())
