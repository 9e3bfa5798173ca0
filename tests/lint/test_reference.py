"""`make docs` builds the reference of every public name without a warning."""

import subprocess
import sys
from pathlib import Path

import jumok

SCRIPT = Path(__file__).parents[2] / "docs" / "reference.py"


def test_the_reference_has_every_public_name(tmp_path):
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    page = (tmp_path / "jumok.html").read_text("utf-8")
    packages = {"plot"}  # with a page of its own
    assert {name for name in jumok.__all__ if f'id="{name}"' not in page} == packages
    assert all((tmp_path / "jumok" / f"{name}.html").exists() for name in packages)
    assert "Raises:" in page
    assert (tmp_path / "jumok" / "attention" / "interfaces.html").exists()
