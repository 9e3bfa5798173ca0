"""A Marian that translates into several languages."""

import json
from pathlib import Path

from tests.interop.folders import write_marian

TAGS = ">>de<<", ">>fra<<"


def write_tagged_marian(folder: Path) -> Path:
    """Two rows that no text has become the tags of languages."""
    write_marian(folder)
    file = folder / "vocab.json"
    names = json.loads(file.read_text())
    kept = [piece for piece in names if piece not in ("트", "in neither")]
    assert len(kept) == len(names) - 2
    changed = dict(names)
    for tag, piece in zip(TAGS, ("in neither", "트"), strict=True):
        changed[tag] = changed.pop(piece)
    file.write_text(json.dumps(changed))
    return folder
