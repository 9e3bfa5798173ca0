"""`jumok.changed` and `jumok.patched`: a model that is used with changes to what it computes.

Heads have the names under which `jumok heads` and the page list them: the attention kind, and layer
and head counted from 1.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from torch import nn

from jumok.attention.observe import heads_of, roles_of, sites
from jumok.attention.overrides import naming
from jumok.errors import ModelError
from jumok.inspection.hooks.intervene import Change, Heads, RowEdit
from jumok.inspection.hooks.intervene import changed as with_change
from jumok.inspection.hooks.patching import Patch, patched_model
from jumok.systems.base import System
from jumok.tracing.request import without_attention

SitesByRole = Mapping[tuple[str, int], str]
"""The path of each attention module, by its attention kind and its layer (from 0)."""

NAME = re.compile(r"(?:(cross|encoder|decoder|image)[ .])?([1-9]\d*)(?:\.([1-9]\d*))?")


@contextmanager
def changed(
    model: System | nn.Module,
    heads_off: str | Sequence[str] | Heads = (),
    *,
    words_off: Sequence[int] = (),
    weights: Mapping[tuple[str, int], Sequence[float]] | None = None,
) -> Iterator[None]:
    """Ablates heads of a model, masks words, or sets attention weights, inside the block.

        with jumok.changed(model, heads_off=["cross 2.3", "encoder 1"]):
            model.translate(["I am a student."])

    The change applies to every use of the model in the block, in this thread only; blocks may be
    nested. Every model of an ensemble is changed.

    Args:
        heads_off: heads whose output is set to zero before the output projection. "cross 2.3" is
            layer 2, head 3 of the cross-attention, both counted from 1, as in `jumok heads` and the
            page; "cross 2" is every head of the layer. The kinds are "cross", "encoder",
            "decoder" and "image"; "2.3" is enough if the model has only one kind. Or a mapping from
            the path of a module to head indices, from 0, as in `Trace.sites`.
        words_off: positions of the input, from 0, whose word vectors are set to zero in every text
            of the block; for a captioner, cells of the image.
        weights: by head, or whole layer, and query position (from 0): the weights of the keys from
            the first on. They are normalized to a sum of 1; further keys get 0.

    Raises:
        ModelError: the model has no attention, or no such heads or positions; the weights are not
            attention weights; heads are named, and an attention module has no role.
    """
    with ExitStack() as stack:
        for each in model.modules() if isinstance(model, System) else [model]:
            count = heads_of(each)
            if not count:
                raise without_attention(model)
            named = heads_off and not isinstance(heads_off, Mapping)
            layers = _layers(each) if named or weights else {}  # paths need no names
            change = Change(
                _named_heads(heads_off, layers, count),
                tuple(words_off),
                tuple(_row_edits(weights or {}, layers, count)),
            )
            stack.enter_context(with_change(each, change, count))
            stack.enter_context(naming(tuple(_in_words(each, change))))
        yield


@contextmanager
def patched(
    model: System | nn.Module,
    patches: Mapping[str, Patch],
    *,
    positions: Sequence[int] | None = None,
) -> Iterator[None]:
    """Replaces vectors inside a Transformer during its computation: activation patching, steering.

        with jumok.patched(model, {"decoder.blocks.1": lambda stream: stream + direction}):
            model.translate(["I am a student."])

    Like `changed`, it applies to every use of the model in the block, in this thread only.

    Args:
        patches: by path. "decoder.blocks.1" is the residual stream after the second block of the
            decoder, (batch new dim); in decoding new is 1. "decoder.blocks.1.cross_attention" is
            the output of each head before the output projection, (batch heads new value_dim). The
            patch is a function that maps these vectors to their replacement, or an array for the
            positions from the first on, such as `Trace.streams["decoder"][2]` of another run: row 2
            is the stream after the second block.
        positions: the positions to replace, from 0, including START if the text has it; None: all,
            or all positions of an array.

    Raises:
        ModelError: the path does not exist, or the vectors do not have the sizes of the model.
    """
    with ExitStack() as stack:
        for each in model.modules() if isinstance(model, System) else [model]:
            stack.enter_context(patched_model(each, patches, positions))
            stack.enter_context(naming(tuple(f"patched: {path}" for path in patches)))
        yield


def _in_words(model: nn.Module, change: Change) -> Iterator[str]:
    """A change as `Trace.changes` names it; layers, heads and positions are counted from 1."""
    roles = {site: module.role for site, module in sites(model).items()}
    names = {
        site: f"{role.part} {role.layer + 1}" if role else site for site, role in roles.items()
    }
    for site, heads in change.off.items():
        yield from (f"head off: {names[site]}.{head + 1}" for head in heads)
    yield from (f"word off: {position + 1}" for position in change.blank)
    for row in change.rows:
        head = "" if row.head is None else f".{row.head + 1}"
        yield f"weights set: {names[row.site]}{head}, query {row.query + 1}"


def _layers(model: nn.Module) -> SitesByRole:
    return {(role.part, role.layer): site for site, role in roles_of(model).items()}


def _named_heads(
    named: str | Sequence[str] | Heads, layers: SitesByRole, count: Mapping[str, int]
) -> Heads:
    if isinstance(named, Mapping):
        return named
    heads_by_site: dict[str, list[int]] = {}
    for name in [named] if isinstance(named, str) else named:
        site, heads = _named_site(name, layers, count)
        heads_by_site.setdefault(site, []).extend(heads)
    return heads_by_site


def _row_edits(
    weights: Mapping[tuple[str, int], Sequence[float]],
    layers: SitesByRole,
    count: Mapping[str, int],
) -> Iterator[RowEdit]:
    for (name, query), row in weights.items():
        site, heads = _named_site(name, layers, count)
        for head in heads:
            yield RowEdit(site, query, tuple(row), head)


def _named_site(
    name: str, layers: SitesByRole, count: Mapping[str, int]
) -> tuple[str, Sequence[int]]:
    """The path of the attention module, and its heads, that a name stands for."""
    read = NAME.fullmatch(name.strip())
    if read is None:
        raise _unknown_head(name, layers, count)
    kind, layer, head = read[1], int(read[2]) - 1, read[3]
    kinds = sorted({part for part, _ in layers})
    if kind is None and len(kinds) > 1:
        raise ModelError(
            "the name of a head needs its attention kind in this model.",
            expected=" or ".join(f"{each} {name.strip()}" for each in kinds),
            got=name,
        )
    site = layers.get((kind or kinds[0], layer))
    if site is None or (head is not None and int(head) > count[site]):
        raise _unknown_head(name, layers, count)
    return site, range(count[site]) if head is None else [int(head) - 1]


def _unknown_head(name: str, layers: SitesByRole, count: Mapping[str, int]) -> ModelError:
    """The error that lists every layer's heads: "cross 2.1 to 2.8"."""
    spans = []
    for (part, layer), site in sorted(layers.items()):
        first, last = f"{part} {layer + 1}.1", f"{layer + 1}.{count[site]}"
        spans.append(first if count[site] == 1 else f"{first} to {last}")
    return ModelError(
        "the model has no such head.",
        expected=f"the attention kind, the layer and the head, from 1: {', '.join(spans)}",
        got=name,
        do="jumok heads and the page list the heads by these names",
    )
