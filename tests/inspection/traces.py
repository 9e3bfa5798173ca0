"""Traces small enough to follow by hand, and hostile enough for a page."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from pydantic import TypeAdapter
from torch import nn

from jumok.alignment.setting import AlignmentSetting
from jumok.inspection.findings import Fate, SearchLeaf, SearchNode, SearchTree, TraceFindings
from jumok.inspection.hooks.listening import record_pass
from jumok.inspection.sites import SequencesOf, SiteBuilder
from jumok.inspection.trace import Axis, Site, Step, Trace

read_findings = TypeAdapter(TraceFindings).validate_python

HOSTILE = (
    "</script><script>window.ran = true</script>",
    '<img src=x onerror="window.ran = true">',
    "\"quotes\" 'and' `ticks`",
    "\u202eright to left",
    "ㅎㅏㄴ 👩\u200d👩\u200d👧",
)


def recorded_sites(
    model: nn.Module, run: Callable[[], Any], sequences: SequencesOf
) -> tuple[list[Site], Any]:
    """The sites of one parallel pass with their vectors, and its result."""
    recorded, result = record_pass(model, run, "qk")
    builder = SiteBuilder(model, sequences)
    reads = (recorded.encoder, *recorded.decoder)
    calls = {name: of_site for read in reads for name, of_site in read.attention.items()}
    return [builder.whole(name, of_site) for name, of_site in calls.items()], result


def softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return (powers / powers.sum(-1, keepdims=True)).astype(np.float32)


def axis(tokens: tuple[str, ...], start: bool, end: bool) -> Axis:
    inner = tuple(range(len(tokens)))
    return Axis(
        tokens=(*(["<s>"] if start else []), *tokens, *(["</s>"] if end else [])),
        words=(*([None] if start else []), *inner, *([None] if end else [])),
        texts=tokens,
    )


def node(
    parent: int, piece: str, logp: float, total: float, fate: Fate, token: int = 5
) -> SearchNode:
    return SearchNode(parent, token, piece, logp, total, fate)


def findings(sites: list[Site], heads: int, columns: int, written: list[str]) -> TraceFindings:
    """Two hypotheses: one ended, the other lost."""
    even = np.array([[0.1, 0.2, 0.3, 0.4, *[0.0] * columns][:columns]])
    nodes = (
        node(-1, "고양이가", -0.5, -0.5, "kept"),
        node(-1, "<b>", -1.5, -1.5, "kept"),
        node(0, "</s>", -0.5, -1.0, "finished"),
        node(1, "</s>", -2.5, -4.0, "lost"),
    )
    return TraceFindings(
        written=tuple(range(4, 3 + len(written))),
        search=SearchTree(nodes, (SearchLeaf(2, even[:, ::-1]), SearchLeaf(1, even))),
        setting=AlignmentSetting(0, at_input=False),
        ablation={site.name: np.full((heads, len(written)), -0.25) for site in sites},
    )


def found(recorded: Trace, **findings: Any) -> Trace:
    """The trace with some of its findings replaced."""
    return replace(recorded, findings=replace(recorded.findings, **findings))


def trace(
    source: tuple[str, ...] = ("a", "cat", "ran"),
    target: tuple[str, ...] = ("고양이가", "뛰었다"),
    layers: int = 2,
    heads: int = 3,
    dim: int = 5,
) -> Trace:
    """A trace whose weights are the softmax of its own vectors."""
    random = np.random.default_rng(7)
    axes = {"source": axis(source, False, True), "target": axis(target, True, False)}
    edges = {
        "encoder": ("source", "source"),
        "decoder": ("target", "target"),
        "cross": ("target", "source"),
    }
    sites = []
    for part, (queries, keys) in edges.items():
        for layer in range(layers):
            size = [len(axes[name].tokens) for name in (queries, keys, keys)]
            query, key, value = (
                random.normal(size=(heads, length, dim)).astype(np.float32) for length in size
            )
            scores = query @ key.transpose(0, 2, 1) / np.sqrt(dim)
            allowed = np.tri(*scores.shape[1:], dtype=bool) if part == "decoder" else None
            if allowed is not None:
                scores = np.where(allowed, scores, -np.inf)
            weights = softmax(scores)
            norms = np.linalg.norm(np.einsum("hqk,hkd->qkd", weights, value), axis=-1)
            sites.append(
                Site(
                    name=f"{part}.{layer}",
                    kind="scaled-dot",
                    part=part,
                    layer=layer,
                    queries=queries,
                    keys=keys,
                    weights=weights,
                    norms=norms.astype(np.float32),
                    allowed=allowed,
                    query=query,
                    key=key,
                    value=value,
                    scale=dim**-0.5,
                )
            )
    written = [*target, "</s>"]
    steps = tuple(Step(token, -0.5, ((token, -0.5), ("<b>", -1.5))) for token in written)
    return Trace(
        model="tiny",
        level="qk",
        text=" ".join(source),
        output=" ".join(target),
        axes=axes,
        sites=tuple(sites),
        steps=steps,
        findings=findings(sites, heads, len(source) + 1, written),
    )
