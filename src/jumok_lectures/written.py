"""Corpora that labs write for themselves, once into a folder that all labs share."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from jumok.data.files.atomic import atomic_folder

Splits = Mapping[str, Mapping[str, Sequence[str]]]
"""By split and by kind of file the lines."""


def written(home: Path, splits: Callable[[], Splits]) -> Path:
    """The folder `home` with a file SPLIT.KIND for all lines; they are made if it is not there."""
    if not home.exists():
        with atomic_folder(home) as partial:
            for split, kinds in splits().items():
                for kind, lines in kinds.items():
                    file = partial / f"{split}.{kind}"
                    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return home
