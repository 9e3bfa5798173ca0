"""The bundle that benchmarks decode with is trained once, and again when its format is old."""

import json
import shutil
from pathlib import Path

from benchmarks.bundle import is_current


def test_a_bundle_of_an_older_format_is_trained_anew(tiny_bundle: Path, tmp_path: Path) -> None:
    assert not is_current(tmp_path / "none")
    old = Path(shutil.copytree(tiny_bundle, tmp_path / "old"))
    assert is_current(old)
    config = json.loads((old / "config.json").read_text("utf-8"))
    del config["task"]
    (old / "config.json").write_text(json.dumps(config), encoding="utf-8")
    assert not is_current(old)
