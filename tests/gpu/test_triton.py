"""The Triton kernels compute what their twins do; interpreted, as there is no card."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from jumok.kernels.card import serving
from jumok.kernels.card.serving import serves

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(find_spec("triton") is None, reason="triton is not installed (641 MB)")
def test_the_kernels_of_a_card_agree_with_their_twins():
    variables = os.environ | {"TRITON_INTERPRET": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run(
        [sys.executable, "-m", "tests.gpu.interpreted"],
        env=variables,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.stdout == "dropout\nnorms\nlosses\nattention\n", run.stderr


def test_only_floating_tensors_of_a_card_with_triton_are_served(monkeypatch):
    monkeypatch.setattr(serving, "installed", lambda: True)
    assert not serves(torch.ones(2))
    assert not serves(torch.ones(2, device="meta"))
