"""The measurement of a GPU: its code on the processor with tiny sizes, and what it says without."""

import json

import pytest
import torch

from benchmarks import gpu
from benchmarks.gpu_checks import apart, checks
from jumok.kernels.noise import DropoutMask

CPU = torch.device("cpu")


def test_every_trainer_gets_a_row(tmp_path, capsys):
    written = tmp_path / "rows.json"
    assert gpu.main(["--tiny", "--device", "cpu", "--json", str(written)]) == 0
    rows = json.loads(written.read_text())
    assert [(row["shape"], row["trainer"]) for row in rows] == [
        ("base en-de", "jumok"),
        ("base en-de", "Hugging Face Marian"),
        ("GPT-2 124M", "jumok"),
        ("GPT-2 124M", "Hugging Face GPT-2"),
    ]
    assert all(row["tokens"] > 0 and row["measured"] > 0 for row in rows)
    shown = capsys.readouterr().out
    assert "twins agree in float32 to 1e-5: yes" in shown
    assert "two runs have the same bits: yes" in shown
    assert shown.count("| base en-de | ") == shown.count("| GPT-2 124M | ") == 2


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_without_a_card_it_says_so(capsys):
    assert gpu.main([]) == 2
    assert "there is no GPU with CUDA here: nothing was measured." in capsys.readouterr().err


def test_a_kernel_that_is_not_like_its_twin_is_named(monkeypatch):
    monkeypatch.setattr(DropoutMask, "apply", lambda _self, states: states)
    assert "dropout differs by " in apart(CPU)
    assert [fault is None for _, fault in checks(CPU)] == [False, True]


def test_products_are_counted_for_both_passes():
    """One block of width 32 and 61 words: 2 FLOP an element of a matrix in the forward pass, 4 in
    the backward pass. Rows are padded to a multiple of 32, 16 tokens to twice as many.
    """
    matrices = 4 * 32 * 32 + 2 * 32 * 32 + 61 * 32
    assert gpu.flops_per_token(gpu.TINY[1], CPU) == 2 * 6 * matrices
