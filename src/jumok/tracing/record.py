"""`jumok.record`: what a model attends to while it is used."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import replace
from functools import partial

import torch
from torch import nn

from jumok.attention.events import Listener, listening_to
from jumok.attention.observe import roles_of
from jumok.bundle.fingerprint import fingerprint_of
from jumok.decoding import Hypothesis
from jumok.decoding.rank import Ranker
from jumok.errors import ModelError
from jumok.inspection.hooks.listening import listening
from jumok.inspection.hooks.recording import RecordedPass, Recorder, Shared
from jumok.inspection.trace import Level, Trace
from jumok.inspection.trace_file import Recording
from jumok.systems.base import COPIED, FOUND, GIVEN, ROWS, RowTexts, System
from jumok.systems.translation.translator import Translator
from jumok.tracing.adapters import ModelAdapter, adapter_of
from jumok.tracing.forced import tracer_of
from jumok.tracing.recorded import traces_of
from jumok.tracing.request import without_attention


@contextmanager
def record(
    system: System | nn.Module,
    level: Level = "weights",
    *,
    name: str = "model",
    each: Callable[[Trace], None] | None = None,
) -> Iterator[Recording]:
    """Records the attention of a model for every use inside the block.

        with jumok.record(model, level="qk") as recording:
            model.translate(["I am a student."], beam=5)
        recording.trace.save("t.npz")

    The recording is empty until the block ends. Then it has the traces of all inputs in their
    order, segment by segment if a text was read in several segments (`Trace.segment`);
    `recording.trace` is the trace of the first input with its best output. `Trace.tree` contains
    every hypothesis that was in the beam, unless kept strings were inserted after the search.

    The traces of many sentences can take a gigabyte of memory or more. With `each`, none is kept:
    the function receives every trace as soon as it is complete, batch by batch.

        with jumok.record(model, each=lambda trace: trace.save(f"{trace.index}.npz")):
            model.translate(sentences)

    The outputs are the same as without a recording. Uses of the model in other threads are not
    recorded. An ensemble is recorded by its first model. A model may be recorded during training;
    its attention weights are then recorded before dropout.

    Args:
        system: a loaded model, or a torch module, whose tokens are shown by their ids.
        level: "weights"; "qk" also records queries, keys, values and norms; "full" also the
            residual streams (`Trace.streams`).
        each: called with each trace; its own use of the model is not recorded. None: all traces are
            kept.

    Raises:
        ModelError: the model has no attention, or an attention module without a role.
    """
    check_ours(system)
    adapter = recordable(system, name)
    if not roles_of(adapter.model):
        raise without_attention(system)
    recording = Recording()
    passes: list[RecordedPass] = []
    finish: Callable[[RecordedPass], None] = passes.append
    if each is not None:
        finish = _Outside(partial(_hand_over, system, adapter, each), level)
    shared = Shared(finish)
    recorder = Recorder(level, shared)
    events = system_events(recorder)
    if isinstance(system, Translator):
        events[FOUND] = Listener(partial(_read_others, system, recorder))
    with listening(adapter.model, recorder), listening_to(system, events):
        yield recording
    shared.close()
    if each is not None:
        return
    traces = _traces(system, adapter, passes, level)
    recording.traces = tuple(sorted(traces, key=lambda trace: (trace.index, trace.segment or 0)))


def _read_others(
    translator: Translator,
    recorder: Recorder,
    hypotheses: Sequence[Sequence[Hypothesis]],
    texts: Sequence[RowTexts],
    sources: Sequence[Sequence[int]],
) -> None:
    """What the recorded search alone did not write is read, as a given translation is."""
    others = recorder.on_finish(hypotheses, texts)
    if not others:
        return
    each = [(row, place) for row in others for place in range(len(hypotheses[row]))]
    written = [hypotheses[row][place] for row, place in each]
    read = translator.on_torch.read([sources[row] for row, _ in each])
    read.score([one.tokens for one in written], Ranker())
    outputs = [RowTexts(texts[row].given, [texts[row].outputs[place]]) for row, place in each]
    recorder.on_finish([[one] for one in written], outputs)


class _Outside:
    """Calls a function as if outside of the block: its use of the model is not recorded."""

    def __init__(self, call: Callable[[RecordedPass, Level], None], level: Level) -> None:
        self._call, self._level, self._context = call, level, copy_context()

    def __call__(self, recorded: RecordedPass) -> None:
        context = self._context.copy()
        with torch.inference_mode(False):
            context.run(self._call, recorded, self._level)


def _hand_over(
    system: System | nn.Module,
    adapter: ModelAdapter,
    each: Callable[[Trace], None],
    recorded: RecordedPass,
    level: Level,
) -> None:
    for trace in _traces(system, adapter, [recorded], level):
        each(trace)


def _traces(
    system: System | nn.Module, adapter: ModelAdapter, passes: Sequence[RecordedPass], level: Level
) -> Iterator[Trace]:
    """The traces of everything that was recorded, one after another."""
    named = system.fingerprint if isinstance(system, System) else fingerprint_of(system)
    adapter = replace(adapter, fingerprint=named)
    with torch.no_grad():
        for recorded in passes:
            yield from traces_of(adapter, recorded, level)


def system_events(recorder: Recorder) -> dict[str, Listener]:
    """The listeners to the events that a system reports itself."""
    return {
        GIVEN: Listener(recorder.on_inputs),
        ROWS: Listener(recorder.on_rows),
        FOUND: Listener(recorder.on_finish),
        COPIED: Listener(recorder.on_copied),
    }


def recordable(system: System | nn.Module, name: str) -> ModelAdapter:
    """The adapter of a system's first model, or of a model that is given alone.

    Raises:
        ModelError: this kind of model cannot be recorded.
    """
    if not isinstance(system, System):
        return adapter_of(system, name)
    tracer = tracer_of(system)
    if not tracer.recorded:
        raise ModelError(
            "this kind of model cannot be recorded.", got=system.task, do="use jumok.trace"
        )
    return tracer.adapter(system, name)


def check_ours(system: object) -> None:
    """Raises a ModelError for a model of another library, whose attention cannot be recorded."""
    kind = type(system)
    package = kind.__module__.partition(".")[0]
    if isinstance(system, nn.Module) and package == "transformers":
        raise ModelError(
            "this is a model of transformers, and jumok.record can record only jumok's own "
            "attention.",
            got=f"{kind.__name__} of {kind.__module__}",
            do="jumok.from_transformers(model, tokenizer, text) makes a trace of it; a model "
            "that jumok import knows can also be loaded from its folder: jumok.load(folder)",
        )
