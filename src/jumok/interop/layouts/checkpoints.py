"""Which checkpoint of a folder is read. Imports no torch."""

from collections.abc import Sequence
from pathlib import Path

from jumok.errors import BundleError, Location


def chosen(path: Path, suffix: str, names: Sequence[str] = ()) -> Path:
    """This file; or of a folder, that has one, the first of these names, or the only one.

    Raises:
        BundleError: there are several.
    """
    if path.is_file():
        return path
    for name in names:
        if (path / name).is_file():
            return path / name
    files = sorted(path.glob(f"*{suffix}"))
    if len(files) > 1:
        raise BundleError(
            "there are several checkpoints in this folder.",
            expected=" or ".join(names) or "one",
            got=", ".join(file.name for file in files[:5]),
            do="give the file of one of them",
            place=Location(path),
        )
    return files[0]
