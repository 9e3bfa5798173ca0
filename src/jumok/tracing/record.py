"""`jumok.record`: what a model attends to while it is used, in whatever way."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import replace
from functools import partial

import torch
from torch import nn

from jumok.alignment.extract import AlignmentSetting, default_setting
from jumok.attention.heard import Ear, listening_to
from jumok.bundle.fingerprint import fingerprint_of
from jumok.data.tokenizer import END, START
from jumok.errors import ModelError
from jumok.inspection.hooks.capture import Edge, heads_of, sequence_edges
from jumok.inspection.hooks.listening import listening
from jumok.inspection.hooks.recording import Pass, Recorder, Shared
from jumok.inspection.trace import Axis, Level, Trace, grid_axis
from jumok.models.captioner import CaptionerModel as CaptionModel
from jumok.models.causal import CausalLanguageModel
from jumok.models.image_classifier import ImageClassifier
from jumok.models.masked import MaskedLanguageModel
from jumok.models.memory import SequenceToSequence
from jumok.systems.base import FOUND, GIVEN, ROWS, System
from jumok.systems.captioner import Captioner
from jumok.systems.image_classifier import ImageClassification
from jumok.systems.language_model import LanguageModel
from jumok.systems.masked_model import MaskedModel
from jumok.systems.text_classifier import TextClassification
from jumok.systems.translation.translator import Translator
from jumok.tracing.language_model import at_what_was_written
from jumok.tracing.passes import Names, no_attention, text_axis
from jumok.tracing.recorded import traces_of
from jumok.tracing.recorded_sites import About
from jumok.tracing.texts import WithMask, at_itself

RecordableSystem = (
    Translator | Captioner | LanguageModel | MaskedModel | TextClassification | ImageClassification
)


@contextmanager
def record(
    system: RecordableSystem | nn.Module,
    level: Level = "weights",
    *,
    name: str = "model",
    each: Callable[[Trace], None] | None = None,
) -> Iterator[Trace]:
    """Records what the model attends to inside the block, in whatever way it is used there.

        with jumok.record(model, level="qk") as trace:
            model.translate(["I am a student."], beam=5)
        trace.save("t.npz")

    The trace is empty until the block ends; then it is that of the first sentence and of the best
    output for it. `trace.tree` has every hypothesis that was in the beam, and `trace.also` the
    traces of the other sentences in the order of the input; `index` counts them from 0, and a long
    sentence that is read in segments has one trace for each.

    Many sentences need a gigabyte and more. `each` receives every trace as soon as it is finished,
    batch by batch, and none is kept:

        with jumok.record(model, each=lambda trace: trace.save(f"{trace.index}.npz")):
            model.translate(sentences)

    Outputs are the same as without a recording. What other threads do with the model is not
    recorded. If the model is an ensemble, its first model is recorded. A model may be recorded
    while it is trained; its attention weights are then recorded before dropout.

    Args:
        system: a loaded model, or only the torch module: tokens are then shown by their ids.
        level: "weights"; "qk" also keeps queries, keys, values and norms; "full" also the streams
            (`Trace.streams`).
        name: the model's name in the trace.
        each: is called with each trace; its own use of the model is not recorded. None: all traces
            are kept.

    Raises:
        ModelError: the model has no attention.
    """
    check_ours(system)
    about = _about(system, name)
    if not heads_of(about.model):
        raise no_attention()
    trace = Trace(model=name, task=about.task, level=level, text="", output="", axes={}, sites=())
    passes: list[Pass] = []
    finish: Callable[[Pass], None] = passes.append
    if each is not None:
        finish = _Outside(partial(_hand_over, system, about, each), level)
    shared = Shared(finish)
    recorder = Recorder(level, shared)
    with listening(about.model, recorder), listening_to(system, _told(recorder)):
        yield trace
    shared.close()
    if each is not None:
        return
    found = sorted(_traces(system, about, passes, level), key=lambda one: one.index)
    if found:
        first, *others = found
        trace.__dict__.update(first.__dict__)
        trace.also = tuple(others)


class _Outside:
    """Calls a function as if outside of the block: its use of the model is not recorded."""

    def __init__(self, call: Callable[[Pass, Level], None], level: Level) -> None:
        self._call, self._level, self._context = call, level, copy_context()

    def __call__(self, heard: Pass) -> None:
        context = self._context.copy()
        with torch.inference_mode(False):
            context.run(self._call, heard, self._level)


def _hand_over(
    system: RecordableSystem | nn.Module,
    about: About,
    each: Callable[[Trace], None],
    heard: Pass,
    level: Level,
) -> None:
    for trace in _traces(system, about, [heard], level):
        each(trace)


def _traces(
    system: RecordableSystem | nn.Module, about: About, passes: Sequence[Pass], level: Level
) -> Iterator[Trace]:
    """The traces of everything that was recorded, one after another."""
    named = system.fingerprint if isinstance(system, System) else fingerprint_of(system)
    about = replace(about, fingerprint=named)
    with torch.no_grad():
        for heard in passes:
            yield from traces_of(about, heard, level)


def _told(recorder: Recorder) -> dict[str, Ear]:
    """The listeners to the events that a system reports itself."""
    return {GIVEN: Ear(recorder.given), ROWS: Ear(recorder.rows), FOUND: Ear(recorder.ended)}


def check_ours(system: object) -> None:
    """Raises a ModelError for a model of another library, whose attention cannot be recorded."""
    kind = type(system)
    package = kind.__module__.partition(".")[0]
    if isinstance(system, nn.Module) and package == "transformers":
        raise ModelError(
            "this is a model of transformers, and jumok.record can record only jumok's own "
            "attention.",
            got=f"{kind.__name__} of {kind.__module__}",
            do="save a BERT to a folder and load it with jumok.load; for other models use "
            "output_attentions=True",
        )


def _about(system: RecordableSystem | nn.Module, name: str) -> About:
    """The facts about a system, or about a model that is given alone."""
    if isinstance(system, Translator):
        reading = system.aligner.readings[0]
        return _sequences(system.models[0], name, system.tokenizer, reading)
    if isinstance(system, Captioner):
        return _sequences(system.model, name, system.tokenizer, system.reading)
    if isinstance(system, LanguageModel):
        return _language_model(system.model, name, system.tokenizer)
    if isinstance(system, MaskedModel):
        names = WithMask(system.tokenizer, system.model.mask)
        return _texts(system.model, "masked-lm", name, names)
    if isinstance(system, TextClassification):
        return _texts(system.model, "text-classification", name, system.tokenizer, system.labels)
    if isinstance(system, ImageClassification):
        return _pictures(system.models[0], name, system.labels)
    numbers = _Numbers()
    if isinstance(system, SequenceToSequence):
        return _sequences(system, name, numbers, default_setting(len(system.cross_sites)))
    if isinstance(system, CausalLanguageModel):
        return _language_model(system, name, numbers)
    if isinstance(system, ImageClassifier):
        return _pictures(system, name, ())
    task = "masked-lm" if isinstance(system, MaskedLanguageModel) else "text-classification"
    return _texts(system, task, name, numbers)


class _Numbers:
    """The token names of a model that has no tokenizer: their ids."""

    def pieces(self, ids: Sequence[int]) -> list[str]:
        named = {START: "<s>", END: "</s>"}
        return [named.get(id, str(id)) for id in ids]

    def words(self, ids: Sequence[int]) -> list[int]:
        return list(range(len(ids)))

    def decode(self, ids: Sequence[int]) -> str:
        return " ".join(self.pieces(ids))


def _sequences(
    model: SequenceToSequence, name: str, names: Names, reading: AlignmentSetting | None
) -> About:
    if isinstance(model, CaptionModel):
        axis = {"picture": grid_axis(*model.grid)}
        edges = sequence_edges(model, source="picture", reads="image")
        return About(
            model, "captioning", name, names, edges, lambda _, __: axis, "target", True,
            reading=reading,
        )  # fmt: skip
    return About(
        model, "translation", name, names, sequence_edges(model), _tokens(names, "source"),
        "target", True, reading=reading,
    )  # fmt: skip


def _language_model(model: CausalLanguageModel, name: str, names: Names) -> About:
    return About(
        model, "language-model", name, names, at_what_was_written, lambda _, __: {}, "text"
    )


def _texts(
    model: nn.Module, task: str, name: str, names: Names, labels: Sequence[str] = ()
) -> About:
    return About(model, task, name, names, at_itself, _tokens(names, "text"), labels=labels)


def _tokens(names: Names, axis: str) -> Callable[[Pass, int], dict[str, Axis]]:
    """Returns a function for the axis of the input: the real tokens; START and END in no word."""

    def made(heard: Pass, row: int) -> dict[str, Axis]:
        if heard.source is None:
            return {}
        ids = heard.source[row].tolist()
        if heard.allowed is not None:
            ids = ids[: int(heard.allowed[row].sum())]
        before = ids[:1] if ids[0] == START else []
        after = ids[-1:] if ids[-1] == END else []
        return {axis: text_axis(names, ids[len(before) : len(ids) - len(after)], before, after)}

    return made


def _pictures(model: ImageClassifier, name: str, labels: Sequence[str]) -> About:
    def edge(site: str) -> Edge:
        return Edge("image", site, site)

    def grids(heard: Pass, _: int) -> dict[str, Axis]:
        return {site: grid_axis(*grid) for site, grid in heard.reading.grids.items()}

    return About(model, "image-classification", name, _Numbers(), edge, grids, labels=labels)
