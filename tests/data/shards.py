"""A small prepared corpus: twenty pairs in three shards."""

from pathlib import Path
from typing import Any

from jumok.data.files.manifest import Manifest
from jumok.data.pairs.pair import Pair
from jumok.data.pairs.shards import write_manifest, write_shard
from jumok.data.pairs.store import Filters
from jumok.data.report import CorpusReport
from jumok.data.tokenizer import Tokenizer
from tests.data.sentences import ENGLISH

ROWS = [
    Pair(source, target, line)
    for line, (source, target) in enumerate(zip(ENGLISH, reversed(ENGLISH), strict=True), 1)
]


def write(folder: Path, tokenizer: Tokenizer, shards: int = 3, **options: Any) -> Manifest:
    """Writes ROWS in shards of seven pairs, or of as many as fit."""
    each = -(-len(ROWS) // shards)
    for number in range(shards):
        rows = ROWS[number * each : (number + 1) * each]
        report = CorpusReport("rows")
        assert write_shard(folder, number, rows, tokenizer, Filters(), report=report, **options)
    return write_manifest(
        folder, tokenizer, name="rows", validation=ROWS[:4], about={"filters": "none"}
    )
