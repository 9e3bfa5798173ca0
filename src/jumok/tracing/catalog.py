"""`jumok.trace`: what a loaded model of any kind attends to, as a trace."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

import torch

from jumok.attention.events import unheard
from jumok.decoding import DecodingOptions
from jumok.errors import DataError, Location
from jumok.inspection.hooks.intervene import UNCHANGED, Change
from jumok.inspection.trace import Level, Trace
from jumok.systems.base import System
from jumok.systems.catalog import OpenedModel, for_languages, open_model
from jumok.systems.device import PrecisionName
from jumok.tracing.forced import trace_with, tracer_of
from jumok.tracing.request import EVERYTHING, TRACE_LEVEL, Analyses, TraceRequest


def trace(
    system: System,
    given: Path | str,
    target: str | Sequence[int] | None = None,
    options: DecodingOptions | None = None,
    *,
    level: Level = TRACE_LEVEL,
    change: Change = UNCHANGED,
    prefix: Sequence[int] = (),
    extras: Analyses = EVERYTHING,
    name: str = "model",
    segment: int | None = None,
) -> Trace:
    """Traces the attention of a loaded model in a text or an image, and its predictions.

    The output of a translator is that of `translate`. A text without a word is copied, and
    its trace has no sites.

    Args:
        given: a text, or the path of an image.
        target: the output to force, as a text or as tokens; None: the model's own output.
        level: "qk" also records queries, keys and values; "full" also the residual streams.
        change: changes to the model during the trace: ablated heads, masked words, set weights.
        prefix: the forced first tokens of the output.
        segment: the index of the segment to trace, from 0, if a translator reads the text in
            several. None: the first segment with a word, or with a target the whole text.
        extras: further analyses, and a callable that may cancel the work.

    Raises:
        ConfigError: a target was given to a model without an output layer.
        DataError: a text is empty, or longer than the model reads at once; an image cannot be
            read; the label, token or segment does not exist.
        ModelError: the model has no attention, or not the named heads.
    """
    tracer = tracer_of(system)
    request = TraceRequest(
        options or tracer.options, target, level, change, prefix, extras, name, segment
    )
    with torch.inference_mode(), unheard():  # a recording around it is of other uses
        return trace_with(tracer, system, str(given), request)


class Family(NamedTuple):
    """A loaded system, its tracer (`trace`), its default decoding, and what it reads."""

    trace: Callable[..., Trace]
    options: DecodingOptions
    reads: Literal["text", "picture"]
    system: System
    opened: OpenedModel

    @property
    def name(self) -> str:
        return self.system.name


def load_family(
    *folders: Path | str,
    device: str = "auto",
    precision: PrecisionName = "fp32",
    between: tuple[str | None, str | None] = (None, None),
) -> Family:
    """The tracer of the model in this folder; several folders make an ensemble.

    Args:
        precision: of the passes that are shown. In "fp32" the native engine may search for the
            output, in the number format of the bundle, as for `jumok translate`.
        between: the languages, of a translator of several pairs.

    Raises:
        BundleError: a bundle is missing, damaged or unsafe, or its task is not known.
        ConfigError: the device does not exist, or the model does not have these languages.
    """
    opened = open_model(*folders)
    whole = precision == "fp32"
    system = opened.load(device, "auto" if whole else precision, "auto" if whole else "torch")
    system = for_languages(system, *between)
    return Family(
        partial(trace, system), tracer_of(system).options, opened.kind.reads, system, opened
    )


def check_given(family: Family, given: str) -> None:
    """Checks that the model reads what is given: a text, or an image.

    Raises:
        DataError: the model does not read this.
    """
    from jumok.data.files.images import IMAGE_SUFFIXES

    if family.reads == "text" and given.lower().endswith(IMAGE_SUFFIXES) and _is_file(given):
        raise DataError(
            "this model reads text, and this is an image.", got=given, do="give a sentence"
        )
    if family.reads == "picture" and not _is_file(given):
        raise DataError(
            "this model reads images, and there is no such file.",
            got=repr(given[:80]),
            do="give the path of an image",
            known=("faultNoFile",),
            place=Location(given[:80]),
        )


def _is_file(given: str) -> bool:
    try:
        return Path(given).is_file()
    except OSError:  # a whole paragraph is too long for a file name
        return False
