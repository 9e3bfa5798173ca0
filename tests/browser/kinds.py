"""A small model of every kind, what it is given, and its traces: each is made once."""

import functools
from collections.abc import Callable
from pathlib import Path

from jumok.decoding import DecodingOptions
from jumok.inspection.trace import Trace
from jumok.tracing.catalog import load_family
from jumok.tracing.request import Analyses
from tests.systems.lm import write_lm
from tests.systems.pictures import write_captioner, write_pictures
from tests.systems.untrained import write_classifier, write_masked, write_rnn, write_text_classifier

SHORT = DecodingOptions(beam=2, maximum_length=4)
GATED = {"kind": "rnn", "dim": 16, "embedding": 12, "attention": "additive", "gate": True}
EVERYWHERE = {"overview", "board", "row", "walk", "grid", "heads"}
VIEWS = {
    "Transformer": EVERYWHERE | {"theatre", "beam"},
    # One head is not seen beside others.
    "Bahdanau's RNN": EVERYWHERE - {"grid"} | {"theatre", "beam"},
    "captioner": EVERYWHERE - {"grid"} | {"scrubber", "theatre", "beam"},
    "language model": EVERYWHERE | {"theatre", "beam"},
    "CNN": EVERYWHERE | {"scrubber", "beam"},
    "masked model": EVERYWHERE | {"beam"},
    "text classifier": EVERYWHERE | {"beam"},
    "BERT": {"overview", "board", "row", "walk", "grid"},
}


def write_bahdanau(folder: Path) -> Path:
    return write_rnn(folder, attention="additive", order="bahdanau")


def write_bert(folder: Path) -> Path:
    from tests.interop.bert import bert, save  # transformers takes seconds to import

    return save(bert().bert, folder)


class Folders:
    """By the kind: the bundle, which is written when somebody first asks, and what it is given."""

    def __init__(self, home: Path, tiny_bundle: Path) -> None:
        self.home, self.tiny_bundle = home, tiny_bundle

    @functools.cache  # noqa: B019
    def __getitem__(self, kind: str) -> tuple[Path, str]:
        if kind == "Transformer":
            return self.tiny_bundle, "the cat sat"
        write, given = WRITTEN[kind]
        return write(self.home / kind), given or str(self.picture())

    @functools.cache  # noqa: B019
    def picture(self) -> Path:
        return write_pictures(self.home / "pictures", 1)[0]


WRITTEN: dict[str, tuple[Callable[[Path], Path], str | None]] = {
    "Bahdanau's RNN": (write_bahdanau, "the cat sat"),
    "captioner": (functools.partial(write_captioner, decoder=GATED), None),
    "language model": (write_lm, "a <b"),
    "CNN": (write_classifier, None),
    "masked model": (write_masked, "the [MASK] sat"),
    "text classifier": (write_text_classifier, "the cat sat"),
    "BERT": (write_bert, "the cats sat"),
}
"""How the bundle of a kind is written, and what it is given; None: a picture."""


@functools.cache
def traced(folders: Folders, kind: str, given: str | None = None) -> Trace:
    """A trace without what takes passes of its own, but for the ablation of the usual input."""
    folder, usual = folders[kind]
    family = load_family(folder, device="cpu")
    extras = Analyses(attribution=False, ablation=given is None)
    return family.trace(usual if given is None else given, options=SHORT, extras=extras)


@functools.cache
def whole(folders: Folders, kind: str) -> Trace:
    """A trace with all analyses."""
    folder, usual = folders[kind]
    return load_family(folder, device="cpu").trace(usual, options=SHORT, extras=Analyses())
