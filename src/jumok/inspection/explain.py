"""One row of attention, redone step by step from its vectors."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from jumok.errors import DataError, ModelError
from jumok.inspection.trace import Axis, Site, Trace


@dataclass(frozen=True)
class Look:
    """What one query made of one key.

    Attributes:
        product: q . k, or v . tanh(q + k) where the score is a small network.
        score: the product scaled, and with its bias; minus infinity where the mask hides the key.
        weight: softmax over all keys.
        given: the length of weight x value.
    """

    key: str
    product: float
    score: float
    weight: float
    given: float


@dataclass(frozen=True)
class Row:
    """One row of one head; `recorded` is how far the weights are from those of the model."""

    site: Site
    head: int
    query: str
    looks: tuple[Look, ...]
    recorded: float


def readable(token: str) -> str:
    """A piece as people read it: the space before a word goes."""
    return token.removeprefix("▁") or token


def choose(trace: Trace, word: str, part: str | None, layer: int | None) -> tuple[Site, int]:
    """The site and the row that are meant.

    Args:
        word: a word (of several tokens the last one is taken), a token, or its number from 1. It
            is looked for in what the part's queries are; without a part in the source first, then
            in the target.
        part: "encoder", "decoder", "cross" or "image"; None: by where the word stands.
        layer: from 0; None: the last one.

    Raises:
        DataError: no such token. ModelError: no such part or layer.
    """
    parts = [part] if part else ["encoder", "cross", "decoder", "image"]
    for wanted in parts:
        sites = [site for site in trace.sites if site.part == wanted]
        if not sites:
            continue
        row = _row(trace.axes[sites[0].queries], word)
        if row is None:
            continue
        chosen = [
            site for site in sites if site.layer == (sites[-1].layer if layer is None else layer)
        ]
        if not chosen:
            raise ModelError(
                "the model has no such layer.",
                expected=f"1 to {sites[-1].layer + 1}; in Python from 0",
                got=f"{int(layer or 0) + 1}; in Python {layer}",
            )
        return chosen[0], row
    known = {name: " ".join(map(readable, axis.tokens)) for name, axis in trace.axes.items()}
    raise DataError(
        "there is no such row.",
        expected="; ".join(f"{name}: {tokens}" for name, tokens in known.items()),
        got=repr(word),
        do="give a word, one of these tokens, or its number from 1",
    )


def _row(axis: Axis, word: str) -> int | None:
    """Where the word, the token or the number stands; None where it does not."""
    tokens = [readable(token) for token in axis.tokens]
    if word in axis.texts:
        index = axis.texts.index(word)
        return max(place for place, of_word in enumerate(axis.words) if of_word == index)
    if word in tokens:
        return tokens.index(word)
    number = int(word) - 1 if word.isdecimal() and len(word) < 10 else -1
    return number if 0 <= number < len(tokens) else None


def explain(trace: Trace, site: Site, row: int, head: int | None = None) -> Row:
    """The row redone: products, scores, softmax, and how much of each value was taken.

    Args:
        head: from 0; None: the one that looks most sharply in this row.

    Raises:
        ModelError: no such head, or a trace that kept no vectors.
    """
    if site.query is None or site.key is None or site.value is None:
        raise ModelError(
            "the trace kept weights only.", do="record it at level qk: jumok look --level qk"
        )
    heads = site.weights.shape[0]
    if head is None:
        head = int(site.weights[:, row].max(axis=1).argmax())
    if not 0 <= head < heads:
        raise ModelError("the model has no such head.", expected=f"1 to {heads}", got=f"{head + 1}")
    products = _products(site, head, row)
    scores = products * site.scale
    if site.bias is not None:
        scores = scores + site.bias[head, row]
    if site.allowed is not None:
        scores = np.where(site.allowed[row], scores, -np.inf)
    powers = np.exp(scores - scores.max())
    weights = powers / powers.sum()
    given = weights * np.linalg.norm(site.value[head], axis=-1)
    keys = [readable(token) for token in trace.axes[site.keys].tokens]
    looks = tuple(
        Look(key, *map(float, numbers))
        for key, *numbers in zip(keys, products, scores, weights, given, strict=True)
    )
    query = readable(trace.axes[site.queries].tokens[row])
    off = float(np.abs(weights - site.weights[head, row]).max())
    return Row(site, head, query, looks, off)


def _products(site: Site, head: int, row: int) -> npt.NDArray[np.float64]:
    assert site.query is not None
    assert site.key is not None
    query, keys = site.query[head, row].astype(np.float64), site.key[head]
    products: npt.NDArray[np.float64] = (
        keys @ query if site.energy is None else np.tanh(query + keys) @ site.energy
    )
    return products
