"""Every family's tracing by the task that its bundle names: what a model looked at, as a trace."""

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Literal, NamedTuple

import torch

from jumok.decoding import DecodingOptions
from jumok.errors import DataError
from jumok.inspection.intervene import UNCHANGED, Change
from jumok.inspection.trace import Level, Trace
from jumok.systems.base import System
from jumok.systems.catalog import load
from jumok.systems.device import PrecisionName
from jumok.systems.tracing_parts import EVERYTHING, LEVEL, Analyses, TraceRequest


class Tracer(NamedTuple):
    """Where a task's tracing lives, and what it reads; nothing is imported before its use."""

    module: str
    name: str
    reads: Literal["text", "picture"]


TRACERS = {
    "translation": Tracer("jumok.systems.tracing", "trace_translation", "text"),
    "captioning": Tracer("jumok.systems.tracing_captioner", "trace_caption", "picture"),
    "language-model": Tracer(
        "jumok.systems.tracing_language_model", "trace_language_model", "text"
    ),
    "masked-lm": Tracer("jumok.systems.tracing_texts", "trace_gaps", "text"),
    "text-classification": Tracer("jumok.systems.tracing_texts", "trace_text_class", "text"),
    "image-classification": Tracer(
        "jumok.systems.tracing_pictures", "trace_picture_class", "picture"
    ),
    "bert": Tracer("jumok.systems.tracing_bert", "trace_bert", "text"),
}


def trace(
    system: System,
    given: Path | str,
    target: str | Sequence[int] | None = None,
    options: DecodingOptions | None = None,
    *,
    level: Level = LEVEL,
    change: Change = UNCHANGED,
    prefix: Sequence[int] = (),
    extras: Analyses = EVERYTHING,
    name: str = "model",
) -> Trace:
    """What a loaded model looked at in a text, or in a picture, and what it made of that.

    Args:
        system: what `jumok.load` gives.
        given: a text, or a picture's path.
        target: what is to be written or chosen, as a text or as pieces; None: what the model would.
        options: how it is searched for where the model writes; None: as this kind of model does.
        level: "qk" keeps queries, keys and values besides the weights; "full" also the streams.
        change: what is done to the model meanwhile: heads off, words blanked, weights set.
        prefix: pieces that what is written has to begin with.
        extras: what else to find out, and who may end the work before it is done.
        name: what the trace calls the model.

    Raises:
        ConfigError: a target for a model that says nothing.
        DataError: a text without a word, or longer than the model reads at once; a picture that
            cannot be read; no such label or piece.
        ModelError: a model without attention, or without the heads that are named.
    """
    tracer = TRACERS[system.task]
    module = import_module(tracer.module)
    asked = TraceRequest(options or module.OPTIONS, target, level, change, prefix, extras, name)
    with system.at_work(), torch.inference_mode():
        found: Trace = getattr(module, tracer.name)(system, given, asked)
    return found


class Family(NamedTuple):
    """What traces one loaded model (`trace`), how it decodes where nobody says, what it reads; the
    system, and its name."""

    trace: Callable[..., Trace]
    options: DecodingOptions
    reads: Literal["text", "picture"]
    system: System
    name: str


def load_family(
    *folders: Path | str, device: str = "auto", precision: PrecisionName = "fp32"
) -> Family:
    """What traces the model in this folder; of several, the ensemble that they make.

    Raises:
        BundleError: a bundle that is missing, damaged, unsafe, or of a task unknown here.
        ConfigError: no such device.
    """
    system = load(*folders, device=device, precision=precision)
    tracer = TRACERS[system.task]
    options = import_module(tracer.module).OPTIONS
    return Family(partial(trace, system), options, tracer.reads, system, system.name)


def check_given(family: Family, given: str) -> None:
    """Says so where a text is given to a model that reads pictures, or the other way round.

    Raises:
        DataError: the model does not read this.
    """
    from jumok.data.images import SUFFIXES

    if family.reads == "text" and given.lower().endswith(SUFFIXES) and _is_file(given):
        raise DataError(
            "this model reads text, and this is a picture.", got=given, do="give a sentence"
        )
    if family.reads == "picture" and not _is_file(given):
        raise DataError(
            "this model reads pictures, and there is no such file.",
            got=repr(given[:80]),
            do="give a picture's path",
        )


def _is_file(given: str) -> bool:
    try:
        return Path(given).is_file()
    except OSError:  # a whole paragraph is too long for a name
        return False
