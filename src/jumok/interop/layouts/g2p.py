"""g2p-en's weights: arrays of numpy in one .npz, whose letters and phonemes are in its code."""

from pathlib import Path
from typing import TYPE_CHECKING

from jumok.errors import BundleError, Location
from jumok.interop.layouts.npz import names_in, read_archive
from jumok.interop.source import Source, SourceLayout

if TYPE_CHECKING:
    from jumok.interop.containers import Container

KIND = "g2p-en"
TABLES = LETTERS, PHONEMES = "enc_emb", "dec_emb"


def read(path: Path) -> Source:
    """The model in this file, or in this folder; a BundleError if it is damaged."""
    file = path if path.is_file() else _models(path)[0]
    archive = read_archive(file, _damaged)
    for name in TABLES:
        if len(archive.shapes[name]) != 2:
            raise _damaged(file, f"{name}: an array of {archive.shapes[name]}")
    config = {
        "letters": archive.shapes[LETTERS][0],
        "vocab_size": archive.shapes[PHONEMES][0],
        "width": archive.shapes[PHONEMES][1],
    }

    def weights() -> "Container":
        import torch

        from jumok.interop.containers import Container

        files = dict.fromkeys(archive.shapes, file)
        return Container(
            file.parent, archive.shapes, files, lambda name: torch.from_numpy(archive.load(name))
        )

    return Source(path, KIND, "a model of g2p-en", config, file, weights)


def _models(folder: Path) -> list[Path]:
    return [file for file in sorted(folder.glob("*.npz")) if _is_model(file)]


def _is_model(file: Path) -> bool:
    try:
        return file.suffix == ".npz" and set(TABLES) < set(names_in(file))
    except OSError:
        return False


def _damaged(file: Path, what: str) -> BundleError:
    return BundleError(
        "this model of g2p-en is damaged.",
        got=what,
        do="install the package g2p-en again",
        place=Location(file),
    )


G2P_FILE = SourceLayout(
    "the .npz of g2p-en",
    lambda path: _is_model(path) if path.is_file() else path.is_dir() and bool(_models(path)),
    read,
)
