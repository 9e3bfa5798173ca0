"""The observed pass of a trace, and the analyses of it: ablations, layers, attributions."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import nn

from jumok.attention.observe import heads_of
from jumok.data.tokenizer import START
from jumok.inspection.attribution import Measure, attributions_of
from jumok.inspection.findings import (
    Attributions,
    LayerFindings,
    Numbers,
    SearchTree,
    TraceFindings,
)
from jumok.inspection.gradients_and_occlusion import ForcedTarget
from jumok.inspection.hooks.capture import Watched, sites_at, watch
from jumok.inspection.hooks.intervene import changed, without_each_head
from jumok.inspection.hooks.recurrent import (
    arrays_of,
    known_alone,
    known_at_words,
    recurrent_facts,
    watch_recurrent,
)
from jumok.inspection.hooks.walking import add_recurrent, watch_walk
from jumok.inspection.lens import layer_facts, watch_words
from jumok.inspection.position_encodings import position_facts
from jumok.inspection.sites import SequencesOf
from jumok.inspection.trace import Axis, Level
from jumok.inspection.walk import Walk
from jumok.models.memory import SequenceToSequence
from jumok.shapes import Float, Tensor
from jumok.tracing.axes import LogProbabilities
from jumok.tracing.checks import no_attention
from jumok.tracing.request import TraceRequest


@dataclass(frozen=True)
class Looked:
    """The results of the observed pass.

    Attributes:
        watched: its sites and streams; its result: the log-probabilities of every choice.
        ablation, layers: see `jumok.inspection.findings.TraceFindings`; None if not requested.
        walk: the vectors around the attention modules; None if not requested.
    """

    watched: Watched[LogProbabilities]
    ablation: Mapping[str, Numbers] | None = None
    layers: LayerFindings | None = None
    walk: Walk | None = None


def look(
    model: nn.Module,
    run: Callable[[], LogProbabilities],
    sequences: SequencesOf,
    written: Sequence[int] | None,
    asked: TraceRequest,
    pieces: Callable[[Sequence[int]], Sequence[str]] | None = None,
) -> Looked:
    """Observes one pass, and computes the effect of ablating every head on what was chosen.

    Args:
        run: the pass; returns the log-probabilities of every choice at every position.
        sequences: what the model's sites connect.
        written: what was chosen at each position; None: the most probable.
        asked: changes to the model meanwhile, and whether to analyse layers and ablate heads; a
            model that is changed is not ablated.
        pieces: names choices; None: the predictions after each layer are not computed.

    Raises:
        ModelError: the model has no attention, an attention module without a role, or not the
            heads that are named.
    """
    change, extras = asked.change, asked.extras
    count = heads_of(model)
    if not count:
        raise no_attention()
    full: Level = "full" if extras.layers else asked.level
    with changed(model, change, count), watch_words(model) as words:
        walking = watch_walk(model) if extras.walk else nullcontext()
        with watch_recurrent(model) as given, walking as recorder:
            watched = watch(model, run, sequences, full)
        if recorder is not None:
            add_recurrent(recorder, model, given)
        known = known_at_words(model, given) if full == "full" else {}
    found = watched.result
    chosen = (
        found.argmax(1)
        if written is None
        else torch.tensor(written, dtype=torch.long, device=found.device)
    )
    ablation = None
    if extras.ablation and not change:
        changes = without_each_head(model, run, chosen, count)
        ablation = {site: each.double().cpu().numpy() for site, each in changes.items()}
    layers = None
    if extras.layers:
        said = chosen.tolist()
        stacks = layer_facts(model, watched.streams, words, said, pieces)
        stacks |= recurrent_facts(model, known, known_alone(model, given), said, pieces)
        layers = LayerFindings(stacks, position_facts(model))
    walk = None if recorder is None else recorder.walk(watched.sites)
    watched = replace(watched, streams={**watched.streams, **arrays_of(known)})
    watched = _kept(watched, asked.level)
    return Looked(watched, ablation, layers, walk)


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
) -> Mapping[Literal["pieces", "words"], Attributions] | None:
    """The attributions of what was written; None if they were not requested, or if no word was
    written.

    Args:
        also: returns further measures by tokens; called only if attributions were requested.
    """
    own = axes[text.own]
    # A token is written one step before it is read: the first `count` steps write tokens 1 to
    # count.
    wrote = any(word is not None for word in own.words[1 : text.count + 1])
    if asked.change or not asked.extras.attribution or not wrote:
        return None

    def states(rows: int, steps: int, same: bool) -> Float[Tensor, "rows steps dim"]:
        asked.extras.check_cancelled()
        return text.states(rows, steps, same)

    return attributions_of(replace(text, states=states), looked.watched.sites, axes, also())


def after_every_prefix(
    model: SequenceToSequence, source: Tensor, written: Sequence[int]
) -> LogProbabilities:
    """The log-probabilities after START and every prefix of what was written, all at once.

    Args:
        source: tokens, or an image; a batch of one.
    """
    tokens = torch.tensor([[START, *written]], device=source.device)
    return model.decoder(model.encode(source), tokens)[0].float().log_softmax(dim=-1)


def findings_of(
    written: Sequence[int], looked: Looked, search: SearchTree | None = None
) -> TraceFindings:
    """The findings of an observed pass: what was chosen, the tree, ablations and layers."""
    return TraceFindings(
        written=tuple(written), search=search, ablation=looked.ablation, layers=looked.layers
    )
