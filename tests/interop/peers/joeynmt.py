"""Makes joeynmt.json with the code of JoeyNMT: `python -m tests.interop.peers.joeynmt` where
joeynmt 2.3.0 is installed (benchmarks/requirements/joeynmt.txt), which jumok needs not be.
"""

import json
from types import SimpleNamespace
from typing import Any

import torch
from joeynmt.config import _check_special_symbols
from joeynmt.model import build_model
from joeynmt.search import beam_search, greedy
from joeynmt.transformer_layers import MultiHeadedAttention
from joeynmt.vocabulary import Vocabulary

from tests.interop.peers.weights import PAGES, described, fill, numbers, sentences, speak, weighed
from tests.interop.peers.words import BOTH, ENGLISH

MODELS: dict[str, dict[str, Any]] = {
    "pre": {"norm": "pre", "words": (BOTH, BOTH), "tied": (True, True)},
    "inputs": {"norm": "pre", "words": (BOTH, BOTH), "tied": (True, False), "activation": "swish"},
    "two": {
        "norm": "post",
        "words": (ENGLISH, BOTH),
        "tied": (False, True),
        "scale": True,
        "speaks": 19,
    },
    "untied": {
        "norm": "pre",
        "words": (BOTH, ENGLISH),
        "tied": (False, False),
        "activation": "gelu",
    },
}

END = 3
LONGEST, ALPHA = 13, 0.7
"""Of translations, without END, and the length penalty of beams."""


def made(
    norm: str, words: Any, tied: Any, activation: str = "relu", scale: bool = False, speaks: int = 4
) -> Any:
    """One model, what it read and wrote, its logits, attention in millionths, and gradients."""
    symbols = SimpleNamespace(**_check_special_symbols({}))
    sides = [Vocabulary(list(each), symbols) for each in words]
    side = {
        "type": "transformer", "num_layers": 3, "num_heads": 7, "hidden_size": 42, "ff_size": 29,
        "embeddings": {"embedding_dim": 42, "scale": scale}, "dropout": 0.1, "layer_norm": norm,
        "activation": activation,
    }  # fmt: skip
    config = {
        "tied_embeddings": tied[0], "tied_softmax": tied[1], "initializer": "xavier_uniform",
        "encoder": side, "decoder": side | {"num_layers": 2},
    }  # fmt: skip
    model = build_model(json.loads(json.dumps(config)), *sides).eval()
    tensors = fill(model.state_dict())
    real = torch.arange(7) < torch.tensor([[7], [4]])
    generator = torch.Generator().manual_seed(3)
    read, written = (torch.randint(4, len(each), (2, 7), generator=generator) for each in sides)
    read, written[:, 0] = read.masked_fill(~real, 1), 2
    seen: list[torch.Tensor] = []
    for part in model.modules():
        if isinstance(part, MultiHeadedAttention):
            part.softmax.register_forward_hook(lambda *call: seen.append(call[2]))
    states, last = model._encode(read, real.sum(1), real[:, None])
    every = torch.ones(2, 1, 7, dtype=torch.bool)
    logits, *_ = model._decode(states, last, real[:, None], written, 7, None, None, every)
    attention = [each.mul(1e6).round().int().tolist() for each in seen]
    (logits.tanh() * numbers("pull", [2, 7, 1])).sum().backward()
    gradients = {
        name: [round(x, 6) for x in weighed(name, each.grad)]
        for name, each in model.named_parameters()
    }
    lists = [[each._itos[id] for id in range(len(each))] for each in sides]
    return {
        "settings": config,
        "words": lists,
        **described(tensors, read, written, logits),
        "attention": attention,
        "gradients": gradients,
        **translations(model, len(words[0]) + 4, speaks),
    }


@torch.no_grad()
def translations(model: Any, rows: int, words: int) -> dict[str, Any]:
    """What it writes with other tables.

    Args:
        rows: how many ids there are in sources.
        words: which tables.
    """
    speak(model.state_dict(), words)
    return {
        "speaks": words,
        "greedy": [translated(model, rows, seed)[0] for seed in (1, 2, 3)],
        "beams": translated(model, rows, 4, beam=4),
    }


def until_end(row: list[int]) -> list[int]:
    """Its ids up to END."""
    return row[: row.index(END) + 1] if END in row else row


@torch.no_grad()
def translated(model: Any, rows: int, seed: int, beam: int = 1) -> Any:
    """What it writes for random sources, and the scores of beams; a sentence may be of one END."""
    read = sentences(rows, seed)
    mask = (read != 1)[:, None]
    states, _ = model._encode(read, mask.sum(2)[:, 0], mask)
    options: dict[str, Any] = {"min_output_length": 0, "return_prob": "hyp"}
    if beam == 1:
        found, _, _ = greedy(mask, LONGEST + 1, model, states, None, **options)
        return [until_end(row) for row in found.tolist()], []
    found, scores, _ = beam_search(model, beam, states, None, mask, LONGEST + 1, ALPHA, **options)
    return [until_end(row) for row in found.tolist()], [round(x, 6) for (x,) in scores.tolist()]


if __name__ == "__main__":
    found = {name: made(**options) for name, options in MODELS.items()}
    (PAGES / "joeynmt.json").write_text(
        json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    )
