"""One row of attention, recomputed step by step from its vectors."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from jumok.attention.role import Part
from jumok.errors import DataError, ModelError
from jumok.inspection.trace import Site, Trace

PART_ORDER: tuple[Part, ...] = ("cross", "encoder", "decoder", "image")
"""The parts in the order in which one is chosen when none is named."""


@dataclass(frozen=True)
class KeyTerms:
    """The steps for one query and one key.

    Attributes:
        product: q . k, or v . tanh(q + k) where the score is a small network; None: it is another
            score, which was recorded.
        score: the product scaled, and with its bias; minus infinity where the mask hides the key.
        weight: softmax over all keys.
        given: the norm of the attended value, | weight x value |.
    """

    key: str
    product: float | None
    score: float
    weight: float
    given: float


@dataclass(frozen=True)
class ExplainedRow:
    """One row of one head; `recorded` is the largest difference from the model's own weights.

    Attributes:
        sink: the weight of the head's sink; None: it has none.
        factor: of the head's map in the output, negative where it is subtracted.
    """

    site: Site
    head: int
    query: str
    looks: tuple[KeyTerms, ...]
    recorded: float
    sink: float | None = None
    factor: float = 1.0


def readable(token: str) -> str:
    """A token as it is shown, without the mark of a space before it."""
    return token.removeprefix("▁") or token


def choose(
    trace: Trace,
    word: str,
    part: str | None,
    layer: int | None,
    *,
    head: int | None = None,
    at_input: bool | None = None,
) -> tuple[Site, int]:
    """The site and the row that are meant: the row of `rows_of` with the largest weight.

    Args:
        word: a word, a token, or a row's number from 1. It is searched for among the part's
            queries; without a part in the source first, then in the target.
        part: "encoder", "decoder", "cross" or "image"; None: by the side that has the word.
        layer: from 0; None: that of the alignment setting, or the last one.
        at_input: True: an output word's row is that of the step that reads it; False: of the step
            that writes it; None: as in the model's alignment setting.

    Raises:
        DataError: no such token, or the text was copied. ModelError: no such part or layer.
    """
    _check_read(trace)
    parts = [part] if part else ["encoder", "cross", "decoder", "image"]
    for candidate in parts:
        sites = [site for site in trace.sites if site.part == candidate]
        if not sites:
            continue
        site = _at_layer(trace, sites, layer)
        rows = rows_of(trace, site, word, at_input=at_input)
        if not rows:
            continue
        if head is not None and not 0 <= head < len(site.weights):
            raise _no_head(site, head)
        weights = site.weights if head is None else site.weights[[head]]
        return site, max(rows, key=lambda row: float(weights[:, row].max()))
    known = {name: " ".join(map(readable, axis.tokens)) for name, axis in trace.axes.items()}
    raise DataError(
        "there is no such row.",
        expected="; ".join(f"{name}: {tokens}" for name, tokens in known.items()),
        got=repr(word),
        do="give a word, one of these tokens, or its number from 1",
    )


def _check_read(trace: Trace) -> None:
    if trace.copied:
        raise DataError(
            "there is no word in this text: it was copied, and the model read nothing.",
            got=repr(trace.text),
            do="give a text with a word",
        )


def part_sites(trace: Trace, part: Part | None = None) -> list[Site]:
    """The sites of a part, or of the first part that the trace has.

    Raises:
        DataError: the text was copied. ModelError: the trace has no attention of that part.
    """
    _check_read(trace)
    known = [each for each in PART_ORDER if any(site.part == each for site in trace.sites)]
    wanted = part or next(iter(known), None)
    sites = [site for site in trace.sites if site.part == wanted]
    if not sites:
        raise ModelError(
            "the trace has no such attention.",
            expected=" or ".join(known) or "a model that has attention",
            got=part or trace.model,
        )
    return sites


def usual_site(trace: Trace, sites: Sequence[Site]) -> Site:
    """The site of the alignment setting's layer, or the last, among those of one part."""
    setting = trace.findings.setting if sites[0].part == "cross" else None
    layer = None if setting is None else setting.layer
    return next((site for site in sites if site.layer == layer), sites[-1])


def _at_layer(trace: Trace, sites: list[Site], layer: int | None) -> Site:
    if layer is None:
        return usual_site(trace, sites)
    for site in sites:
        if site.layer == layer:
            return site
    raise ModelError(
        "the model has no such layer.",
        expected=f"1 to {sites[-1].layer + 1}; in Python from 0",
        got=f"{layer + 1}; in Python {layer}",
    )


def rows_of(trace: Trace, site: Site, word: str, *, at_input: bool | None = None) -> list[int]:
    """All rows of a word, a token, or a row's number from 1; empty where there is none.

    A word is found without the punctuation around it, too, and has no row of its punctuation.
    """
    axis = trace.axes[site.queries]
    tokens = [readable(token) for token in axis.tokens]
    if at_input is None:
        at_input = trace.findings.at_input
    back = 0 if at_input or not has_steps(site) else 1
    if word in axis.texts or word not in tokens:
        known = axis.texts if word in axis.texts else tuple(map(_bare, axis.texts))
        index = known.index(word) if word in known else None
        places = [place for place, of in enumerate(axis.words) if of is not None and of == index]
        # The mark of a space is a token, but not a letter of the word.
        places = [place for place in places if any(map(str.isalnum, tokens[place]))] or places
    else:
        places = [tokens.index(word)]
    rows = [place - back for place in places if place >= back]
    number = int(word) - 1 if word.isdecimal() and word.isascii() and len(word) < 10 else -1
    return rows or ([number] if 0 <= number < site.weights.shape[1] else [])


def _bare(word: str) -> str:
    """The word without the punctuation around it."""
    letters = [place for place, letter in enumerate(word) if letter.isalnum()]
    return word[letters[0] : letters[-1] + 1] if letters else word


def has_steps(site: Site) -> bool:
    """Whether the rows are decoder steps: each has read one token, and writes the next."""
    return site.part in ("decoder", "cross")


def row_name(trace: Trace, site: Site, row: int) -> str:
    """The name of a row: "row 2: cat", or "step 6: has read 를, writes 봤어요"."""
    tokens = [readable(token) for token in trace.axes[site.queries].tokens]
    if not has_steps(site):
        return f"row {row + 1}: {tokens[row]}"
    written = tokens[row + 1 :][:1] or [readable(step.token) for step in trace.steps[row:][:1]]
    # A language model only scores its prompt; it does not write it.
    in_prompt = row < trace.findings.prompt
    then = f", {'next comes' if in_prompt else 'writes'} {written[0]}" if written else ""
    return f"step {row + 1}: has read {tokens[row]}{then}"


def _no_head(site: Site, head: int) -> ModelError:
    known = f"1 to {len(site.weights)}"
    return ModelError("the model has no such head.", expected=known, got=f"{head + 1}")


def explain(trace: Trace, site: Site, row: int, head: int | None = None) -> ExplainedRow:
    """The row recomputed: products, scores, softmax, and the norms of the attended values.

    Args:
        head: from 0; None: the one with the largest weight in this row.

    Raises:
        ModelError: no such head, a trace without vectors, or weights that come from no scores.
    """
    if site.query is None or site.key is None or site.value is None:
        raise ModelError(
            "the trace contains weights only.", do="record it at level qk: jumok look --level qk"
        )
    if head is None:
        head = int(site.weights[:, row].max(axis=1).argmax())
    if not 0 <= head < len(site.weights):
        raise _no_head(site, head)
    products: npt.NDArray[np.float64] | None = None
    if site.scale is None:
        scores = _recorded_scores(site, head, row)
    else:
        products = _products(site, head, row)
        scores = products * site.scale
    if site.bias is not None:
        scores = scores + site.bias[head, row]
    if site.allowed is not None:
        scores = np.where(site.allowed[row], scores, -np.inf)
    sink = -np.inf if site.sink is None else float(site.sink[head])
    most = max(scores.max(), sink)
    powers, rest = np.exp(scores - most), float(np.exp(sink - most))
    weights = powers / (powers.sum() + rest)
    norms = weights * np.linalg.norm(site.value[head], axis=-1)
    keys = [readable(token) for token in trace.axes[site.keys].tokens]
    shown = [None] * len(keys) if products is None else products.tolist()
    looks = tuple(
        KeyTerms(key, product, *map(float, numbers))
        for key, product, *numbers in zip(keys, shown, scores, weights, norms, strict=True)
    )
    query = readable(trace.axes[site.queries].tokens[row])
    off = float(np.abs(weights - site.weights[head, row]).max())
    return ExplainedRow(
        site, head, query, looks, off,
        sink=None if site.sink is None else rest / float(powers.sum() + rest),
        factor=1.0 if site.factors is None else float(site.factors[head]),
    )  # fmt: skip


def _recorded_scores(site: Site, head: int, row: int) -> npt.NDArray[np.float64]:
    if site.scores is None:
        raise ModelError(
            "the scores cannot be recomputed from the vectors, and were not recorded.",
            expected="products of queries and keys, additive scores, or recorded ones",
            got=f"the attention {site.kind!r}",
            do="look at the weights instead: jumok look",
        )
    return site.scores[head, row].astype(np.float64)


def _products(site: Site, head: int, row: int) -> npt.NDArray[np.float64]:
    assert site.query is not None
    assert site.key is not None
    query, keys = site.query[head, row].astype(np.float64), site.key[head]
    products: npt.NDArray[np.float64] = (
        keys @ query if site.energy is None else np.tanh(query + keys) @ site.energy
    )
    return products
