"""Whether documents are read and written in a time that is proportional to their length.

    python -m benchmarks.reading [FORMAT ...] [--longest BYTES]
    python -m benchmarks.reading --memory

Each shape of `benchmarks.shapes` is read, and written in capitals, at doubled lengths up to 1 MB;
of a length twice as long, the time should be twice as long. With --memory, a translation memory
(TMX) of 200 MB is read as pairs, and the most memory that takes is printed.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from benchmarks.shapes import SHAPES, Shape
from jumok.data.pairs.corpus import Corpus, read_pairs
from jumok.documents.catalog import FORMATS, translate_document
from jumok.documents.document import Languages
from jumok.errors import JumokError

DOUBLINGS = 6
LEAST = 0.05
"""Seconds; a shorter time is not compared with that of twice the length."""

MEMORY_BYTES = 200 * 10**6
UNIT = (
    '<tu><tuv xml:lang="en"><seg>The <ph>{</ph>%d<ph>}</ph> cats sat.</seg></tuv>'
    '<tuv xml:lang="ko"><seg>고양이 %d 마리가 앉았다.</seg></tuv></tu>\n'
)


def seconds_of(shape: Shape, length: int) -> float:
    """Processor seconds of reading and writing; refused documents count as well."""
    content = shape.content(length)
    start = time.process_time()
    with suppress(JumokError):
        translate_document(
            content,
            lambda texts: [text.upper() for text in texts],
            shape.format,
            languages=Languages("en", "ko"),
        )
    return time.process_time() - start


def grown(shape: Shape, longest: int) -> tuple[float, float]:
    """Seconds of the longest document, and the largest growth when the length is doubled.

    A growth that looks too large is measured again, and the least counts.
    """
    lengths = [longest // 2**power for power in range(DOUBLINGS, -1, -1)]
    times = [seconds_of(shape, length) for length in lengths]
    growth = 0.0
    for (short, long), (before, after) in zip(pairwise(lengths), pairwise(times), strict=True):
        if before < LEAST:
            continue
        ratio = after / before
        for _ in range(3):
            if ratio <= max(2.2, growth):
                break
            ratio = min(ratio, seconds_of(shape, long) / seconds_of(shape, short))
        growth = max(growth, ratio)
    return times[-1], growth


def print_table(formats: Sequence[str], longest: int) -> None:
    """A line for each format: its slowest shape, and the one that grows most."""
    print("| format | shapes | slowest | seconds | grows most | doubled |")
    print("|---|--:|---|--:|---|--:|")
    for format in formats:
        found = {each.name: grown(each, longest) for each in SHAPES if each.format == format}
        slowest = max(found, key=lambda name: found[name][0])
        most = max(found, key=lambda name: found[name][1])
        print(
            f"| {format} | {len(found)} | {slowest} | {found[slowest][0]:.2f} | {most} "
            f"| ×{found[most][1]:.2f} |",
            flush=True,
        )


def print_memory() -> None:
    """The most memory of reading as many pairs, in a new process for each length."""
    for size in (MEMORY_BYTES // 10, MEMORY_BYTES):
        command = [sys.executable, "-m", __spec__.name, "--bytes", str(size)]
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


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("formats", nargs="*", choices=[*FORMATS, []], metavar="FORMAT")
    parser.add_argument("--longest", type=int, default=10**6, help="bytes of the longest document")
    parser.add_argument("--memory", action="store_true", help="memory, with 20 and 200 MB")
    parser.add_argument("--bytes", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.bytes:
        print_pairs(asked.bytes)
    elif asked.memory:
        print_memory()
    else:
        print_table(asked.formats or FORMATS, asked.longest)


if __name__ == "__main__":
    main()
