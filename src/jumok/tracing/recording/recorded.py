"""Traces from what a recorder collected: one a sentence, and a tree if there was a search."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch

from jumok.data.tokenizer import END
from jumok.decoding import Hypothesis
from jumok.inspection.findings import SearchTree, TraceFindings
from jumok.inspection.hooks.recording import Pass, Tree
from jumok.inspection.page.picture import TracePicture
from jumok.inspection.search_tree import Map, SearchTreeBuilder
from jumok.inspection.trace import Array, Axis, Level, Site, Step, Trace
from jumok.tracing.axes import steps_of, text_axis
from jumok.tracing.recording.recorded_sites import (
    About,
    Nodes,
    TreeTokens,
    decoder_site,
    encoder_sites,
)


def traces_of(about: About, heard: Pass, level: Level) -> Iterator[Trace]:
    """A trace for each sentence of a pass, and for each hypothesis that a search returned."""
    if not about.target:
        rows = 0 if heard.source is None else len(heard.source)
        for row in range(rows):
            yield replace(_read(about, heard, row, level), index=heard.numbers[row])
    for row, tree in enumerate(heard.trees):
        if not tree.tokens:
            continue
        source = _source(about, heard, row)
        found = heard.found[row] if row < len(heard.found) else ()
        ends = [tree.find(each.tokens) for each in found] or tree.leaves
        traces = []
        for place, end in enumerate(ends):
            trace = _written(about, heard, tree, source, tree.path(end), level)
            if about.ends and place < len(found) and found[place].finished:
                trace = replace(trace, steps=trace.steps + _steps(about, heard, tree, [(end, END)]))
            traces.append(replace(trace, index=heard.numbers[row]))
        if len(tree.leaves) > 1:
            nodes = range(len(tree.tokens))
            whole = _written(about, heard, tree, source, nodes, level)
            search = _search(about, tree, whole, found)
            findings = replace(traces[0].findings, search=search)
            traces[0] = replace(traces[0], tree=whole, findings=findings)
        yield from traces


class Source(NamedTuple):
    """The input: the same for every output that was written for it."""

    axes: dict[str, Axis]
    sites: tuple[Site, ...]
    streams: dict[str, Array]
    picture: TracePicture | None


def _source(about: About, heard: Pass, row: int) -> Source:
    axes = about.source(heard, row)
    sites = tuple(encoder_sites(about, heard, row, axes))
    return Source(axes, sites, _encoder_streams(heard, row, axes), _picture(heard, row))


def _read(about: About, heard: Pass, row: int, level: Level) -> Trace:
    """The trace of a model that writes nothing: an encoder, or a classifier."""
    axes, sites, streams, picture = _source(about, heard, row)
    steps: tuple[Step, ...] = ()
    if about.labels and heard.reading.logits is not None:
        values = heard.reading.logits[row : row + 1].float().log_softmax(dim=1)
        said = [int(values.argmax())]
        steps = steps_of(lambda numbers: [about.labels[each] for each in numbers], said, values)
    return Trace(
        model=about.name,
        fingerprint=about.fingerprint,
        changes=heard.changes,
        task=about.task,
        level=level,
        text=" ".join(axes["text"].texts) if "text" in axes else "",
        output=steps[0].token if steps else "",
        axes=axes,
        sites=sites,
        steps=steps,
        streams=streams,
        picture=picture,
    )


def _written(
    about: About, heard: Pass, tree: Tree, source: Source, nodes: Nodes, level: Level
) -> Trace:
    """The trace of one hypothesis, or of the whole tree."""
    known = {node: place for place, node in enumerate(nodes)}
    parents = tuple(known.get(tree.parents[node], -1) for node in nodes)
    tokens = [tree.tokens[node] for node in nodes[1:]]
    named = text_axis(about.names, tokens, before=tree.tokens[:1])
    chain = parents == tuple(range(-1, len(nodes) - 1))
    target = named if chain else Axis(named.tokens, named.words, named.texts, None, parents)
    axes = {**source.axes, about.target: target}
    streams = dict(source.streams)
    first = heard.calls[tree.places[0].call]
    for site, (look, *_) in first.looks.items():
        keys = about.builder.place(site).keys
        if keys not in axes:  # read before the block, so its tokens are not known
            names = tuple(map(str, range(1, look.weights.shape[3] + 1)))
            axes[keys] = Axis(names, tuple(range(len(names))), names)
    if "decoder" in first.streams:
        streams["decoder"] = np.stack([_streams_at(heard, tree, each) for each in nodes], axis=1)
    own_rows = about.target != "target"
    written = TreeTokens.of(tree, nodes, parents)
    return Trace(
        model=about.name,
        fingerprint=about.fingerprint,
        changes=heard.changes,
        task=about.task,
        level=level,
        text=" ".join(axes["source"].texts) if "source" in axes else "",
        output=about.names.decode(tokens),
        axes=axes,
        sites=(
            *source.sites,
            *(decoder_site(about, heard, tree, written, site, axes) for site in first.looks),
        ),
        steps=_steps(about, heard, tree, [(tree.parents[n], tree.tokens[n]) for n in nodes[1:]]),
        findings=TraceFindings(written=tuple(tokens), setting=about.reading, own_rows=own_rows),
        streams=streams,
        picture=source.picture,
    )


def _picture(heard: Pass, row: int) -> TracePicture | None:
    """The pixels of the input, if it has pixels."""
    if heard.source is None or heard.source.dtype is not torch.uint8:
        return None
    pixels = heard.source[row].permute(1, 2, 0)  # (colours height width) -> (height width colours)
    return TracePicture.of(pixels.contiguous().cpu().numpy())


def _encoder_streams(heard: Pass, row: int, axes: dict[str, Axis]) -> dict[str, Array]:
    lengths = [len(axis.tokens) for name, axis in axes.items() if name in ("source", "text")]
    return {
        stack: torch.stack([layers[layer][row, : lengths[0]] for layer in sorted(layers)])
        .float()
        .cpu()
        .numpy()
        for stack, layers in heard.reading.streams.items()
    }


def _streams_at(heard: Pass, tree: Tree, node: int) -> Array:
    """The vectors of one token, (layers + 1, dim)."""
    call, row, column, _ = tree.places[node]
    layers = heard.calls[call].streams["decoder"]
    found: Array = (
        torch.stack([layers[layer][row, column] for layer in sorted(layers)]).float().cpu().numpy()
    )
    return found


def _steps(
    about: About, heard: Pass, tree: Tree, chosen: Sequence[tuple[int, int]]
) -> tuple[Step, ...]:
    """The model's predictions at the steps that chose these (token before, token)."""
    steps: list[Step] = []
    for before, token in chosen:
        place, row, column, _ = tree.places[before]
        call = heard.calls[place]
        if call.logits is None:
            return ()  # only the states were computed, and no logits
        values, ids = call.best
        named = about.names.pieces([token, *ids[row][column]])
        gate = None
        if call.gates:
            gate = float(call.gates[column if len(call.gates) > 1 else 0][row, 0])
        best = tuple(zip(named[1:], values[row][column], strict=True))
        value = float(call.log_probabilities[row, column, token])
        steps.append(Step(named[0], value, best, gate))
    return tuple(steps)


def _search(
    about: About, tree: Tree, whole: Trace, found: Sequence[Hypothesis]
) -> SearchTree | None:
    """The tree of the tokens that were in the beam, and of what ended there.

    None: only the states were computed, and no logits. Each leaf has the attention of its tokens,
    by the alignment setting.
    """
    values = [0.0, *(step.log_probability for step in whole.steps)]
    if len(values) < len(tree.tokens):
        return None
    built = SearchTreeBuilder()
    ends = list(range(len(tree.tokens)))  # the last token of each node, which END is not
    for token in ends[1:]:  # START is no node
        built.add(tree.parents[token] - 1, tree.tokens[token], values[token], "kept")
    for each in found:
        end = tree.find(each.tokens)
        if each.finished:
            built.add(end - 1, END, each.token_log_probabilities[-1], "finished")
            ends.append(end)
    attended = _map_of(about, whole)
    paths = [tree.path(ends[leaf + 1]) for leaf in built.leaves()]
    return built.tree(about.names.pieces, [_rows_of(about, attended, path) for path in paths])


def _map_of(about: About, whole: Trace) -> Array | None:
    """The attention map of a tree's tokens by the alignment setting; None: mean of the heads."""
    sites = [site for site in whole.sites if site.part == "cross"]
    if about.reading is None or not sites:
        return None
    found: Array = sites[min(about.reading.layer, len(sites) - 1)].weights.mean(0)
    return found


def _rows_of(about: About, attended: Array | None, path: Sequence[int]) -> Map | None:
    """The rows of the attention map for the tokens of one hypothesis."""
    if about.reading is None or attended is None:
        return None
    return attended[path[1:] if about.reading.at_input else path[:-1]].astype(np.float64)
