"""Makes g2p.json with the code of g2p-en: `python -m tests.interop.peers.g2p` where g2p-en 2.1 is
installed; its own dependencies, which the network does not use, need not be.
"""

import json
import sys
from typing import Any
from unittest.mock import MagicMock, patch

import numpy as np
import torch

from tests.interop.peers.weights import PAGES, described, numbers

NOT_USED = "nltk", "nltk.corpus", "nltk.tokenize", "inflect"
WIDTH = 16
"""Divided by its root, numbers keep all their bits."""


def original() -> Any:
    """Its G2p, without a dictionary of known words."""
    with patch.dict(sys.modules, {name: MagicMock() for name in NOT_USED}):
        from g2p_en.g2p import G2p

        return G2p()


def logits_of(code: Any, weights: Any, read: list[int], written: list[int]) -> Any:
    """The logits after each phoneme, by its functions."""
    names = "w_ih", "w_hh", "b_ih", "b_hh"
    sides = [[weights[f"{side}_{name}"] for name in names] for side in ("enc", "dec")]
    letters, phonemes = weights["enc_emb"][read][None], weights["dec_emb"][written][None]
    state = code.gru(letters, len(read), *sides[0])[:, -1]
    states = code.gru(phonemes, len(written), *sides[1], h0=state)
    return np.matmul(states, weights["fc_w"].T) + weights["fc_b"]


def made() -> Any:
    """A model, what it read and wrote, and its logits."""
    code, width = original(), WIDTH
    shapes = {"enc_emb": (29, width), "dec_emb": (74, width), "fc_w": (74, width), "fc_b": (74,)}
    for side in ("enc", "dec"):
        shapes |= {f"{side}_w_{each}": (3 * width, width) for each in ("ih", "hh")}
        shapes |= {f"{side}_b_{each}": (3 * width,) for each in ("ih", "hh")}
    tensors = {name: numbers(name, list(shape)) for name, shape in shapes.items()}
    weights = {name: tensor.numpy() for name, tensor in tensors.items()}
    generator = torch.Generator().manual_seed(3)
    read = torch.randint(3, 29, (2, 7), generator=generator)
    written = torch.randint(4, 74, (2, 7), generator=generator)
    written[:, 0] = 2
    lengths = 7, 4
    for row, length in enumerate(lengths):
        read[row, length - 1], read[row, length:] = 2, 0
    logits = [
        logits_of(code, weights, ids[:length].tolist(), wrote.tolist())[0]
        for ids, wrote, length in zip(read, written, lengths, strict=True)
    ]
    return described(tensors, read, written, torch.tensor(np.stack(logits)))


if __name__ == "__main__":
    (PAGES / "g2p.json").write_text(json.dumps({"small": made()}))
