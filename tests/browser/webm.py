"""Reads the video files that browsers record (WebM, a form of Matroska): RFC 8794 and RFC 9559."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SEGMENT, CLUSTER, TRACKS, ENTRY, VIDEO, GROUP = (
    *(0x18538067, 0x1F43B675, 0x1654AE6B, 0xAE, 0xE0, 0xA0),
)
CONTAINERS = {SEGMENT, CLUSTER, TRACKS, ENTRY, VIDEO, GROUP}
SCALE, TIMESTAMP, WIDTH, HEIGHT, SIMPLE_BLOCK, BLOCK, CODEC = (
    *(0x2AD7B1, 0xE7, 0xB0, 0xBA, 0xA3, 0xA1, 0x86),
)


@dataclass(frozen=True)
class Film:
    """Its codec, the size of its frames, and the seconds and bytes of each of them."""

    codec: str
    width: int
    height: int
    frames: tuple[tuple[float, bytes], ...]

    @property
    def seconds(self) -> float:
        return self.frames[-1][0] - self.frames[0][0]


def number(data: bytes, at: int, marked: bool) -> tuple[int, int]:
    """A number of variable size and where it ends; `marked`: with the bit that gives its size."""
    size = 9 - data[at].bit_length()
    value = int.from_bytes(data[at : at + size], "big")
    if not marked:
        value &= (1 << (7 * size)) - 1
        if value == (1 << (7 * size)) - 1:
            value = len(data)  # an unknown size: to the end
    return value, at + size


def elements(data: bytes, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Every element with its bytes, those within containers after them."""
    while start < end:
        name, start = number(data, start, marked=True)
        size, start = number(data, start, marked=False)
        if name in CONTAINERS:
            # Of an unknown size it ends where its parent goes on, which are its brothers here.
            yield from elements(data, start, min(end, start + size))
        else:
            yield name, data[start : start + size]
        start += size


def film(file: Path) -> Film:
    """Reads a file; its frames are as they were encoded."""
    data = file.read_bytes()
    assert data[:4] == bytes.fromhex("1A45DFA3"), "it is no EBML document"
    facts: dict[int, int] = {SCALE: 1_000_000}
    codec, frames, cluster = "", [], 0
    for name, found in elements(data, 0, len(data)):
        if name in (SCALE, WIDTH, HEIGHT):
            facts[name] = int.from_bytes(found, "big")
        elif name == CODEC:
            codec = found.decode("ascii")
        elif name == TIMESTAMP:
            cluster = int.from_bytes(found, "big")
        elif name in (SIMPLE_BLOCK, BLOCK):
            _, after = number(found, 0, marked=False)
            offset = int.from_bytes(found[after : after + 2], "big", signed=True)
            frames.append(((cluster + offset) * facts[SCALE] / 1e9, found[after + 3 :]))
    return Film(codec, facts[WIDTH], facts[HEIGHT], tuple(frames))
