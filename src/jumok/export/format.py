"""What a format of others is: the models that it holds, and what writes it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from jumok.bundle.reading import Bundle

ExportPrecision = Literal["fp32", "bf16", "int8"]


@dataclass(frozen=True)
class Obstacle:
    """Why a format does not hold a model.

    Attributes:
        lacks: what of the model the format does not have.
        keys: the keys of the recipe's section [model] with the values that would fit; None: the key
            is left out.
    """

    lacks: str
    keys: Mapping[str, object] = field(default_factory=dict)

    def __str__(self) -> str:
        if not self.keys:
            return self.lacks
        fit = ", ".join(
            f"no {key}" if value is None else f"{key} = {_written(value)}"
            for key, value in self.keys.items()
        )
        return f"{self.lacks}; a model trained with {fit} would fit"


def _written(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(map(_written, value))}]"
    return f'"{value}"' if isinstance(value, str) else str(value)


@dataclass(frozen=True)
class ExportOptions:
    """What a user may choose.

    Attributes:
        precision: the number format of the matrices.
        title: the model's name in what is written.
        beam: the beam size, where the format has one.
        examples: inputs for the model; a page opens with the first one.
        address: where a page will be; "": not known.
        held_out: texts of the data for test or validation of the model's run with their references
            ("" for a language model), by which its loss with fewer bits is measured.
        say: shows what takes long.
    """

    precision: ExportPrecision
    title: str
    beam: int = 5
    examples: tuple[str, ...] = ()
    address: str = ""
    held_out: tuple[tuple[str, str], ...] = ()
    say: Callable[[str], None] = lambda _: None


@dataclass(frozen=True)
class ExportFormat:
    """A format of others.

    Attributes:
        name: that of the option --to.
        reads: who reads it.
        precisions: number formats, the default first.
        obstacle: why a model cannot be written in it; None: it can.
        write: (bundle, path, options) writes it to a path that does not exist yet, and returns what
            was compared with the owner's code, in words; "" where that is not installed. Raises a
            JumokError if the two differ or a package is missing.
        file: the name of the one file that is written, where none is given; "": it is a folder.
    """

    name: str
    reads: str
    precisions: tuple[ExportPrecision, ...]
    obstacle: Callable[[Bundle], Obstacle | None]
    write: Callable[[Bundle, Path, ExportOptions], str]
    file: str = ""
