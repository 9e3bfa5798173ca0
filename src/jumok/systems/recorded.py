"""What a recorder heard, put together as traces: one a sentence, and a tree where it searched."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import torch
from torch import nn

from jumok.data.tokenizer import END
from jumok.decoding import Hypothesis
from jumok.inspection.alignment import Reading
from jumok.inspection.capture import (
    Edge,
    Edges,
    contribution_norms,
    layer_of,
    numpy_of,
    output_weight,
    residual_gate_of,
)
from jumok.inspection.picture import Picture
from jumok.inspection.recording import Call, Look, Pass, Tree
from jumok.inspection.trace import Array, Axis, Level, Mask, Site, Step, Trace
from jumok.shapes import Tensor
from jumok.systems.tracing_parts import Names, steps_of, text_axis

Nodes = Sequence[int]
"""Tokens of a tree by their numbers: a hypothesis, or all of them; a parent before its children."""


@dataclass(frozen=True)
class About:
    """What a recorder cannot hear.

    Attributes:
        names: of tokens.
        edges: who looks at what.
        source: makes the axis of what is read, from a pass and its row; None: nothing is read.
        target: the name of the axis that is written; "" where nothing is.
        ends: whether END is a step.
        labels: of a classifier.
        reading: where alignments are read, for the map of each hypothesis.
        projections: the sites' output projections, each computed once.
        fingerprint: of the model.
    """

    model: nn.Module
    task: str
    name: str
    names: Names
    edges: Edges
    source: Callable[[Pass, int], dict[str, Axis]]
    target: str = ""
    ends: bool = False
    labels: Sequence[str] = ()
    reading: Reading | None = None
    projections: dict[str, Tensor | None] = field(default_factory=dict)
    fingerprint: str = ""


def traces_of(about: About, heard: Pass, level: Level) -> Iterator[Trace]:
    """A trace for each sentence of a pass, and for each hypothesis that a search gave."""
    if not about.target:
        rows = 0 if heard.source is None else len(heard.source)
        for row in range(rows):
            yield _read(about, heard, row, level)
    for row, tree in enumerate(heard.trees):
        if not tree.tokens:
            continue
        found = heard.found[row] if row < len(heard.found) else ()
        ends = [tree.find(each.tokens) for each in found] or tree.leaves
        traces = [_written(about, heard, row, tree.path(end), level) for end in ends]
        if about.ends:
            for trace, hypothesis, end in zip(traces, found, ends, strict=False):
                if hypothesis.finished:
                    trace.steps += _steps(about, heard, tree, [(end, END)])
        if len(tree.leaves) > 1:
            whole = _written(about, heard, row, range(len(tree.tokens)), level)
            traces[0].tree = whole
            traces[0].notes = {**traces[0].notes, "search": _search(about, tree, whole, found)}
        yield from traces


def _read(about: About, heard: Pass, row: int, level: Level) -> Trace:
    """Of a model that writes nothing: an encoder, or a classifier."""
    axes = about.source(heard, row)
    steps: tuple[Step, ...] = ()
    if about.labels and heard.reading.logits is not None:
        values = heard.reading.logits[row : row + 1].float().log_softmax(dim=1)
        said = [int(values.argmax())]
        steps = steps_of(lambda numbers: [about.labels[each] for each in numbers], said, values)
    return Trace(
        model=about.name,
        fingerprint=about.fingerprint,
        task=about.task,
        level=level,
        text=" ".join(axes["text"].texts) if "text" in axes else "",
        output=steps[0].token if steps else "",
        axes=axes,
        sites=tuple(_encoder_sites(about, heard, row, axes)),
        steps=steps,
        notes={"written": [], "search": {}, "without": {}},
        streams=_encoder_streams(heard, row, axes),
        picture=_picture(heard, row),
    )


def _written(about: About, heard: Pass, row: int, nodes: Nodes, level: Level) -> Trace:
    """The tokens of one hypothesis, or of the whole tree."""
    tree = heard.trees[row]
    known = {node: place for place, node in enumerate(nodes)}
    parents = tuple(known.get(tree.parents[node], -1) for node in nodes)
    tokens = [tree.tokens[node] for node in nodes[1:]]
    named = text_axis(about.names, tokens, before=tree.tokens[:1])
    chain = parents == tuple(range(-1, len(nodes) - 1))
    target = named if chain else Axis(named.tokens, named.words, named.texts, None, parents)
    axes = {**about.source(heard, row), about.target: target}
    streams = _encoder_streams(heard, row, axes)
    first = heard.calls[tree.places[0][0]]
    for site, (look, *_) in first.looks.items():
        keys = about.edges(site).keys
        if keys not in axes:  # read before the block: nobody heard what
            names = tuple(map(str, range(1, look.weights.shape[3] + 1)))
            axes[keys] = Axis(names, tuple(range(len(names))), names)
    if "decoder" in first.streams:
        streams["decoder"] = np.stack([_streams_at(heard, tree, each) for each in nodes], axis=1)
    reading = {} if about.target == "target" else {"reading": {"at_input": True}}
    if about.reading is not None:
        reading = {"reading": asdict(about.reading)}
    return Trace(
        model=about.name,
        fingerprint=about.fingerprint,
        task=about.task,
        level=level,
        text=" ".join(axes["source"].texts) if "source" in axes else "",
        output=about.names.decode(tokens),
        axes=axes,
        sites=(
            *_encoder_sites(about, heard, row, axes),
            *(_decoder_site(about, heard, tree, nodes, site, axes) for site in first.looks),
        ),
        steps=_steps(about, heard, tree, [(tree.parents[n], tree.tokens[n]) for n in nodes[1:]]),
        notes={"written": tokens, "search": {}, "without": {}, **reading},
        streams=streams,
        picture=_picture(heard, row),
    )


def _picture(heard: Pass, row: int) -> Picture | None:
    """The pixels that were read, where these were pixels."""
    if heard.source is None or heard.source.dtype is not torch.uint8:
        return None
    pixels = heard.source[row].permute(1, 2, 0)  # (colours height width) -> (height width colours)
    return Picture.of(pixels.contiguous().cpu().numpy())


def _encoder_sites(about: About, heard: Pass, row: int, axes: dict[str, Axis]) -> Iterator[Site]:
    for site, (look, *_) in heard.reading.looks.items():
        edge = about.edges(site)
        length = len(axes[edge.keys].tokens)
        vectors = None
        if look.vectors is not None:
            vectors = [each[row, :, :length] for each in look.vectors]
        bias = None
        if look.bias is not None:
            shape = (look.weights.shape[1], length, length)
            bias = numpy_of(_row_of(look.bias, row)[:, :length, :length].expand(shape))
        weights = np.ascontiguousarray(look.numbers[row, :, :length, :length])
        yield _site(about, site, edge, look, weights, vectors, bias, None)


def _encoder_streams(heard: Pass, row: int, axes: dict[str, Axis]) -> dict[str, Array]:
    lengths = [len(axis.tokens) for name, axis in axes.items() if name in ("source", "text")]
    return {
        stack: torch.stack([layers[layer][row, : lengths[0]] for layer in sorted(layers)])
        .float()
        .cpu()
        .numpy()
        for stack, layers in heard.reading.streams.items()
    }


def _place(heard: Pass, tree: Tree, node: int) -> tuple[Call, int, int]:
    call, row, column = tree.places[node]
    return heard.calls[call], row, column


def _streams_at(heard: Pass, tree: Tree, node: int) -> Array:
    """(layers + 1, dim) of one token."""
    call, row, column = _place(heard, tree, node)
    layers = call.streams["decoder"]
    found: Array = (
        torch.stack([layers[layer][row, column] for layer in sorted(layers)]).float().cpu().numpy()
    )
    return found


def _look_at(heard: Pass, tree: Tree, node: int, site: str) -> tuple[Look, int, int]:
    """The look of one token, and its row and column in that: an RNN looks once a token."""
    call, row, column = _place(heard, tree, node)
    looks = call.looks[site]
    return (looks[column], row, 0) if len(looks) > 1 else (looks[0], row, column)


def _decoder_site(
    about: About, heard: Pass, tree: Tree, nodes: Nodes, site: str, axes: dict[str, Axis]
) -> Site:
    """The rows of these tokens. What a token did not see has no weight, and is not allowed."""
    edge = about.edges(site)
    own = edge.part == "decoder"
    keys = len(nodes) if own else len(axes[edge.keys].tokens)
    seen = _seen(tree, nodes) if own else [slice(keys)] * len(nodes)
    looks = [_look_at(heard, tree, node, site) for node in nodes]
    last, last_row, _ = looks[-1]
    weights = np.zeros((last.weights.shape[1], len(nodes), keys), dtype=np.float32)
    bias = None if last.bias is None else np.zeros_like(weights)
    for place, ((look, row, column), where) in enumerate(zip(looks, seen, strict=True)):
        length = where.stop if isinstance(where, slice) else len(where)
        weights[:, place, where] = look.numbers[row, :, column, :length]
        if bias is not None and look.bias is not None:
            bias[:, place, where] = numpy_of(_row_of(look.bias, row)[:, column, :length])
    vectors = None
    if last.vectors is not None:
        query = _vectors(looks, 0, [column for _, _, column in looks])
        if own:
            depths = [each.stop if isinstance(each, slice) else len(each) for each in seen]
            key, value = (_vectors(looks, which, [n - 1 for n in depths]) for which in (1, 2))
        else:
            key, value = (each[last_row, :, :keys] for each in last.vectors[1:])
        vectors = query, key, value
    allowed = _allowed(seen) if own else None
    return _site(about, site, edge, last, weights, vectors, bias, allowed)


Seen = slice | list[int]
"""Which keys a token might look at: the tokens before it, and itself."""


def _seen(tree: Tree, nodes: Nodes) -> list[Seen]:
    """For each token its hypothesis, as places among `nodes`."""
    known = {node: place for place, node in enumerate(nodes)}
    paths: dict[int, list[int]] = {}
    for node, place in known.items():
        paths[node] = [*paths.get(tree.parents[node], []), place]
    return [slice(len(path)) if path[-1] == len(path) - 1 else path for path in paths.values()]


def _allowed(seen: Sequence[Seen]) -> Mask | None:
    allowed = np.zeros((len(seen), len(seen)), dtype=np.bool_)
    for place, where in enumerate(seen):
        allowed[place, where] = True
    return None if allowed.all() else allowed


def _vectors(looks: Sequence[tuple[Look, int, int]], which: int, places: Sequence[int]) -> Tensor:
    """(heads tokens dim): of each look the query, key or value at its place."""
    found = []
    for (look, row, _), place in zip(looks, places, strict=True):
        assert look.vectors is not None
        found.append(look.vectors[which][row, :, place])
    return torch.stack(found, dim=1)


def _row_of(bias: Tensor, row: int) -> Tensor:
    """One sentence's bias, where all may share one."""
    return bias[row if len(bias) > 1 else 0]


def _site(
    about: About,
    name: str,
    edge: Edge,
    look: Look,
    weights: Array,
    vectors: Sequence[Tensor] | None,
    bias: Array | None,
    allowed: Mask | None,
) -> Site:
    arrays: dict[str, Array] = {}
    if vectors is not None:
        query, key, value = vectors
        if name not in about.projections:
            about.projections[name] = output_weight(about.model, name)
        norms = contribution_norms(
            torch.from_numpy(weights).to(value), value, about.projections[name]
        )
        arrays = {
            "query": numpy_of(query), "key": numpy_of(key), "value": numpy_of(value),
            "norms": numpy_of(norms),
        }  # fmt: skip
    return Site(
        name=name,
        kind=look.kind,
        part=edge.part,
        layer=layer_of(name),
        queries=edge.queries,
        keys=edge.keys,
        weights=weights,
        bias=bias,
        allowed=allowed,
        energy=None if look.energy is None else numpy_of(look.energy),
        scale=look.scale,
        residual_gate=residual_gate_of(about.model, name),
        **arrays,
    )


def _steps(
    about: About, heard: Pass, tree: Tree, chosen: Sequence[tuple[int, int]]
) -> tuple[Step, ...]:
    """What the model thought where these tokens were chosen: (the token before, the token)."""
    steps: list[Step] = []
    for before, token in chosen:
        call, row, column = _place(heard, tree, before)
        if call.logits is None:
            return ()  # somebody read the states, and never asked for all choices
        values, ids = call.best
        named = about.names.pieces([token, *ids[row][column]])
        gate = None
        if call.gates:
            gate = float(call.gates[column if len(call.gates) > 1 else 0][row, 0])
        best = tuple(zip(named[1:], values[row][column], strict=True))
        steps.append(Step(named[0], float(call.log_probabilities[row, column, token]), best, gate))
    return tuple(steps)


def _search(about: About, tree: Tree, whole: Trace, found: Sequence[Hypothesis]) -> dict[str, Any]:
    """The tree as the page draws it: what stood in the beam, and what ended there.

    Each leaf comes with the map of its tokens, where alignments are read.
    """
    logp = [0.0, *(step.log_probability for step in whole.steps)]
    if len(logp) < len(tree.tokens):
        return {}
    totals = [0.0] * len(tree.tokens)
    nodes: list[dict[str, Any]] = []
    pieces = about.names.pieces(tree.tokens)
    for node in range(1, len(tree.tokens)):
        totals[node] = totals[tree.parents[node]] + logp[node]
        nodes.append(_fact(tree.parents[node] - 1, tree.tokens[node], pieces[node], logp[node],
                           totals[node], "kept"))  # fmt: skip
    leaves = [(node - 1, tree.path(node)) for node in tree.leaves if node]
    for each in found:
        end = tree.find(each.tokens)
        if each.finished:
            value = each.token_log_probabilities[-1]
            (piece,) = about.names.pieces([END])
            leaves.append((len(nodes), tree.path(end)))
            nodes.append(_fact(end - 1, END, piece, value, totals[end] + value, "finished"))
    return {
        "nodes": nodes,
        "leaves": [{"node": node, "weights": _map_of(about, whole, path)} for node, path in leaves],
    }


def _fact(
    parent: int, token: int, piece: str, value: float, total: float, fate: str
) -> dict[str, Any]:
    return {
        "parent": parent, "token": token, "piece": piece, "log_probability": value,
        "total": total, "fate": fate,
    }  # fmt: skip


def _map_of(about: About, whole: Trace, path: Sequence[int]) -> list[list[float]]:
    """What the tokens of a hypothesis looked at: the mean of the heads, where it is read."""
    reading = about.reading
    sites = [site for site in whole.sites if site.part == "cross"]
    if reading is None or not sites:
        return []
    weights = sites[min(reading.layer, len(sites) - 1)].weights.mean(0)
    rows = path[1:] if reading.at_input else path[:-1]
    found: list[list[float]] = weights[rows].tolist()
    return found
