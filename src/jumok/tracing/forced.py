"""The trace of one input: a recorded pass over it and its output, and the analyses of both."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from torch import nn

from jumok.attention.observe import heads_of, roles_of
from jumok.data.tokenizer import START
from jumok.decoding import DecodingOptions
from jumok.inspection.attribution import AxisMatrices, attributions_of
from jumok.inspection.findings import Attributions, LayerFindings, TraceFindings, Unit
from jumok.inspection.gradients_and_occlusion import ForcedTarget, occlude_patches
from jumok.inspection.hooks.intervene import changed, without_each_head
from jumok.inspection.hooks.listening import record_pass
from jumok.inspection.hooks.walking import add_recurrent, watch_walk
from jumok.inspection.lens import (
    arrays_of,
    known_alone,
    known_at_words,
    layer_facts,
    recurrent_facts,
    recurrent_inputs,
)
from jumok.inspection.position_encodings import position_facts
from jumok.inspection.sites import float64_of, sites_at
from jumok.inspection.trace import Level, Trace
from jumok.kinds import KINDS
from jumok.models.memory import SequenceToSequence
from jumok.places import import_string
from jumok.shapes import Float, Tensor
from jumok.systems.base import System
from jumok.tracing.adapters import ModelAdapter, steps_of
from jumok.tracing.recorded import trace_of_copy, trace_of_row
from jumok.tracing.request import TraceRequest, without_attention

Traced = TypeVar("Traced")


@dataclass(frozen=True)
class ForcedPass:
    """A pass over one input and the output that was chosen for it.

    Attributes:
        run: the log-probabilities of all choices, for so many copies of the input.
        chosen: what was chosen at each position; None: the most probable.
        target: makes the output of the trace as one that attributions force; None: there is none.
        measures: makes further measures of attribution, by tokens.
        copied: there is nothing to read.
        segment, segments: as in `Trace`.
    """

    run: Callable[[int], Float[Tensor, "rows positions choices"]]
    text: str
    chosen: Sequence[int] | None = None
    output: str | None = None
    findings: TraceFindings = field(default_factory=TraceFindings)
    target: Callable[[Trace], ForcedTarget] | None = None
    measures: Callable[[Trace], Mapping[str, AxisMatrices]] = lambda _: {}
    copied: bool = False
    segment: int | None = 0
    segments: int = 1

    @property
    def place(self) -> dict[str, Any]:
        """The text, and the segment of it, as `Trace` names them."""
        return {"text": self.text, "segment": self.segment, "segments": self.segments}


@dataclass(frozen=True)
class Tracer(Generic[Traced]):
    """What traces one kind of model.

    Attributes:
        adapter: (system, name) -> that of its first model, for `jumok.record` too.
        force: (system, text or image's path, request) -> the output that was chosen, and the pass
            over it. The model has the request's changes meanwhile.
        options: how the model searches for its output by default.
        recorded: whether `jumok.record` records it.
    """

    adapter: Callable[[Traced, str], ModelAdapter]
    force: Callable[[Traced, str, TraceRequest], ForcedPass]
    options: DecodingOptions = field(default_factory=DecodingOptions)
    recorded: bool = True


def tracer_of(system: System) -> Tracer[System]:
    """What traces this kind of model.

    Raises:
        ModelError: its kind shows nothing.
    """
    place = KINDS[system.task].trace
    if place is None:
        raise without_attention(system)
    tracer: Tracer[System] = import_string(place)
    return tracer


def trace_with(tracer: Tracer[Traced], system: Traced, given: str, request: TraceRequest) -> Trace:
    """The trace of what the tracer chooses for this input.

    Raises:
        ModelError: as `jumok.trace`.
    """
    assert isinstance(system, System)
    adapter = tracer.adapter(system, request.name)
    model, extras = adapter.model, request.extras
    count = heads_of(model)
    if not count:
        raise without_attention(system)
    roles_of(model)  # a module without one is refused, even if this pass does not use it
    full = extras.layers or request.level == "full"
    with changed(model, request.change, count):
        forced = tracer.force(system, given, request)
        if forced.copied:
            return _copied(replace(adapter, fingerprint=system.fingerprint), forced, request.level)
        with watch_walk(model) if extras.walk else nullcontext() as walk:
            recorded, scores = record_pass(
                model, lambda: forced.run(1)[0], "full" if full else "qk"
            )
        recurrent = recurrent_inputs(model, recorded)
        if walk is not None:
            add_recurrent(walk, model, recurrent)
        states = known_at_words(model, recurrent) if full else {}
    chosen = scores.argmax(1).tolist() if forced.chosen is None else list(forced.chosen)
    trace = trace_of_row(adapter, recorded, "full")
    findings = replace(forced.findings, setting=adapter.setting)
    if adapter.labels:
        findings = replace(findings, written=tuple(chosen))
    if extras.ablation and chosen and not request.change:
        effects = without_each_head(
            model, forced.run, torch.tensor(chosen).to(scores.device), count
        )
        ablation = {site: float64_of(each) for site, each in effects.items()}
        findings = replace(findings, ablation=ablation)
    if extras.layers:
        alone = known_alone(model, recurrent)
        stacks = layer_facts(model, recorded, trace.streams, chosen, adapter.choices)
        stacks |= recurrent_facts(model, states, alone, chosen, adapter.choices)
        findings = replace(findings, layers=LayerFindings(stacks, position_facts(model)))
    findings = replace(findings, attribution=_attributions(forced, trace, request))
    gates = [float(each[0, 0]) for call in recorded.decoder for each in call.gates]
    return replace(
        trace,
        fingerprint=system.fingerprint,
        level=request.level,
        **forced.place,
        output=adapter.labels[chosen[0]] if forced.output is None else forced.output,
        sites=sites_at(trace.sites, request.level),
        streams={**trace.streams, **arrays_of(states)} if request.level == "full" else {},
        steps=steps_of(adapter.choices, chosen, scores, gates or None),
        walk=None if walk is None else walk.walk(trace.sites),
        findings=findings,
    )


def _copied(adapter: ModelAdapter, forced: ForcedPass, level: Level) -> Trace:
    trace = trace_of_copy(adapter, forced.text, level)
    return replace(trace, output=forced.output or "", **forced.place)


def _attributions(
    forced: ForcedPass, trace: Trace, request: TraceRequest
) -> Mapping[Unit, Attributions] | None:
    """The attributions of what was written; None: not requested, or no word was written."""
    if forced.target is None or request.change or not request.extras.attribution:
        return None
    target = forced.target(trace)
    # A token is written one step before it is read: `count` steps write tokens 1 to count.
    own = trace.axes[target.own].words if target.own else ()
    if own and all(word is None for word in own[1 : target.count + 1]):
        return None

    def states(rows: int, steps: int, same: bool) -> Float[Tensor, "rows steps dim"]:
        request.extras.check_cancelled()
        return target.states(rows, steps, same)

    text = replace(target, states=states)
    return attributions_of(text, trace.sites, trace.axes, forced.measures(trace))


def after_every_prefix(
    model: SequenceToSequence, source: Tensor, written: Sequence[int], rows: int
) -> Float[Tensor, "rows positions vocabulary"]:
    """The log-probabilities after START and every prefix of what was written, all at once.

    Args:
        source: tokens, or an image; a batch of one.
    """
    tokens = torch.tensor([[START, *written]], device=source.device).expand(rows, -1)
    memory = model.encode(source.expand(rows, *source.shape[1:]))
    return model.decoder(memory, tokens).float().log_softmax(dim=-1)


def effect_of_pixels(
    score: Callable[[Tensor], Float[Tensor, "rows written"]],
    picture: Tensor,
    name: str,
    check_cancelled: Callable[[], None],
    trace: Trace,
) -> dict[str, AxisMatrices]:
    """The effect of covering the pixels of each cell of an axis; what is no cell has none."""
    axis = trace.axes[name]
    assert axis.grid is not None
    effects = float64_of(occlude_patches(score, picture, axis.grid, check_cancelled))
    before = len(axis.tokens) - len(axis.texts)
    return {"patch": {name: np.pad(effects, ((0, 0), (before, 0)))}}


def device_of(model: nn.Module) -> torch.device:
    """Where the model is."""
    return next(model.parameters()).device
