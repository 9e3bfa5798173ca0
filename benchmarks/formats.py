"""Which models which formats hold, and how far numbers differ there at most: docs/export.md.

    OMP_NUM_THREADS=1 python -m benchmarks.formats [FORMAT ...]

Untrained models of each kind are exported in every format that holds them (`jumok export`). A cell
is the largest difference between numbers that the format's own program computes and ours, or
"tokens" where only what both write is compared; "written": that program is not installed, so at
most the file with its own import is compared.
"""

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import jaxtyping

from jumok.bundle.reading import Bundle, read_bundle
from jumok.errors import JumokError
from jumok.export.catalog import FORMATS
from jumok.export.format import ExportFormat, ExportOptions
from jumok.export.gguf.comparing import ABSENT
from jumok.export.run import export_model
from tests.export.models import OF_IMAGES, OTHERS, SECTIONS, write_model

COMPARED = ("huggingface", "ctranslate2", "gguf", "onnx")
_DIFFERENCE = re.compile(r"differ by (\S+) at most")


@dataclass(frozen=True)
class FormatRow:
    """A model and, by format, what came of it."""

    model: str
    cells: dict[str, str]

    def __str__(self) -> str:
        return "| " + " | ".join([self.model, *self.cells.values()]) + " |"


def rows(room: Path, formats: Sequence[str]) -> Iterator[FormatRow]:
    """A row for each kind of model."""
    for name, section in (SECTIONS | OF_IMAGES | OTHERS).items():
        bundle = read_bundle(write_model(room / name, section))
        yield FormatRow(
            name, {each: cell(bundle, FORMATS[each], room / f"{name} {each}") for each in formats}
        )


def cell(bundle: Bundle, format: ExportFormat, output: Path) -> str:
    """What came of a model in a format."""
    if format.obstacle(bundle) is not None:
        return "–"
    try:
        told = export_model(
            bundle, format, output, ExportOptions(format.precisions[0], "untrained")
        )
    except JumokError as error:
        return f"refused: {error.what}"
    if not told or ABSENT in told:
        return "written"
    found = _DIFFERENCE.search(told)
    return found[1] if found else "tokens"


def main() -> None:
    """Prints the table."""
    jaxtyping.config.update(
        "jaxtyping_disable", True
    )  # the sizes of traced tensors are no integers
    formats = sys.argv[1:] or COMPARED
    print("| model |", " | ".join(formats), "|")
    print("|---|" + "--:|" * len(formats))
    with TemporaryDirectory() as room:
        for row in rows(Path(room), formats):
            print(row, flush=True)


if __name__ == "__main__":
    main()
