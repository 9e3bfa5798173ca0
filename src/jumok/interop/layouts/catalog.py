"""The layouts that jumok reads. Imports no torch."""

from pathlib import Path

from jumok.errors import BundleError, Location
from jumok.interop.layouts.eole import EOLE_FOLDER
from jumok.interop.layouts.fairseq import FAIRSEQ_FOLDER
from jumok.interop.layouts.g2p import G2P_FILE
from jumok.interop.layouts.gguf import GGUF
from jumok.interop.layouts.huggingface import HUGGING_FACE
from jumok.interop.layouts.joeynmt import JOEYNMT_FOLDER
from jumok.interop.layouts.marian import MARIAN_FILES
from jumok.interop.layouts.opennmt import OPENNMT_FILE
from jumok.interop.source import Source, SourceLayout

LAYOUTS: tuple[SourceLayout, ...] = (
    MARIAN_FILES,
    GGUF,
    JOEYNMT_FOLDER,
    EOLE_FOLDER,
    FAIRSEQ_FOLDER,
    G2P_FILE,
    OPENNMT_FILE,
    HUGGING_FACE,
)


def is_foreign(path: Path) -> bool:
    """Whether a model of others lies there; a BundleError if a file that says it is damaged."""
    return any(layout.detects(path) for layout in LAYOUTS)


def read_source(path: Path) -> Source:
    """What lies in this folder or file.

    Raises:
        BundleError: there is nothing, or nothing that jumok reads, or it is damaged.
    """
    for layout in LAYOUTS:
        if layout.detects(path):
            return layout.read(path)
    raise BundleError(
        "this is no model that jumok imports." if path.exists() else "there is nothing there.",
        expected="; or ".join(layout.holds for layout in LAYOUTS),
        do="give the model's folder, whole",
        place=Location(path),
    )
