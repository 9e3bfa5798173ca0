"""The labs about what learns: against closed forms, and each of them once, short."""

import pytest
import torch

from jumok_lectures.findings import Setting
from jumok_lectures.fitting import fit
from jumok_lectures.learning import data, gradients, scores, width


def test_a_parabola_is_fitted() -> None:
    at = torch.nn.Parameter(torch.tensor(5.0))
    losses = fit([at], lambda: (at - 2.0) ** 2, 200, 0.1)
    assert losses[0] == 9.0
    assert float(at.detach()) == pytest.approx(2.0, abs=0.05)


def test_one_vector_holds_what_the_theory_says(tmp_path) -> None:
    found = width.run(Setting((1, 2), False, tmp_path), sentences=15)
    assert found.outcome == "holds"
    for size in width.WIDTHS:
        for length, (one, _) in found.figures["right"][str(size)]["one"].items():
            assert one == pytest.approx(width.expected(size, length), abs=0.06), (size, length)
    # With as many numbers as words, and two words to choose from: a normal above another one.
    assert width.expected(4096, 4) == pytest.approx(1.0)


def test_turning_keeps_lengths_and_what_was_last_comes_back_first() -> None:
    folding = width.Folding(64, torch.Generator().manual_seed(1))
    state = torch.arange(64.0)
    assert float(folding.turned(state).norm()) == pytest.approx(float(state.norm()))
    words = torch.tensor([[3, 1, 2]])
    assert folding.recalled(folding.last_state(words), 3).tolist() == [[3, 1, 2]]


def test_a_gradient_reaches_every_word_and_hard_attention_gives_none(tmp_path) -> None:
    soft, hard = gradients.hard_attention(1)
    assert soft > 0.0
    assert hard == 0.0
    found = gradients.run(Setting((1,), False, tmp_path), lengths=(5, 20))
    assert found.outcome == "holds"
    first = {name: flow["20"]["first"][0] for name, flow in found.figures["flows"].items()}
    assert first["one vector"] < 0.01 < first["attention"]


def test_multiplications_are_those_of_the_formulas() -> None:
    # 16 keys of width 8: 16 products of 8; W k of every key; W q as well; W_Q q and W_K k.
    assert scores.multiplications("dot", "plain", 8) == 128
    assert scores.multiplications("bilinear", "plain", 8) == 128 + 64 * 16
    assert scores.multiplications("additive", "plain", 8) == 128 + 64 * 17
    assert scores.multiplications("scaled-dot", "projected", 8) == 128 + 64 * 17


def test_a_product_of_unrelated_vectors_finds_nothing_and_learns_behind_matrices(tmp_path) -> None:
    found = scores.run(Setting((1,), False, tmp_path), widths=(8, 32), steps=120).figures
    assert found["plain, dot, 32"][0] < 0.2
    assert found["projected, scaled-dot, 32"][0] > 0.8


def test_losses_leave_out_what_fills_a_sentence_up() -> None:
    class Even(torch.nn.Module):
        def forward(self, words: torch.Tensor) -> torch.Tensor:
            return torch.zeros(*words.shape, 4)

    rows = torch.tensor([[1, 2, 1, 0, 0]])
    assert float(data.loss(Even(), rows)) == pytest.approx(torch.tensor(4.0).log().item())


def test_the_lab_of_data_once_and_short(tmp_path) -> None:
    amounts = data.Amounts((240,), held_out=60, counted=3000, steps=30, rates=(1e-2,))
    found = data.run(Setting((1,), False, tmp_path), amounts)
    sizes = found.figures["parameters"]
    assert sizes["gru"] == pytest.approx(sizes["transformer"], rel=0.1)
    assert all(3.0 < found.rows[0][column] < 6.0 for column in (1, 2))
