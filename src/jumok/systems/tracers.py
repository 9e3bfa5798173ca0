"""Every family's tracing by the task that its bundle names: what a model looked at, as a trace."""

from collections.abc import Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Literal, NamedTuple, Protocol, runtime_checkable

from jumok.bundle.reading import read_bundle
from jumok.decoding import DecodingOptions
from jumok.errors import DataError
from jumok.inspection.intervene import Change
from jumok.inspection.trace import Level, Trace
from jumok.systems.bert import is_bert, load_bert
from jumok.systems.catalog import load
from jumok.systems.device import Precision
from jumok.systems.known import Known
from jumok.systems.tracing_parts import Extras


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
}


@runtime_checkable  # the tests check annotations while they run
class Traced(Protocol):
    """A loaded model that tells what it looked at; see `trace_translation` for what is told."""

    def __call__(
        self,
        given: str,
        target: str | Sequence[int] | None = None,
        options: DecodingOptions = ...,
        *,
        level: Level = ...,
        change: Change = ...,
        prefix: Sequence[int] = ...,
        extras: Extras = ...,
        name: str = ...,
    ) -> Trace:
        """The trace of a text, or of a picture by its path."""
        ...


class Family(NamedTuple):
    """What traces one loaded model, how it decodes where nobody says, what it reads; itself, and
    its name."""

    trace: Traced
    options: DecodingOptions
    reads: Literal["text", "picture"]
    system: Known
    name: str


def load_family(
    *folders: Path | str, device: str = "auto", precision: Precision = "fp32"
) -> Family:
    """What traces the model in this folder; of several, the ensemble that they make.

    A folder may also hold a BERT as Hugging Face keeps it (`jumok.systems.bert`).

    Raises:
        BundleError: a bundle that is missing, damaged, unsafe, or of a task unknown here.
        ConfigError: no such device.
    """
    if len(folders) == 1 and is_bert(Path(folders[0])):
        return _of_bert(Path(folders[0]), device)
    system = load(*folders, device=device, precision=precision)
    first = read_bundle(Path(folders[0]))
    tracer = TRACERS[first.config.task]
    module = import_module(tracer.module)
    traced = partial(getattr(module, tracer.name), system)
    return Family(traced, module.DEFAULTS, tracer.reads, system, first.card.name)


def _of_bert(folder: Path, device: str) -> Family:
    from jumok.systems.tracing_bert import trace_bert
    from jumok.systems.tracing_texts import DEFAULTS

    system = load_bert(folder, device)
    return Family(partial(trace_bert, system), DEFAULTS, "text", system, system.name)


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
