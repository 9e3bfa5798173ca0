"""The tables of docs/export.md and docs/reliability.md have the rows of their benchmarks."""

from pathlib import Path

from tests.export.models import OF_IMAGES, OTHERS, SECTIONS

ROOT = Path(__file__).parents[2]
BROKEN = "kills and failing writes"
"""The row of `benchmarks.broken`, which prints no table."""


def rows(page: str, heading: str) -> list[str]:
    """The first cells of the tables whose first heading is `heading`."""
    found, inside = [], False
    for line in (ROOT / "docs" / page).read_text("utf-8").splitlines():
        if not line.startswith("|"):
            inside = False
        elif line.startswith(f"| {heading} |"):
            inside = True
        elif inside and not line.startswith("|--"):
            found.append(line.split("|")[1].strip())
    return found


def test_the_rows_of_formats():
    written = rows("export.md", "model | huggingface")
    assert len(written) > 20
    assert sorted(written) == sorted(SECTIONS | OF_IMAGES | OTHERS)


def test_the_areas_of_attacks():
    sources = ("attack.py", "attacks.py")
    code = "".join((ROOT / "benchmarks" / name).read_text("utf-8") for name in sources)
    areas = rows("reliability.md", "area")
    assert len(areas) == 17
    assert [area for area in areas if f'"{area}"' not in code and not area.startswith(BROKEN)] == []
