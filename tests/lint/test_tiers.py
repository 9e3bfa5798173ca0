"""The quick tests of `make check` start no process, no browser and no training."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SLOW = re.compile(
    r"^(?:import|from) (subprocess|multiprocessing|playwright|typer\.testing|jumok\.training\.run)",
    re.MULTILINE,
)


def quick_files() -> list[Path]:
    [folders] = re.findall(r"^QUICK := (.+)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    return [file for name in folders.split() for file in (ROOT / "tests" / name).rglob("*.py")]


def test_quick_tests_start_nothing_that_is_slow():
    unmarked = [
        str(file.relative_to(ROOT))
        for file in quick_files()
        if SLOW.search(text := file.read_text("utf-8")) and "@pytest.mark.process" not in text
    ]
    assert quick_files()
    assert unmarked == []
