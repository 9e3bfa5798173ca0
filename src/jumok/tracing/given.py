"""`jumok.trace_of`: attention weights from anywhere, as a trace for page, figures and tables."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from jumok.attention.role import Part
from jumok.errors import ModelError
from jumok.inspection.findings import TraceFindings
from jumok.inspection.sites import numpy_of
from jumok.inspection.trace import Array, Axis, Mask, Site, Trace
from jumok.shapes import Tensor

GivenLayer = npt.NDArray[np.floating] | Tensor
"""The weights of one layer: (heads query key), or (1 heads query key) for a batch of one."""

GivenLayers = GivenLayer | Sequence[GivenLayer | None]
"""The layers in their order, as a list or as one array; None is a layer without attention."""

GIVEN = "given"
"""The kind of such attention modules: how the weights were computed is not known."""

SITES: Mapping[Part, str] = {
    "encoder": "encoder.blocks.{}.self_attention",
    "decoder": "decoder.blocks.{}.self_attention",
    "cross": "decoder.blocks.{}.cross_attention",
    "image": "reader.blocks.{}.self_attention",
}
"""The paths of a layer's modules in jumok's own models."""

TOLERANCE = 1e-2
"""The largest difference of a row's sum from 1: half-precision weights add up to 0.99 or so."""


def trace_of(
    attentions: GivenLayers | Mapping[Part, GivenLayers],
    tokens: Sequence[str] | Axis,
    key_tokens: Sequence[str] | Axis | None = None,
    *,
    allowed: Mask | Tensor | Mapping[Part, Mask | Tensor] | None = None,
    tolerance: float | None = TOLERANCE,
    name: str = "model",
) -> Trace:
    """A trace of attention weights from any program.

        trace = jumok.trace_of(weights, ["the", "cat", "sat"])   # (layers heads query key)
        jumok.page(trace).save("page.html")

    Args:
        attentions: weights after the softmax and before dropout: (layers heads query key), or a
            list of layers (heads query key), each with an optional leading batch axis of 1; or a
            mapping from the attention kinds "encoder", "decoder", "cross" and "image" to these.
            A single array is cross-attention if there are key tokens, otherwise self-attention:
            of a decoder if no query attends to a later key, of an encoder if one does.
        tokens: the tokens of the queries; for a lone encoder, its own tokens. An `Axis` also groups
            them to words, or arranges them as the cells of an image.
        key_tokens: the source tokens, to which cross-attention attends; None: no cross-attention.
        allowed: (query key), True where the mask permits attention; None: everywhere, except that
            the later keys of a decoder are masked if they have no weight.
        tolerance: the permitted difference of the sum of a row from 1, unless the row is all 0;
            None: rows need not sum to 1.

    Raises:
        ModelError: the shapes do not fit the tokens, or the arrays are not attention weights.
    """
    queries = _axis(tokens)
    keys = None if key_tokens is None else _axis(key_tokens)
    source = "picture" if (keys or queries).grid is not None else "source"
    own = "text" if source == "source" else source
    axes = {own: queries} if keys is None else {source: keys, "target": queries}
    parts = _by_part(attentions, keys is not None)
    masks = allowed if isinstance(allowed, Mapping) else dict.fromkeys(parts, allowed)
    sites: list[Site] = []
    for part, layers in parts.items():
        ends = (own, own) if keys is None else _axis_names(part, source)
        sites += given_sites(
            part, layers_of(layers), axes, ends, _as_mask(masks.get(part)), tolerance
        )
    return Trace(
        model=name,
        task=_task(axes, parts),
        level="weights",
        text=" ".join((keys or queries).texts) if source == "source" else source,
        output="" if keys is None else " ".join(queries.texts),
        axes=axes,
        sites=tuple(sites),
        # A row belongs to its own token: whether a later step writes it is not known.
        findings=TraceFindings(own_rows=True),
    )


def given_sites(
    part: Part,
    layers: Mapping[int, Array],
    axes: Mapping[str, Axis],
    ends: tuple[str, str],
    allowed: Mask | None = None,
    tolerance: float | None = TOLERANCE,
) -> list[Site]:
    """The attention modules of one kind, checked.

    Args:
        layers: weights (heads query key) by the layer's number.
        ends: the names of the axes of the queries and of the keys.

    Raises:
        ModelError: the shapes do not fit the tokens, or these are not attention weights.
    """
    wanted = len(axes[ends[0]].tokens), len(axes[ends[1]].tokens)
    sites = []
    for layer, weights in layers.items():
        if weights.ndim != 3 or weights.shape[1:] != wanted or not weights.size:
            raise ModelError(
                f"the {part} attention of layer {layer + 1} does not fit the tokens.",
                expected=f"heads x {wanted[0]} queries x {wanted[1]} keys",
                got=" x ".join(map(str, weights.shape)),
            )
        _check_rows(weights, f"{part} attention, layer {layer + 1}", tolerance)
        mask = allowed
        if mask is None and part == "decoder" and looks_back(weights):
            mask = np.tril(np.ones(wanted, dtype=np.bool_))
        if mask is not None and mask.shape != wanted:
            raise ModelError(
                f"the mask of the {part} attention does not fit the tokens.",
                expected=f"{wanted[0]} queries x {wanted[1]} keys",
                got=" x ".join(map(str, mask.shape)),
            )
        path = SITES[part].format(layer)
        sites.append(Site(path, GIVEN, part, layer, *ends, weights=weights, allowed=mask))
    return sites


def layers_of(attentions: GivenLayers) -> dict[int, Array]:
    """The layers (heads query key) by their numbers.

    Raises:
        ModelError: a batch of several examples.
    """
    if isinstance(attentions, np.ndarray | Tensor) and attentions.ndim == 3:
        attentions = [attentions]  # one layer
    layers = {}
    for layer, attention in enumerate(attentions):
        if attention is None:
            continue
        weights = (
            numpy_of(attention)
            if isinstance(attention, Tensor)
            else np.asarray(attention, np.float32)
        )
        if weights.ndim == 4:
            if len(weights) != 1:
                raise ModelError(
                    "a trace is of one example, and these are attention weights of a batch.",
                    expected="layers x heads x queries x keys",
                    got=f"{' x '.join(map(str, weights.shape))} in layer {layer + 1}",
                    do="give the weights of one example: [layer[0] for layer in attentions]",
                )
            weights = weights[0]
        layers[layer] = weights
    if not layers:
        raise ModelError("there are no attention weights.", expected="a layer or more")
    return layers


def looks_back(weights: Array) -> bool:
    """Whether no query attends to a later key; not for a single token, which shows nothing."""
    return weights.shape[-1] == weights.shape[-2] > 1 and not np.triu(weights, 1).any()


def _by_part(
    attentions: GivenLayers | Mapping[Part, GivenLayers], has_keys: bool
) -> Mapping[Part, GivenLayers]:
    """The layers by their attention kind, which is found if it is not given."""
    if not isinstance(attentions, Mapping):
        if has_keys:
            return {"cross": attentions}
        layers = layers_of(attentions).values()
        backwards = all(weights.ndim == 3 and looks_back(weights) for weights in layers)
        return {"decoder" if backwards else "encoder": attentions}
    if "cross" in attentions and not has_keys:
        raise ModelError("cross-attention needs the tokens of its keys.", do="give key_tokens")
    return attentions


def _axis_names(part: Part, source: str) -> tuple[str, str]:
    queries = "target" if part in ("cross", "decoder") else source
    return queries, "target" if part == "decoder" else source


def _axis(tokens: Sequence[str] | Axis) -> Axis:
    """The tokens; each is a word of its own unless an Axis is given."""
    if isinstance(tokens, Axis):
        return tokens
    if isinstance(tokens, str) or not tokens:
        raise ModelError(
            "the tokens are not a list of words.",
            expected='a list such as ["the", "cat"], with one token or more',
            got=repr(tokens),
        )
    # Half a character, as tokens of bytes may be, cannot be written to a file.
    known = tuple(token.encode("utf-8", "replace").decode() for token in tokens)
    return Axis(known, tuple(range(len(known))), known)


def _as_mask(allowed: Mask | Tensor | None) -> Mask | None:
    if allowed is None:
        return None
    mask: Mask = np.asarray(allowed.cpu() if isinstance(allowed, Tensor) else allowed, np.bool_)
    return mask


def _task(axes: Mapping[str, Axis], parts: Mapping[Part, object]) -> str:
    if "target" in axes:
        return "captioning" if "picture" in axes else "translation"
    if "picture" in axes:
        return "image-classification"
    return "language-model" if "decoder" in parts else "masked-lm"


def _check_rows(weights: Array, named: str, tolerance: float | None) -> None:
    if not np.isfinite(weights).all() or weights.min() < 0:
        raise ModelError(
            "these are not attention weights: some are negative or not finite.",
            expected="weights after the softmax, from 0 to 1",
            got=f"{named}: from {weights.min():g} to {weights.max():g}",
        )
    if tolerance is None:
        return
    sums = weights.sum(axis=2)
    wrong = np.argwhere((np.abs(sums - 1) > tolerance) & (sums != 0))
    if len(wrong):
        head, row = map(int, wrong[0])
        raise ModelError(
            "these are not attention weights: a row does not sum to 1.",
            expected=f"1, or 0 where all is masked, within {tolerance:g}",
            got=f"{sums[head, row]:.4g} in {named}, head {head + 1}, row {row + 1}",
            do="give weights after the softmax and before dropout; tolerance=None takes any",
        )
