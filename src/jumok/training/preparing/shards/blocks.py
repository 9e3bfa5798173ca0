"""The files that the stages of `jumok prepare` hand on: blocks of pairs, and what was found."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain, compress, islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from jumok.data.files.atomic import atomic_file, force_to_disk
from jumok.data.pairs.cleaning.characters import Rows
from jumok.data.pairs.cleaning.duplicates import HashKeys
from jumok.data.pairs.pair import ColumnReader, Pair, PairColumns
from jumok.data.pairs.store import SIDES
from jumok.json_types import JsonObject
from jumok.training.preparing.shards.plan import KEY_PARTS, CorpusPlan, WorkBlock

_LINES = 20_000  # pairs written at once
_BITS = np.uint64(64 - KEY_PARTS.bit_length() + 1)


def write_block(plan: CorpusPlan, name: str, pairs: ColumnReader) -> int:
    """Writes the next pairs as a block: the texts of each side, a line each, and the pairs' lines.

    Returns:
        how many there are: those of a shard, or fewer at the end.
    """
    lines = [np.zeros(0, np.int64)]
    written = 0
    with ExitStack() as stack:
        files = []
        for side in SIDES:
            partial = stack.enter_context(atomic_file(_in(plan, "blocks", f"{name}.{side}")))
            files.append(stack.enter_context(partial.open("wb")))
        while len(part := pairs.take(min(_LINES, plan.shard_pairs - written))):
            for file, texts in zip(files, (part.sources, part.targets), strict=True):
                joined = "\n".join(texts).replace("\t", " ")
                file.write(f"{joined}\n".encode("utf-8", "surrogatepass"))
            lines.append(part.lines)
            written += len(part)
    _write_file(_in(plan, "blocks", f"{name}.lines"), np.concatenate(lines).astype("<u8").tobytes())
    return written


def read_block(
    plan: CorpusPlan, block: WorkBlock, size: int, rows: Rows | None = None
) -> Iterator[PairColumns]:
    """The pairs of a block, `size` at a time; only `rows`, if given."""
    lines = _line_numbers(plan, block)
    with ExitStack() as stack:
        sides = [stack.enter_context(file.open("rb")) for file in _side_files(plan, block)]
        source, target = (iter(side) if rows is None else compress(side, rows) for side in sides)
        if rows is not None:
            lines = lines[rows]
        for start in range(0, len(lines), size):
            own = lines[start : start + size]
            yield PairColumns(_next_texts(source, len(own)), _next_texts(target, len(own)), own)


def read_texts(plan: CorpusPlan, block: WorkBlock, rows: Rows) -> Iterator[bytes]:
    """The texts of these pairs, source after source's target, in UTF-8 with their line breaks."""
    with ExitStack() as stack:
        sides = [stack.enter_context(file.open("rb")) for file in _side_files(plan, block)]
        texts = (compress(side, rows) for side in sides)
        yield from chain.from_iterable(zip(*texts, strict=True))


class BlockExamples:
    """The pairs of a block, of which a few are read as examples."""

    def __init__(self, plan: CorpusPlan, block: WorkBlock) -> None:
        self._plan, self._block = plan, block
        self._line_numbers = _line_numbers(plan, block)

    def __len__(self) -> int:
        return self._block.pairs

    def __getitem__(self, row: int) -> Pair:
        texts = []
        for file in _side_files(self._plan, self._block):
            with file.open("rb") as side:
                texts += _next_texts(islice(side, row, None), 1)
        return Pair(texts[0], texts[1], int(self._line_numbers[row]))


def _next_texts(lines: Iterator[bytes], count: int) -> list[str]:
    joined = b"".join(islice(lines, count)).decode("utf-8", "surrogatepass")
    return joined.removesuffix("\n").split("\n")


def _side_files(plan: CorpusPlan, block: WorkBlock) -> list[Path]:
    return [plan.work / "blocks" / f"{block.name}.{side}" for side in SIDES]


def _line_numbers(plan: CorpusPlan, block: WorkBlock) -> npt.NDArray[np.int64]:
    return np.fromfile(plan.work / "blocks" / f"{block.name}.lines", "<u8").astype(np.int64)


@dataclass(frozen=True)
class KeyTable:
    """Keys of the pairs of a block, ordered by the parts that they belong to.

    Attributes:
        keys: of pairs, or of bands of their signatures.
        rows: the number of each pair in its block.
        sketches: of the signatures; empty for keys of pairs.
    """

    keys: HashKeys
    rows: npt.NDArray[np.uint32]
    sketches: HashKeys

    @classmethod
    def of(cls, keys: HashKeys, rows: npt.NDArray[np.int64], sketches: HashKeys) -> "KeyTable":
        """Puts the keys of each part together, and leaves their order within it."""
        order = np.argsort(keys >> _BITS, kind="stable")
        ordered = sketches[order] if len(sketches) else sketches
        return cls(keys[order], rows[order].astype(np.uint32), ordered)

    def write(self, plan: CorpusPlan, block: WorkBlock, name: str) -> None:
        """Writes it: where each part ends, then the columns."""
        ends = np.searchsorted(self.keys >> _BITS, np.arange(1, KEY_PARTS + 1, dtype=np.uint64))
        parts = (ends.astype("<u8"), self.keys.astype("<u8"), self.sketches.astype("<u8"))
        content = b"".join(part.tobytes() for part in parts) + self.rows.astype("<u4").tobytes()
        _write_file(_in(plan, "keys", f"{block.name}.{name}"), content)

    @classmethod
    def read(cls, plan: CorpusPlan, block: WorkBlock, name: str, part: int) -> "KeyTable":
        """One part of a table."""
        file = plan.work / "keys" / f"{block.name}.{name}"
        ends = np.fromfile(file, "<u8", KEY_PARTS).tolist()
        count, start, end = ends[-1], ends[part - 1] if part else 0, ends[part]
        with_sketches = file.stat().st_size > 8 * KEY_PARTS + 12 * count

        def column(start_of_keys: int, kind: str) -> npt.NDArray[np.unsignedinteger]:
            size = np.dtype(kind).itemsize
            return np.fromfile(file, kind, end - start, offset=start_of_keys + size * start)

        start_of_keys = 8 * KEY_PARTS
        keys = column(start_of_keys, "<u8").astype(np.uint64)
        sketches = np.zeros(0, dtype=np.uint64)
        if with_sketches:
            sketches = column(start_of_keys + 8 * count, "<u8").astype(np.uint64)
        rows = column(start_of_keys + (16 if with_sketches else 8) * count, "<u4").astype(np.uint32)
        return cls(keys, rows, sketches)


def write_left(plan: CorpusPlan, block: WorkBlock, left: Rows) -> None:
    """Writes which pairs of a block are left by the filters of single pairs."""
    _write_file(_in(plan, "found", f"{block.name}.left"), np.packbits(left).tobytes())


def read_left(plan: CorpusPlan, block: WorkBlock) -> Rows:
    """Which pairs of a block are left by the filters of single pairs."""
    packed = np.fromfile(plan.work / "found" / f"{block.name}.left", np.uint8)
    return np.unpackbits(packed, count=block.pairs).astype(np.bool_)


def write_repeated(plan: CorpusPlan, task: int, kind: str, pairs: npt.NDArray[np.int64]) -> None:
    """Writes the numbers of the pairs that repeat earlier ones, as far as one task finds them."""
    _write_file(_in(plan, "repeated", f"{task:05}.{kind}"), np.unique(pairs).tobytes())


def read_repeated(plan: CorpusPlan, block: WorkBlock, kind: str) -> Rows:
    """Which pairs of a block repeat earlier ones."""
    repeated = np.zeros(block.pairs, dtype=np.bool_)
    for file in (plan.work / "repeated").glob(f"*.{kind}"):
        numbers = np.memmap(file, np.int64, "r") if file.stat().st_size else np.zeros(0, np.int64)
        first, last = np.searchsorted(numbers, [block.start, block.start + block.pairs])
        repeated[numbers[first:last] - block.start] = True
    return repeated


def write_hashes(plan: CorpusPlan, block: WorkBlock, hashes: HashKeys) -> None:
    """Writes a hash of each source of a block; 0 for pairs that the filters take away."""
    _write_file(_in(plan, "found", f"{block.name}.hashes"), hashes.astype("<u8").tobytes())


def read_hashes(plan: CorpusPlan, block: WorkBlock) -> HashKeys:
    """A hash of each source of a block."""
    file = plan.work / "found" / f"{block.name}.hashes"
    return np.fromfile(file, "<u8").astype(np.uint64)


def write_json(plan: CorpusPlan, folder: str, name: str, value: object) -> None:
    """Writes a value that stages hand on."""
    text = json.dumps(value, ensure_ascii=False)
    _write_file(_in(plan, folder, f"{name}.json"), text.encode("utf-8", "backslashreplace"))


def read_json(plan: CorpusPlan, folder: str, name: str) -> JsonObject:
    """A value that another stage wrote."""
    return json.loads((plan.work / folder / f"{name}.json").read_text("utf-8"))


def settle(plan: CorpusPlan, since: float) -> None:
    """Waits until what was written since then would survive a power cut: then a task has ended."""
    for path in plan.work.glob("*/*"):
        if path.is_file() and path.stat().st_mtime >= since:
            force_to_disk(path)


def _write_file(file: Path, content: bytes) -> None:
    """Writes a file atomically; `settle` waits for all of them at once, which takes less time."""
    with atomic_file(file) as partial:
        partial.write_bytes(content)


def _in(plan: CorpusPlan, folder: str, name: str) -> Path:
    (plan.work / folder).mkdir(exist_ok=True)
    return plan.work / folder / name
