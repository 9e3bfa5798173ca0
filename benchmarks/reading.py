"""Whether texts are read and written in a time that is proportional to their length.

    python -m benchmarks.reading [FORMAT ...] [--longest BYTES] [--model MODEL]
    python -m benchmarks.reading --memory [MB ...]

Each shape of `benchmarks.shapes` is read, and written in capitals, at doubled lengths from 8 kB to
1 MB, if it is one of those that take longest or grow most at shorter lengths; of a length twice as
long, the time should be twice as long. With --model, so are lines: it translates them, each part
with at most two tokens, up to 125 kB. With --memory, translation memories (TMX) of these sizes, 20
and 200 MB if none is given, are read as pairs, and the most memory that takes is printed.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from benchmarks.shapes import SHAPES, Shape
from jumok.data.pairs.corpus import Corpus, read_pairs
from jumok.decoding.options import DecodingOptions
from jumok.documents.catalog import FORMATS, translate_document
from jumok.documents.document import Languages
from jumok.errors import JumokError
from jumok.systems.translation.translator import Translator

DOUBLINGS = 7
LEAST = 0.05
"""Seconds; a shorter time is not compared with that of twice the length."""

SECONDS = 60.0
MOST = 2.2
WORST = 5
MODEL_SHARE = 8
"""Lines are shorter by this: a model reads them."""

MEMORY_MB = 20, 200
UNIT = (
    '<tu><tuv xml:lang="en"><seg>The <ph>{</ph>%d<ph>}</ph> cats sat.</seg></tuv>'
    '<tuv xml:lang="ko"><seg>고양이 %d 마리가 앉았다.</seg></tuv></tu>\n'
)


Read = Callable[[Shape, int], None]
"""Reads and writes a shape of so many bytes; one that is refused counts as well."""


def read_document(shape: Shape, length: int) -> None:
    """Translates a document into capitals."""
    translate_document(
        shape.content(length),
        lambda texts: [text.upper() for text in texts],
        shape.format,
        languages=Languages("en", "ko"),
    )


def read_lines(model: Path) -> Read:
    """Translates lines by this model."""
    translator = Translator.load(model, device="cpu", threads=1)
    options = DecodingOptions(beam=1, maximum_length=2)

    def read(shape: Shape, length: int) -> None:
        translator.translate(shape.text(length).splitlines(), options, alignments=False)

    return read


def seconds_of(read: Read, shape: Shape, length: int) -> float:
    """Processor seconds."""
    start = time.process_time()
    with suppress(JumokError):
        read(shape, length)
    return time.process_time() - start


def worst(read: Read, shapes: Sequence[Shape], longest: int) -> list[Shape]:
    """The shapes that take longest at an eighth of the length, and that grow most up to there."""
    lengths = longest // 32, longest // 8
    times = {
        each.name: [min(seconds_of(read, each, length) for _ in range(2)) for length in lengths]
        for each in shapes
    }

    def growth(shape: Shape) -> float:
        before, after = times[shape.name]
        return after / before if after > LEAST / 8 else 0.0

    slowest = sorted(shapes, key=lambda each: times[each.name][1])[-WORST:]
    return list(dict.fromkeys([*slowest, *sorted(shapes, key=growth)[-WORST:]]))


def grown(read: Read, shape: Shape, longest: int) -> tuple[float, float]:
    """Seconds of the longest text, and the largest growth when the length is doubled.

    A growth that looks too large is measured again, and the least counts. A text that takes more
    than a minute is not doubled any more.
    """
    lengths = [longest // 2**power for power in range(DOUBLINGS, -1, -1)]
    growth, before = 0.0, seconds_of(read, shape, lengths[0])
    for short, long in pairwise(lengths):
        after = seconds_of(read, shape, long)
        if before >= LEAST:
            ratio = after / before
            for _ in range(3):
                if ratio <= max(MOST, growth):
                    break
                ratio = min(ratio, seconds_of(read, shape, long) / seconds_of(read, shape, short))
            growth = max(growth, ratio)
        before = after
        if after > SECONDS:
            break
    return before, growth


def print_table(formats: Sequence[str], longest: int, model: Path | None) -> int:
    """A line for each format: its slowest shape, and the one that grows most; 1 if one grows too
    much."""
    print("| format | shapes | slowest | seconds | grows most | doubled |")
    print("|---|--:|---|--:|---|--:|")
    too_much: list[str] = []
    for format in formats:
        if format != "lines":
            read: Read = read_document
        elif model is not None:
            read = read_lines(model)
        else:
            continue
        every = [each for each in SHAPES if each.format == format]
        most_bytes = longest // MODEL_SHARE if format == "lines" else longest
        found = {
            each.name: grown(read, each, most_bytes) for each in worst(read, every, most_bytes)
        }
        slowest = max(found, key=lambda name: found[name][0])
        most = max(found, key=lambda name: found[name][1])
        print(
            f"| {format} | {len(every)} | {slowest} | {found[slowest][0]:.2f} | {most} "
            f"| ×{found[most][1]:.2f} |",
            flush=True,
        )
        too_much += [
            f"{format}, {name}: {seconds:.2f} s, ×{growth:.2f}"
            for name, (seconds, growth) in found.items()
            if growth > MOST or seconds > SECONDS
        ]
    print("\n".join(too_much))
    return int(bool(too_much))


def print_memory(sizes: Sequence[int]) -> None:
    """The most memory of reading so many MB of pairs; of several, each in a new process."""
    if len(sizes) == 1:
        print_pairs(sizes[0] * 10**6)
        return
    for size in sizes or MEMORY_MB:
        command = [sys.executable, "-m", __spec__.name, "--memory", str(size)]
        print(subprocess.run(command, check=True, capture_output=True, text=True).stdout, end="")


def print_pairs(size: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "memory.tmx"
        with file.open("w", encoding="utf-8") as stream:
            stream.write('<?xml version="1.0"?>\n<tmx version="1.4"><header srclang="en"/><body>\n')
            number = 0
            while stream.tell() < size:
                stream.writelines(UNIT % (each, each) for each in range(number, number + 1000))
                number += 1000
            stream.write("</body></tmx>\n")
        start = time.process_time()
        pairs = sum(
            1 for _ in read_pairs(Corpus(file=file, source_column="en", target_column="ko"))
        )
        seconds = time.process_time() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{file.stat().st_size / 1e6:.0f} MB, {pairs:,} pairs: {seconds:.1f} s, "
            f"at most {peak:.0f} MiB"
        )


def main() -> int:
    """Prints what is asked for; returns 1 if a time grows too much."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    formats = [*FORMATS, "lines"]
    parser.add_argument("formats", nargs="*", choices=[*formats, []], metavar="FORMAT")
    parser.add_argument("--model", type=Path, help="a translator, for lines")
    parser.add_argument("--longest", type=int, default=10**6, help="bytes of the longest document")
    parser.add_argument(
        "--memory", type=int, nargs="*", metavar="MB", help="memory, with 20 and 200 MB"
    )
    asked = parser.parse_args()
    if asked.memory is None:
        return print_table(asked.formats or formats, asked.longest, asked.model)
    print_memory(asked.memory)
    return 0


if __name__ == "__main__":
    sys.exit(main())
