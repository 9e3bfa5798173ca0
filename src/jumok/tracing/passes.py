"""The parts of every task's tracing: named axes, steps, searches, and passes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import torch
from torch import nn

from jumok.data.texts.tokenizer import TextTokenizer
from jumok.data.tokenizer import END, START, Tokenizer
from jumok.decoding import DecodingOptions, decode
from jumok.decoding.beam import Candidates
from jumok.decoding.limits import Prefixes
from jumok.errors import DataError, ModelError
from jumok.inspection.attribution import Measure, attributions_of
from jumok.inspection.gradients_and_occlusion import ForcedTarget
from jumok.inspection.hooks.capture import Edges, Watched, heads_of, sites_at, watch
from jumok.inspection.hooks.intervene import UNCHANGED, Change, changed, without_each_head
from jumok.inspection.hooks.recurrent import (
    arrays_of,
    known_alone,
    known_at_words,
    recurrent_facts,
    watch_recurrent,
)
from jumok.inspection.lens import layer_facts, watch_words
from jumok.inspection.position_encodings import position_facts
from jumok.inspection.search_tree import SearchTree
from jumok.inspection.trace import BEST, Axis, Level, Step
from jumok.models.memory import Decoder, Memory, SequenceToSequence
from jumok.shapes import Float, Tensor

LEVEL: Level = "qk"


def carry_on() -> None:
    """Does nothing: the work is not cancelled."""


@dataclass(frozen=True)
class Analyses:
    """The analyses besides the attention weights, each in passes of its own.

    Attributes:
        ablation: the effect of ablating every head: one pass for each.
        attribution: attribution to input words (`jumok.inspection.attribution`), if words are read
            and written.
        search_tree: the search with all hypotheses, and the attention weights of each.
        layers: the prediction after each layer, how far words have moved, and how the model encodes
            positions.
        check_cancelled: called at every step of a search, and before words are occluded; an
            exception aborts the work.
    """

    ablation: bool = True
    attribution: bool = True
    search_tree: bool = True
    layers: bool = True
    check_cancelled: Callable[[], None] = carry_on


EVERYTHING, NOTHING = (
    Analyses(),
    Analyses(ablation=False, attribution=False, search_tree=False, layers=False),
)


@dataclass(frozen=True)
class TraceRequest:
    """A request for the trace of one text or image: the arguments of `jumok.trace`."""

    options: DecodingOptions
    target: str | Sequence[int] | None = None
    level: Level = LEVEL
    change: Change = UNCHANGED
    prefix: Sequence[int] = ()
    extras: Analyses = EVERYTHING
    name: str = "model"


LogProbabilities = Float[Tensor, "positions choices"]

Looks = Callable[[Memory, Sequence[Sequence[int]]], Float[Tensor, "rows tokens keys"]]


@runtime_checkable  # the tests check annotations while they run
class Names(Protocol):
    """The names that a tokenizer has for its ids."""

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Each id by its name."""
        ...

    def words(self, ids: Sequence[int]) -> list[int]:
        """For each id the index of its word, from 0."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """The text of the ids."""
        ...


@dataclass(frozen=True)
class Looked:
    """The results of the observed pass.

    Attributes:
        watched: its sites and streams; its result: the log-probabilities of every choice.
        without: for each site and head the change of each chosen token's log-probability when that
            head alone is ablated; empty if it was not requested.
        layers: see `jumok.inspection.lens.layer_facts` and
            `jumok.inspection.position_encodings.position_facts`; empty if it was not requested.
    """

    watched: Watched[LogProbabilities]
    without: dict[str, list[list[float]]]
    layers: dict[str, Any]


def look(
    model: nn.Module,
    run: Callable[[], LogProbabilities],
    edges: Edges,
    written: Sequence[int] | None,
    asked: TraceRequest,
    pieces: Callable[[Sequence[int]], Sequence[str]] | None = None,
) -> Looked:
    """Observes one pass, and computes the effect of ablating every head on what was chosen.

    Args:
        run: the pass; returns the log-probabilities of every choice at every position.
        written: what was chosen at each position; None: the most probable.
        asked: changes to the model meanwhile, and whether to analyse layers and ablate heads; a
            model that is changed is not ablated.
        pieces: names choices; None: the predictions after each layer are not computed.

    Raises:
        ModelError: the model has no attention, or not the heads that are named.
    """
    change, extras = asked.change, asked.extras
    count = heads_of(model)
    if not count:
        raise no_attention()
    full: Level = "full" if extras.layers else asked.level
    with changed(model, change, count), watch_words(model) as words:
        with watch_recurrent(model) as given:
            watched = watch(model, run, edges, full)
        known = known_at_words(model, given) if full == "full" else {}
    found = watched.result
    chosen = (
        found.argmax(1)
        if written is None
        else torch.tensor(written, dtype=torch.long, device=found.device)
    )
    changes = without_each_head(model, run, chosen, count) if extras.ablation and not change else {}
    layers = {}
    if extras.layers:
        said = chosen.tolist()
        stacks = layer_facts(model, watched.streams, words, said, pieces)
        stacks |= recurrent_facts(model, known, known_alone(model, given), said, pieces)
        layers = {"stacks": stacks, "places": position_facts(model)}
    watched = replace(watched, streams={**watched.streams, **arrays_of(known)})
    watched = _kept(watched, asked.level)
    without = {site: each.tolist() for site, each in changes.items()}
    return Looked(watched, without, layers)


def _kept(watched: Watched[LogProbabilities], level: Level) -> Watched[LogProbabilities]:
    """Drops what the level does not keep."""
    streams = watched.streams if level == "full" else {}
    return replace(watched, sites=sites_at(watched.sites, level), streams=streams)


def word_attributions(
    text: ForcedTarget,
    looked: Looked,
    axes: Mapping[str, Axis],
    asked: TraceRequest,
    also: Callable[[], Mapping[str, Measure]] = dict,
) -> dict[str, Any]:
    """The attributions of what was written, as a note; empty if they were not requested, or if no
    word was written.

    Args:
        also: returns further measures by tokens; called only if attributions were requested.
    """
    own = axes[text.own]
    # A token is written one step before it is read: the first `count` steps write tokens 1 to
    # count.
    wrote = any(word is not None for word in own.words[1 : text.count + 1])
    if asked.change or not asked.extras.attribution or not wrote:
        return {}

    def score(rows: int) -> Float[Tensor, "rows written"]:
        asked.extras.check_cancelled()
        return text.score(rows)

    found = attributions_of(replace(text, score=score), looked.watched.sites, axes, also())
    return {"mattered": {unit: mattered.facts() for unit, mattered in found.items()}}


def no_attention() -> ModelError:
    """The error for a model without attention."""
    return ModelError(
        "this model has no attention that could be shown.",
        do="train a model with attention: the lectures compare both (jumok lab)",
    )


def after_every_prefix(
    model: SequenceToSequence, source: Tensor, written: Sequence[int]
) -> LogProbabilities:
    """The log-probabilities after START and every prefix of what was written, all at once.

    Args:
        source: tokens, or an image; a batch of one.
    """
    tokens = torch.tensor([[START, *written]], device=source.device)
    return model.decoder(model.encode(source), tokens)[0].float().log_softmax(dim=-1)


def text_axis(
    names: Names, ids: Sequence[int], before: Sequence[int] = (), after: Sequence[int] = ()
) -> Axis:
    """The tokens with their words; START and END belong to none."""
    words = names.words(ids)
    groups: dict[int, list[int]] = {}
    for word, piece in zip(words, ids, strict=True):
        groups.setdefault(word, []).append(piece)
    return Axis(
        tokens=tuple(names.pieces([*before, *ids, *after])),
        words=(*(None for _ in before), *words, *(None for _ in after)),
        texts=tuple(names.decode(group).strip() or "⏎" for group in groups.values()),
    )


def steps_of(
    pieces: Callable[[Sequence[int]], Sequence[str]],
    written: Sequence[int],
    log_probabilities: LogProbabilities,
    gates: Sequence[float] | None = None,
) -> tuple[Step, ...]:
    """What was chosen at each position, and the alternatives.

    Args:
        pieces: names choices.
        gates: the gate of the context vector at each; None: the model has no such gate.
    """
    values, places = log_probabilities.topk(min(BEST, log_probabilities.shape[1]), dim=1)
    steps = []
    for row, token in enumerate(written):
        best = pieces(places[row].tolist())
        steps.append(
            Step(
                pieces([token])[0],
                float(log_probabilities[row, token]),
                tuple(zip(best, values[row].tolist(), strict=True)),
                None if gates is None else gates[row],
            )
        )
    return tuple(steps)


def searched(
    decoder: Decoder[Any],
    memory: Memory,
    names: Names,
    asked: TraceRequest,
    looks: Looks | None = None,
) -> tuple[list[int], dict[str, Any]]:
    """The tokens of the best hypothesis, and the tree of all of them.

    Args:
        asked: how to search, the forced prefix, whether the tree is wanted, and what may cancel the
            search.
        looks: for each row of a memory and its tokens, the attention weights of each token. Each
            leaf of the tree has these weights; the hypotheses before it are its first rows. None:
            leaves have none.

    Returns:
        The tokens; the tree, which is {"left_out": True} if it was not requested.
    """
    theatre = SearchTree()
    prefix, extras = asked.prefix, asked.extras

    def watch_step(candidates: Candidates) -> None:
        extras.check_cancelled()
        if extras.search_tree:
            theatre(candidates)

    prefixes: Prefixes | None = [list(prefix)] if prefix else None
    (best, *_), *_ = decode(decoder, memory, asked.options, prefixes, watch=watch_step)
    if not extras.search_tree:
        return list(best.tokens), {"left_out": True}
    leaves = theatre.leaves()
    shown: list[dict[str, Any]] = [{"node": leaf, "weights": []} for leaf in leaves]
    if looks is not None and leaves:
        # The tree begins after the forced prefix.
        begun = len(prefix)
        paths = [
            [*prefix, *(piece for piece in theatre.path(leaf) if piece != END)] for leaf in leaves
        ]
        rows = torch.zeros(len(paths), dtype=torch.long, device=memory.states.device)
        weights = looks(memory.select(rows), paths)
        for row, (leaf, path) in enumerate(zip(shown, paths, strict=True)):
            leaf["weights"] = weights[row, begun : len(path)].tolist()
    pieces = names.pieces([node.token for node in theatre.nodes])
    nodes = [fact | {"piece": piece} for fact, piece in zip(theatre.facts(), pieces, strict=True)]
    return list(best.tokens), {"nodes": nodes, "leaves": shown}


def check_length(text: str, ids: Sequence[int], limit: int, what: str = "one sentence") -> None:
    """Raises a DataError if there is nothing to trace, or too much at once."""
    if not ids or len(ids) > limit:
        raise DataError(
            "this text cannot be traced in one pass.",
            expected=f"at least one word and at most {limit} tokens",
            got=f"{len(ids)} tokens: {text[:60]!r}",
            do=f"give {what}",
        )


def given_tokens(
    target: str | Sequence[int],
    tokenizer: Tokenizer | TextTokenizer,
    limit: int,
    what: str = "one sentence",
) -> list[int]:
    """The tokens of a target that was given.

    Raises:
        DataError: there is no token, there are more than `limit`, or the tokenizer lacks one.
    """
    pieces = tokenizer.encode(target) if isinstance(target, str) else list(target)
    check_length(str(target), pieces, limit, what)
    check_tokens(pieces, tokenizer.size)
    return pieces


def check_tokens(ids: Sequence[int], size: int) -> None:
    """Raises a DataError for a token that the tokenizer does not have, or that opens a text."""
    if not all(0 <= piece < size and piece != START for piece in ids):
        raise DataError(
            "the tokenizer has no such token.", expected=f"0 to {size - 1}", got=f"{ids}"
        )


def notes_of(
    written: Sequence[int], looked: Looked, search: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """What the page needs besides: what was chosen, the tree, and the effects of ablations."""
    return {
        "written": list(written),
        "search": dict(search or {}),
        "without": looked.without,
        "layers": looked.layers,
    }
