"""Traces from a recorder: one a sentence, and a tree if there was a search."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import torch

from jumok.alignment.norms import batched_contribution_norms, output_weight
from jumok.data.tokenizer import END
from jumok.decoding import Hypothesis
from jumok.inspection.findings import Numbers, SearchTree, TraceFindings
from jumok.inspection.hooks.recording import Activations, Fact, RecordedPass, TokenTree
from jumok.inspection.page.picture import TracePicture
from jumok.inspection.sites import SiteBuilder, numpy_of
from jumok.inspection.trace import Array, Axis, Level, Mask, Site, Step, Trace
from jumok.tracing.adapters import ModelAdapter, steps_of, text_axis
from jumok.tracing.search_tree import SearchTreeBuilder

Nodes = Sequence[int]
"""Tokens of a tree by their indices: a hypothesis, or all; a parent before its children."""

Places = npt.NDArray[np.int64]
NodeArray = TypeVar("NodeArray", Array, Mask)


class TreeTokens(NamedTuple):
    """Tokens of a tree that are processed together.

    Attributes:
        paths: (tokens deepest): for each token its hypothesis, as indices among the tokens; padded
            with their number.
        seen: (tokens tokens), the same as a mask: the keys of each query; None: all of them.
        lines: the index of each in `RecordedPass.lines`.
    """

    nodes: Nodes
    paths: Places
    seen: Mask | None
    lines: Sequence[int]

    @classmethod
    def of(cls, tree: TokenTree, nodes: Nodes, parents: Sequence[int]) -> "TreeTokens":
        """`parents`: for each token the index of the one before it, -1 for the first."""
        paths = _paths(parents)
        (seen,) = _at_their_keys(np.ones((1, *paths.shape), dtype=np.bool_), paths)
        lines = [tree.places[node].line for node in nodes]
        return cls(nodes, paths, None if seen.all() else seen, lines)

    def within(self, window: int | None) -> Mask | None:
        """`seen` inside of a window: the last tokens of each hypothesis."""
        if window is None:
            return self.seen
        depths = (self.paths < len(self.paths)).sum(1)
        near = np.arange(self.paths.shape[1]) >= depths[:, None] - window
        (seen,) = _at_their_keys(near[None], self.paths)
        return None if seen.all() else seen


def _paths(parents: Sequence[int]) -> Places:
    """For each token its hypothesis: the keys it may attend to, itself the last of them."""
    depths: list[int] = []
    for parent in parents:
        depths.append(depths[parent] + 1 if parent >= 0 else 0)
    paths = np.full((len(parents), max(depths) + 1), len(parents))
    for place, (parent, depth) in enumerate(zip(parents, depths, strict=True)):
        if depth:
            paths[place] = paths[parent]
        paths[place, depth] = place
    return paths


def _at_their_keys(numbers: NodeArray, paths: Places) -> NodeArray:
    """(heads tokens deepest) -> (heads tokens tokens): each row's numbers at the row's own keys.

    The numbers of a token are 0 at keys that it may not attend to.
    """
    heads, tokens, _ = numbers.shape
    room = np.zeros((heads, tokens, tokens + 1), dtype=numbers.dtype)
    room[:, np.arange(tokens)[:, None], paths] = numbers[:, :, : paths.shape[1]]
    return np.ascontiguousarray(room[:, :, :tokens])  # the last column received the padding


def tree_site(
    builder: SiteBuilder,
    recorded: RecordedPass,
    tree: TokenTree,
    tokens: TreeTokens,
    site: str,
    keys: int,
) -> Site:
    """The rows of these tokens. Keys that a token may not attend to have no weight."""
    own = builder.place(site).part == "decoder"
    place = tree.places[tokens.nodes[-1]]
    last = recorded.decoder[place.call].attention[site][-1]

    def of_tokens(fact: Fact) -> Array:
        """(heads tokens width)"""
        return recorded.lines(site, fact)[tokens.lines].transpose(1, 0, 2)

    def of_keys(fact: Fact) -> Array:
        """(heads tokens keys)"""
        numbers = of_tokens(fact)
        return _at_their_keys(numbers, tokens.paths) if own else numbers[:, :, :keys].copy()

    vectors = None
    if last.vectors is not None:
        if own:
            key, value = of_tokens("key"), of_tokens("value")
        else:
            key, value = (numpy_of(each[place.row, :, :keys]) for each in last.vectors[1:])
        vectors = of_tokens("query"), key, value
    allowed = tokens.within(builder.window(site)) if own else None
    bias = None if last.bias is None else of_keys("bias")
    scores = None if last.scores is None else of_keys("scores")
    return builder.site(site, last, of_keys("weights"), vectors, bias, allowed, scores)


def traces_of(adapter: ModelAdapter, recorded: RecordedPass, level: Level) -> Iterator[Trace]:
    """A trace for each sentence of a pass, and for each hypothesis that a search returned."""
    if recorded.copied is not None:
        number = vars(recorded.numbers[0])
        trace = trace_of_copy(adapter, recorded.copied, level)
        yield replace(trace, changes=recorded.changes, **number)
    if not adapter.target:
        rows = 0 if recorded.source is None else len(recorded.source)
        for row in range(rows):
            trace = trace_of_row(adapter, recorded, level, row)
            number = vars(recorded.numbers[row])
            yield replace(trace, **number, **_label(adapter, recorded, row))
    for row, tree in enumerate(recorded.trees):
        if not tree.tokens:
            continue
        source = _source(adapter, recorded, row)
        hypotheses = recorded.hypotheses[row] if row < len(recorded.hypotheses) else ()
        ends = [tree.find(each.tokens) for each in hypotheses] or tree.leaves
        traces = []
        for place, end in enumerate(ends):
            nodes = tree.path(end)
            trace = _hypothesis_trace(adapter, recorded, tree, source, nodes, level)
            chosen = _choices(tree, nodes)
            if adapter.ends and place < len(hypotheses) and hypotheses[place].finished:
                chosen.append((end, END))
            steps = _steps(adapter, recorded, tree, chosen)
            number = vars(recorded.numbers[row])
            if recorded.texts:
                text, outputs = recorded.texts[row]
                trace = replace(trace, text=text, output=outputs[place])
            traces.append(replace(trace, steps=steps, **number))
        if len(tree.leaves) > 1:
            every = range(len(tree.tokens))
            whole = _hypothesis_trace(adapter, recorded, tree, source, every, level)
            steps = _steps(adapter, recorded, tree, _choices(tree, every))
            whole = replace(whole, steps=steps)
            search = _search(adapter, tree, whole, hypotheses)
            findings = replace(traces[0].findings, search=search)
            traces[0] = replace(traces[0], tree=whole, findings=findings)
        yield from traces


def trace_of_copy(adapter: ModelAdapter, text: str, level: Level) -> Trace:
    """The trace of a text in which there is nothing to read."""
    return Trace(
        adapter.name, level, text, text, {}, (), task=adapter.task, fingerprint=adapter.fingerprint
    )


def trace_of_row(
    adapter: ModelAdapter, recorded: RecordedPass, level: Level, row: int = 0
) -> Trace:
    """The trace, without steps, of one input and what one parallel pass wrote for it."""
    source = _source(adapter, recorded, row)
    if adapter.target:
        tree = recorded.trees[row]
        return _hypothesis_trace(adapter, recorded, tree, source, range(len(tree.tokens)), level)
    return Trace(
        model=adapter.name,
        fingerprint=adapter.fingerprint,
        changes=recorded.changes,
        task=adapter.task,
        level=level,
        text=" ".join(source.axes["text"].texts) if "text" in source.axes else "",
        output="",
        **source._asdict(),
    )


class RecordedSource(NamedTuple):
    """The input: the same for every output that was written for it."""

    axes: dict[str, Axis]
    sites: tuple[Site, ...]
    streams: dict[str, Array]
    picture: TracePicture | None


def _source(adapter: ModelAdapter, recorded: RecordedPass, row: int) -> RecordedSource:
    axes, builder = adapter.source(recorded, row), adapter.builder(recorded)
    sites = _whole_sites(builder, recorded.encoder, row, axes)
    length = next((len(axis.tokens) for axis in axes.values()), 0)
    streams = recorded.encoder.streams_of(row, length)
    return RecordedSource(axes, sites, streams, _input_image(recorded, row))


def _whole_sites(
    builder: SiteBuilder, read: Activations, row: int, axes: Mapping[str, Axis]
) -> tuple[Site, ...]:
    sites = []
    for name, calls in read.attention.items():
        place = builder.place(name)
        queries, keys = (len(axes[end].tokens) for end in (place.queries, place.keys))
        sites.append(builder.whole(name, calls, row, queries, keys))
    return tuple(sites)


def _label(adapter: ModelAdapter, recorded: RecordedPass, row: int) -> dict[str, Any]:
    if not adapter.labels or recorded.encoder.logits is None:
        return {}
    values = recorded.encoder.logits[row : row + 1].float().log_softmax(dim=1)
    steps = steps_of(adapter.choices, [int(values.argmax())], values)
    return {"output": steps[0].token, "steps": steps}


def _hypothesis_trace(
    adapter: ModelAdapter,
    recorded: RecordedPass,
    tree: TokenTree,
    source: RecordedSource,
    nodes: Nodes,
    level: Level,
) -> Trace:
    """The trace of one hypothesis, or of the whole tree, without steps."""
    known = {node: place for place, node in enumerate(nodes)}
    parents = tuple(known.get(tree.parents[node], -1) for node in nodes)
    tokens = [tree.tokens[node] for node in nodes[1:]]
    named = text_axis(adapter.names, tokens, before=tree.tokens[:1])
    chain = parents == tuple(range(-1, len(nodes) - 1))
    target = named if chain else Axis(named.tokens, named.words, named.texts, None, parents)
    axes = {**source.axes, adapter.target: target}
    builder, place = adapter.builder(recorded), tree.places[0]
    first = recorded.decoder[place.call]
    for site, (call, *_) in first.attention.items():
        keys = builder.place(site).keys
        if keys not in axes:  # read before the block, so its tokens are not known
            names = tuple(map(str, range(1, call.weights.shape[3] + 1)))
            axes[keys] = Axis(names, tuple(range(len(names))), names)
    if len(recorded.decoder) == 1:
        sites = _whole_sites(builder, first, place.row, axes)
        streams = first.streams_of(place.row, len(nodes))
    else:
        written = TreeTokens.of(tree, nodes, parents)
        sites = tuple(
            tree_site(
                builder, recorded, tree, written, site, len(axes[builder.place(site).keys].tokens)
            )
            for site in first.attention
        )
        streams = _tree_streams(recorded, tree, nodes)
    return Trace(
        model=adapter.name,
        fingerprint=adapter.fingerprint,
        changes=recorded.changes,
        task=adapter.task,
        level=level,
        text=" ".join(axes["source"].texts) if "source" in axes else "",
        output=adapter.names.decode(tokens),
        axes=axes,
        sites=(*source.sites, *sites),
        findings=TraceFindings(
            written=tuple(tokens), setting=adapter.setting, own_rows=adapter.target != "target"
        ),
        streams={**source.streams, **streams},
        picture=source.picture,
    )


def _choices(tree: TokenTree, nodes: Nodes) -> list[tuple[int, int]]:
    """The token before, and the token itself, for each node but the first."""
    return [(tree.parents[node], tree.tokens[node]) for node in nodes[1:]]


def _input_image(recorded: RecordedPass, row: int) -> TracePicture | None:
    """The pixels of the input, if it has pixels."""
    if recorded.source is None or recorded.source.dtype is not torch.uint8:
        return None
    pixels = recorded.source[row].permute(1, 2, 0)  # -> (height width colours)
    return TracePicture.of(pixels.contiguous().cpu().numpy())


def _tree_streams(recorded: RecordedPass, tree: TokenTree, nodes: Nodes) -> dict[str, Array]:
    """The vectors of these tokens, (layers + 1, tokens, dim) by stack."""
    stacks: dict[str, list[Array]] = {}
    for place in (tree.places[node] for node in nodes):
        for stack, layers in recorded.decoder[place.call].streams.items():
            of_token = [layers[layer][place.row, place.column] for layer in sorted(layers)]
            stacks.setdefault(stack, []).append(numpy_of(torch.stack(of_token)))
    return {stack: np.stack(vectors, axis=1) for stack, vectors in stacks.items()}


def _steps(
    adapter: ModelAdapter,
    recorded: RecordedPass,
    tree: TokenTree,
    chosen: Sequence[tuple[int, int]],
) -> tuple[Step, ...]:
    """The model's predictions at the steps that chose these (token before, token)."""
    steps: list[Step] = []
    for before, token in chosen:
        place, row, column, _ = tree.places[before]
        call = recorded.decoder[place]
        if call.logits is None:
            return ()  # only the states were computed, and no logits
        values, ids = call.best
        named = adapter.names.pieces([token, *ids[row][column]])
        gate = None
        if call.gates:
            gate = float(call.gates[column if len(call.gates) > 1 else 0][row, 0])
        best = tuple(zip(named[1:], values[row][column], strict=True))
        value = float(call.log_probabilities[row, column, token])
        steps.append(Step(named[0], value, best, gate, tuple(ids[row][column])))
    return tuple(steps)


def _search(
    adapter: ModelAdapter, tree: TokenTree, whole: Trace, hypotheses: Sequence[Hypothesis]
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
    for each in hypotheses:
        end = tree.find(each.tokens)
        if each.finished:
            built.add(end - 1, END, each.token_log_probabilities[-1], "finished")
            ends.append(end)
    attended = _map_of(adapter, whole)
    paths = [tree.path(ends[leaf + 1]) for leaf in built.leaves()]
    return built.tree(adapter.names.pieces, [_path_rows(adapter, attended, path) for path in paths])


def _map_of(adapter: ModelAdapter, whole: Trace) -> Array | None:
    """The attention map of a tree's tokens by the alignment setting; None: there is no setting.

    Norms need the vectors: at level "weights" the map is of weights.
    """
    setting = adapter.setting
    sites = [site for site in whole.sites if site.part == "cross"]
    if setting is None or not sites:
        return None
    site, head = sites[min(setting.layer, len(sites) - 1)], setting.head
    if not setting.norms or site.value is None:
        chosen: Array = site.weights.mean(0) if head is None else site.weights[head]
        return chosen
    output = output_weight(adapter.model, site.name)
    together, apart = batched_contribution_norms(
        torch.from_numpy(site.weights)[None],
        torch.from_numpy(site.value)[None],
        None if output is None else output.cpu(),
    )
    return numpy_of(together[0] if head is None else apart[0, head])


def _path_rows(
    adapter: ModelAdapter, attended: Array | None, path: Sequence[int]
) -> Numbers | None:
    if adapter.setting is None or attended is None:
        return None
    return attended[path[1:] if adapter.setting.at_input else path[:-1]].astype(np.float64)
