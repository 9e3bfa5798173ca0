"""Interventions: ablated heads, occluded words, attention weights set by hand.

One mechanism serves all changes of heads: `gate[head]` multiplies a head's output before the heads
are mixed (`attention/observe.py`). A gate of 0 is an ablated head. A word, or a cell of an image,
is occluded by replacing its vector by zeros (`layers/embedding.py`), and weights are set in the
attention module; the layers above compute with the changed values. A model without changes uses
its fast code paths, also in other threads while it is changed in one (`attention/overrides.py`).

Source: heads: Michel et al. 2019, Are sixteen heads really better than one?, section 2.3; set
weights: Strobelt et al. 2018, Seq2Seq-Vis, section 4.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial

import torch
from torch import nn

from jumok.attention.observe import HeadWeights, Observable, sites
from jumok.attention.overrides import override
from jumok.errors import ModelError
from jumok.layers.embedding import Editable, Embedding, StateEdit
from jumok.models.captioner import CaptionerModel
from jumok.models.image_classifier import ImageClassifier
from jumok.shapes import Float, Int, States, Tensor

Heads = Mapping[str, Sequence[int]]
"""For each site, by its path in the model, a list of heads, from 0."""


@dataclass(frozen=True)
class RowEdit:
    """One row of attention weights set by the user.

    Attributes:
        weights: of the keys, from the first; normalised to a sum of 1. Further keys get 0.
        head: from 0; None: all heads.
    """

    site: str
    query: int
    weights: tuple[float, ...]
    head: int | None = None


@dataclass(frozen=True)
class Change:
    """A change of a model.

    Attributes:
        blank: positions of the input text whose words are occluded, or cells of an image.
    """

    off: Heads = field(default_factory=dict)
    blank: tuple[int, ...] = ()
    rows: tuple[RowEdit, ...] = ()

    def __bool__(self) -> bool:
        return bool(any(self.off.values()) or self.blank or self.rows)


UNCHANGED = Change()

ABLATED_HEADS = 32
"""The most heads that are ablated in one pass, each in a row of its own."""

LOGITS = 1 << 24
"""The most numbers that one pass of several rows may predict."""


@contextmanager
def switched_off(model: nn.Module, heads: Heads, count: Mapping[str, int]) -> Iterator[None]:
    """Ablates these heads of the model inside the block.

    Raises:
        ModelError: a site or a head that the model does not have.
    """
    known = sites(model)
    chosen = {name: numbers for name, numbers in heads.items() if numbers}
    for name, numbers in chosen.items():
        if name not in known or not all(0 <= head < count[name] for head in numbers):
            raise _no_such_head(count, f"{name}: {', '.join(map(str, numbers))}")
    parameter = next(model.parameters())
    gates = {}
    for name, numbers in chosen.items():
        gates[name] = parameter.new_ones(count[name])
        gates[name][list(numbers)] = 0.0
    with _gated(known, gates):
        yield


@contextmanager
def _gated(known: Mapping[str, Observable], gates: Mapping[str, Tensor]) -> Iterator[None]:
    """Multiplies the heads' outputs by gates, (heads) or (rows heads), besides those they have."""
    of_module: dict[Observable, Tensor] = {}
    for name, gate in gates.items():
        outer = known[name].gate
        of_module[known[name]] = gate if outer is None else outer * gate
    with override("gate", of_module):
        yield


@contextmanager
def changed(model: nn.Module, change: Change, count: Mapping[str, int]) -> Iterator[None]:
    """Applies all changes to the model inside the block.

    Raises:
        ModelError: a head, a word or a row that does not exist.
    """
    with ExitStack() as stack:
        stack.enter_context(switched_off(model, change.off, count))
        if change.blank:
            stack.enter_context(blanked(model, change.blank))
        stack.enter_context(set_rows(model, change.rows, count))
        yield


def embeddings_of(model: nn.Module) -> dict[str, Embedding]:
    """The embeddings by their path in the model, the encoder's first."""
    embeddings = {name: each for name, each in model.named_modules() if isinstance(each, Embedding)}
    return dict(sorted(embeddings.items(), key=lambda item: item[1].part != "encoder"))


@contextmanager
def edited_words(edits: Mapping[Editable, StateEdit]) -> Iterator[None]:
    """Changes the vectors of words or cells inside the block.

    Edits of nested blocks are applied one after another.
    """
    changed = {
        editable: _one_after_another(editable.edit, edit) for editable, edit in edits.items()
    }
    with override("edit", changed):
        yield


def _one_after_another(first: StateEdit | None, then: StateEdit) -> StateEdit:
    if first is None:
        return then
    return lambda states, position: then(first(states, position), position)


@contextmanager
def blanked(model: nn.Module, positions: Sequence[int]) -> Iterator[None]:
    """Replaces the vectors of these words or cells by zeros; their positions stay.

    The words are those of the encoder's input, or of the decoder's in a model without an encoder;
    the cells are the output of a captioner's convolutions, or the patches of a Vision Transformer.

    Raises:
        ModelError: a model that reads neither, or a position that the text does not have.
    """
    editable, at_once = _what_is_read(model)

    def blank(states: States, first: int) -> States:
        end = first + states.shape[1]
        if at_once and not all(0 <= position < end for position in positions):
            raise ModelError(
                "the input has no such position.",
                expected=f"0 to {end - 1}",
                got=", ".join(map(str, positions)),
            )
        inside = [position - first for position in positions if first <= position < end]
        index = torch.tensor(inside, dtype=torch.long, device=states.device)
        return states.index_fill(1, index, 0.0)

    with edited_words({editable: blank}):
        yield


def _what_is_read(model: nn.Module) -> tuple[Editable, bool]:
    """The module that makes vectors of words or cells, and whether it receives all at once."""
    if isinstance(model, CaptionerModel | ImageClassifier):
        # A captioner's embedding is that of the words it writes.
        if model.editable is not None:
            return model.editable, True
        raise ModelError("this model reads the image as one vector, so cells cannot be occluded.")
    embedding = next(iter(embeddings_of(model).values()), None)
    if embedding is None:
        raise ModelError("this model reads no words, so none can be occluded.")
    return embedding, embedding.part == "encoder"  # a decoder receives its text token by token


@contextmanager
def set_rows(model: nn.Module, rows: Sequence[RowEdit], count: Mapping[str, int]) -> Iterator[None]:
    """Replaces rows of the model's attention weights inside the block.

    Those of nested blocks are replaced one after another.

    Raises:
        ModelError: a site or a head that the model does not have, or invalid weights.
    """
    known = sites(model)
    by_site: dict[str, list[RowEdit]] = {}
    for row in rows:
        if row.site not in known or not (row.head is None or 0 <= row.head < count[row.site]):
            raise _no_such_head(count, f"{row.site}: {row.head}")
        _check_row(row, known[row.site])
        by_site.setdefault(row.site, []).append(row)
    edits = {
        known[site]: _one_after_another(known[site].edit, partial(_with_rows, of_site))
        for site, of_site in by_site.items()
    }
    with override("edit", edits):
        yield


def _check_row(row: RowEdit, module: Observable) -> None:
    if not row.weights or min(row.weights) < 0 or not 0 < sum(row.weights) < math.inf:
        raise ModelError(
            "these are not attention weights.",
            expected="numbers of 0 or more, and one above 0",
            got=", ".join(f"{weight:g}" for weight in row.weights),
        )
    looks_back = module.role is not None and module.role.part == "decoder"
    if looks_back and len(row.weights) > row.query + 1:
        raise ModelError(
            "a position of the output cannot attend to later positions.",
            expected=f"weights for {row.query + 1} keys or fewer",
            got=f"{len(row.weights)}",
        )


def _with_rows(rows: Sequence[RowEdit], weights: HeadWeights, first: int) -> HeadWeights:
    """The weights with these rows replaced; `first` is the first query's number."""
    weights = weights.clone()
    keys = weights.shape[3]
    for row in rows:
        query = row.query - first
        if not 0 <= query < weights.shape[2]:
            continue  # the output is written step by step
        if len(row.weights) > keys:
            raise ModelError(
                "the row has more weights than there are keys.",
                expected=f"{keys} or fewer",
                got=f"{len(row.weights)}",
            )
        normalised = weights.new_zeros(keys)
        normalised[: len(row.weights)] = weights.new_tensor(row.weights) / sum(row.weights)
        weights[:, slice(None) if row.head is None else row.head, query] = normalised
    return weights


def _no_such_head(count: Mapping[str, int], got: str) -> ModelError:
    return ModelError(
        "the model has no such head.",
        expected="; ".join(f"{site}: 0 to {count[site] - 1}" for site in count),
        got=got,
    )


@torch.inference_mode()
def without_each_head(
    model: nn.Module,
    run: Callable[[int], Float[Tensor, "rows positions choices"]],
    written: Int[Tensor, " positions"],
    count: Mapping[str, int],
) -> dict[str, Float[Tensor, "heads positions"]]:
    """The effect of ablating each head alone: the change of every chosen token's log-probability.

    Args:
        run: the log-probabilities of all choices at every position, for so many equal rows.
        written: what was chosen at each position.
    """
    known, parameter = sites(model), next(model.parameters())
    whole = run(1)
    most = max(1, min(ABLATED_HEADS, LOGITS // whole.numel()))
    heads = [(site, head) for site, heads in count.items() for head in range(heads)]
    effects = []
    for first in range(0, len(heads), most):
        some = heads[first : first + most]
        gates = {site: parameter.new_ones(len(some), count[site]) for site, _ in some}
        for row, (site, head) in enumerate(some):
            gates[site][row, head] = 0.0
        with _gated(known, gates):
            without = run(len(some))
        effects.append((without - whole)[:, torch.arange(len(written)), written])
    of_site = torch.cat(effects).split(list(count.values()))
    return dict(zip(count, of_site, strict=True))
