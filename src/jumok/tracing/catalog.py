"""The tracer of every task by the task's name: what a model attends to, as a trace."""

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Literal, NamedTuple

import torch

from jumok.decoding import DecodingOptions
from jumok.errors import DataError
from jumok.inspection.hooks.intervene import UNCHANGED, Change
from jumok.inspection.trace import Level, Trace
from jumok.systems.base import System
from jumok.systems.catalog import load
from jumok.systems.device import PrecisionName
from jumok.tracing.passes import EVERYTHING, LEVEL, Analyses, TraceRequest


class Tracer(NamedTuple):
    """Where the tracer of a task is, and what it reads; nothing is imported before it is used."""

    module: str
    name: str
    reads: Literal["text", "picture"]


TRACERS = {
    "translation": Tracer("jumok.tracing.translation", "trace_translation", "text"),
    "captioning": Tracer("jumok.tracing.captions", "trace_caption", "picture"),
    "language-model": Tracer("jumok.tracing.language_model", "trace_language_model", "text"),
    "masked-lm": Tracer("jumok.tracing.texts", "trace_gaps", "text"),
    "text-classification": Tracer("jumok.tracing.texts", "trace_text_class", "text"),
    "image-classification": Tracer("jumok.tracing.pictures", "trace_picture_class", "picture"),
    "bert": Tracer("jumok.tracing.bert", "trace_bert", "text"),
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
    """Traces what a loaded model attends to in a text or an image, and what it predicts.

    Args:
        system: what `jumok.load` returns.
        given: a text, or the path of an image.
        target: what is to be written or chosen, as a text or as tokens; None: the model's own
            choice.
        options: how the model searches if it writes; None: the default for its kind.
        level: "qk" keeps queries, keys and values besides the weights; "full" also the streams.
        change: changes to the model meanwhile: heads ablated, words masked, weights set.
        prefix: tokens that the output has to begin with.
        extras: further analyses, and a callable that may cancel the work.
        name: the model's name in the trace.

    Raises:
        ConfigError: a target was given to a model without an output layer.
        DataError: a text has no word, or is longer than the model reads at once; an image cannot be
            read; there is no such label or token.
        ModelError: the model has no attention, or not the heads that are named.
    """
    tracer = TRACERS[system.task]
    module = import_module(tracer.module)
    asked = TraceRequest(options or module.OPTIONS, target, level, change, prefix, extras, name)
    with system.at_work(), torch.inference_mode():
        found: Trace = getattr(module, tracer.name)(system, given, asked)
    return found


class Family(NamedTuple):
    """What traces one loaded model (`trace`), its default decoding, what it reads; the system, and
    its name."""

    trace: Callable[..., Trace]
    options: DecodingOptions
    reads: Literal["text", "picture"]
    system: System
    name: str


def load_family(
    *folders: Path | str, device: str = "auto", precision: PrecisionName = "fp32"
) -> Family:
    """The tracer of the model in this folder; several folders make an ensemble.

    Raises:
        BundleError: a bundle is missing, damaged or unsafe, or its task is not known.
        ConfigError: the device does not exist.
    """
    system = load(*folders, device=device, precision=precision)
    tracer = TRACERS[system.task]
    options = import_module(tracer.module).OPTIONS
    return Family(partial(trace, system), options, tracer.reads, system, system.name)


def check_given(family: Family, given: str) -> None:
    """Checks that the model reads what is given: a text, or an image.

    Raises:
        DataError: the model does not read this.
    """
    from jumok.data.files.images import SUFFIXES

    if family.reads == "text" and given.lower().endswith(SUFFIXES) and _is_file(given):
        raise DataError(
            "this model reads text, and this is an image.", got=given, do="give a sentence"
        )
    if family.reads == "picture" and not _is_file(given):
        raise DataError(
            "this model reads images, and there is no such file.",
            got=repr(given[:80]),
            do="give the path of an image",
        )


def _is_file(given: str) -> bool:
    try:
        return Path(given).is_file()
    except OSError:  # a whole paragraph is too long for a file name
        return False
