"""Makes joeynmt.json and joey_rnn.json with the code of JoeyNMT: `python -m
tests.interop.peers.joeynmt` where joeynmt 2.3.0 is installed (benchmarks/requirements/joeynmt.txt),
which jumok needs not be.
"""

import json
from types import SimpleNamespace
from typing import Any

import torch
from joeynmt.attention import BahdanauAttention, LuongAttention
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

RNNS: dict[str, dict[str, Any]] = {
    "gru": {"words": (BOTH, BOTH), "tied": (True, False), "speaks": 3},
    "lstm": {
        "words": (ENGLISH, BOTH), "tied": (False, False), "cell": "lstm", "attention": "luong",
        "layers": (2, 3), "widths": (23, 29, 31), "scale": True, "speaks": 2,
    },
    "narrow": {
        "words": (BOTH, BOTH), "tied": (False, True), "cell": "lstm", "feeds": False,
        "widths": (13, 37, 37), "speaks": 38,
    },
}  # fmt: skip

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
    return described_model(config, words, sides, speaks)


def made_rnn(
    words: Any, tied: Any, cell: str = "gru", attention: str = "bahdanau", layers: Any = (1, 1),
    widths: Any = (17, 29, 31), scale: bool = False, feeds: bool = True, speaks: int = 4,
) -> Any:  # fmt: skip
    """As `made`, of an RNN.

    Args:
        widths: of a direction of the encoder, of the decoder, and of words.
    """
    symbols = SimpleNamespace(**_check_special_symbols({}))
    sides = [Vocabulary(list(each), symbols) for each in words]
    embeddings = {"embedding_dim": widths[2], "scale": scale}
    common = {"type": "recurrent", "rnn_type": cell, "embeddings": embeddings, "dropout": 0.1}
    config = {
        "tied_embeddings": tied[0], "tied_softmax": tied[1], "initializer": "xavier_uniform",
        "encoder": common | {"hidden_size": widths[0], "num_layers": layers[0]},
        "decoder": common | {
            "hidden_size": widths[1], "num_layers": layers[1], "attention": attention,
            "input_feeding": feeds, "init_hidden": "bridge", "hidden_dropout": 0.2,
        },
    }  # fmt: skip
    return described_model(config, words, sides, speaks)


def described_model(config: Any, words: Any, sides: Any, speaks: int) -> Any:
    """Numbers of the model that these settings make."""
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
        if isinstance(part, BahdanauAttention | LuongAttention):
            part.register_forward_hook(lambda *call: seen.append(call[2][1]))
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
    longest_first = (read != 1).sum(1).argsort(descending=True, stable=True)
    read = read[longest_first]
    mask = (read != 1)[:, None]
    states, last = model._encode(read, mask.sum(2)[:, 0], mask)
    back = longest_first.argsort().tolist()
    options: dict[str, Any] = {"min_output_length": 0, "return_prob": "hyp"}
    if beam == 1:
        found, _, _ = greedy(mask, LONGEST + 1, model, states, last, **options)
        return [until_end(found.tolist()[row]) for row in back], []
    found, scores, _ = beam_search(model, beam, states, last, mask, LONGEST + 1, ALPHA, **options)
    rounded = [round(x, 6) for (x,) in scores.tolist()]
    return [until_end(found.tolist()[row]) for row in back], [rounded[row] for row in back]


if __name__ == "__main__":
    for file, make, models in (("joeynmt", made, MODELS), ("joey_rnn", made_rnn, RNNS)):
        found = {name: make(**options) for name, options in models.items()}
        (PAGES / f"{file}.json").write_text(
            json.dumps(found, ensure_ascii=False, separators=(",", ":"))
        )
