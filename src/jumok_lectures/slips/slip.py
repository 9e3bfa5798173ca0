"""A slip: what a note says, what is right, and both computed."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch

from jumok.shapes import Float, Tensor
from jumok_lectures.text import Text, same
from jumok_lectures.texts import Texts, filled

T = Texts("slips_slip")


@dataclass(frozen=True)
class Slip:
    """One sentence or formula of a note.

    Attributes:
        place: the lecture and the line, such as "002:26"; of several, the quoted one first.
        quote: verbatim, except that a run of blanks is one blank.
        right: what it should say.
        computed: what was run or counted, with its numbers.
        figures: these numbers.
        differs: whether the numbers contradict what the note says.
        incomplete: whether the note is not wrong, but leaves out what matters.
    """

    place: str
    quote: str
    right: Text
    computed: Text
    figures: Mapping[str, float | Sequence[float]]
    differs: bool
    incomplete: bool


def slip(
    texts: Texts,
    name: str,
    figures: Mapping[str, float | Sequence[float]],
    differs: bool,
    **values: object,
) -> Slip:
    """The slip of this name, whose place and words are in the file; the values are computed."""
    quote, computed = texts.read["quotes"][name], filled(texts.read[f"{name}_computed"], values)
    right = texts(f"{name}_right")
    incomplete = quote.get("incomplete", False)
    return Slip(quote["place"], quote["words"], right, computed, figures, differs, incomplete)


def each(seeds: Sequence[int], measure: Callable[[torch.Generator], float]) -> list[float]:
    """One number a seed."""
    return [measure(torch.Generator().manual_seed(seed)) for seed in seeds]


def between(values: Sequence[float], form: str) -> Text:
    """The least and the largest of the seeds' numbers; once where they read alike."""
    low, high = format(min(values), form), format(max(values), form)
    return same(low) if low == high else T("low_to_high", low=low, high=high)


def apart(one: Tensor, right: Tensor) -> float:
    """|one - right| / |right|."""
    return float((one - right).norm() / right.norm())


def numeral(value: float) -> str:
    """The number as one writes it: NaN, ∞ and -∞, too."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0.0 else "-∞"
    return format(value, ".0f")


def in_korean(millions: float) -> str:
    """63 million is 6,300만, and 347 million 3억 4,700만."""
    hundreds, rest = divmod(round(millions), 100)
    return " ".join([f"{hundreds}억"] * bool(hundreds) + [f"{rest * 100:,}만"] * bool(rest))


def finite(value: float) -> float:
    """The number; -1 for NaN, which JSON does not have."""
    return -1.0 if math.isnan(value) else value


def random_heads(
    generator: torch.Generator, length: int, dim: int
) -> tuple[
    Float[Tensor, "1 1 length dim"],
    Float[Tensor, "1 1 length dim"],
    Float[Tensor, "1 1 length dim"],
]:
    """Query, key and value of one head, elements of variance 1."""
    query, key, value = torch.randn(3, 1, 1, length, dim, generator=generator)
    return query, key, value
