"""What is counted, how it grows, and what the report judges."""

from functools import partial

import pytest
import torch
from torch import nn

from jumok.attention.multihead import MultiHeadAttention
from jumok.kernels.noise import Noise
from jumok_lectures.experiments import parallel
from jumok_lectures.experiments.parallel import COUNTED, LENGTHS, WIDTH, Counts, Timed
from jumok_lectures.text import same

ATTENTION = MultiHeadAttention(WIDTH, 4, WIDTH // 4, WIDTH // 4, Noise())


def test_multiplications_are_those_of_the_formulas() -> None:
    for n in (4, 32):
        assert parallel.multiplications(parallel.WrittenGru(WIDTH), n) == 6 * n * WIDTH**2
        found = parallel.multiplications(ATTENTION, n)
        assert found == 4 * n * WIDTH**2 + 2 * n**2 * WIDTH


def test_a_recurrent_chain_grows_and_that_of_attention_does_not() -> None:
    gru = parallel.WrittenGru(WIDTH)
    assert parallel.chain(gru, 8) - parallel.chain(gru, 4) >= 4
    lengths = {parallel.chain(lambda states: ATTENTION(states, states), n) for n in COUNTED}
    assert len(lengths) == 1


def test_the_written_gru_is_torchs() -> None:
    torch.manual_seed(1)
    written, layer = parallel.WrittenGru(WIDTH), nn.GRU(WIDTH, WIDTH, batch_first=True)
    for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
        getattr(layer, f"{name}_l0").data = getattr(written.cell, name).data
    states = torch.randn(2, 5, WIDTH)
    torch.testing.assert_close(written(states), layer(states)[0])


def test_times_that_grow_with_the_square_have_a_power_of_two() -> None:
    assert parallel.power((8, 16, 32), [1.0, 4.0, 16.0]) == pytest.approx(2.0)
    assert parallel.power((8, 16, 32), [3.0, 6.0, 12.0]) == pytest.approx(1.0)


def test_layers_take_turns_and_each_has_its_own_time() -> None:
    turns: list[str] = []

    def layer(name: str, states: torch.Tensor) -> torch.Tensor:
        turns.append(name)
        return states * 2.0

    before = torch.get_num_threads()
    found = parallel.step_seconds((partial(layer, "gru"), partial(layer, "attention")), 4)
    assert turns == ["gru", "attention"] * (parallel.REPEATS + 1)
    assert len(found) == 2
    assert all(0.0 < seconds < float("inf") for seconds in found)
    assert torch.get_num_threads() == before


def test_the_report_judges_chains_speed_multiplications_and_the_power() -> None:
    counts = Counts(
        [6 * n * 64**2 for n in LENGTHS],
        [4 * n * 64**2 + 2 * n * n * 64 for n in LENGTHS],
        [10 * n for n in COUNTED],
        [12 for _ in COUNTED],
    )
    square = [n**2 / 4e6 for n in LENGTHS]
    timed = Timed(same("1 core"), [n / 1e4 for n in LENGTHS], square)
    found = parallel.report([[timed]] * 3, counts)
    states = [each.state for each in found.conditions]
    # All but that attention multiplies less: at 2,048 positions it does not.
    assert states == ["met", "met", "met", "unmet", "met"]
    assert found.outcome == "partly"
