"""Levels of processors: what the C code is compiled for, and which of them run here.

A level is a set of instructions: x86-64-v2, v3 and v4 of the x86-64 psABI, v3 with VNNI (Intel's
desktops and laptops since 2021), v4 with VNNI and bfloat16 (Zen 4, Cooper Lake), and Arm's base
without and with products of int8 and bfloat16. `probe.c` asks the processor what it has.
"""

import platform
import sys
from collections.abc import Collection
from dataclasses import dataclass

from jumok.errors import ConfigError

VARIABLE = "JUMOK_CPU"
NATIVE = "native"
"""The value of JUMOK_CPU that means: compiled for this very processor, whatever was shipped."""
TORCH = "torch"
"""The value of JUMOK_CPU that means: no compiled code."""

FEATURES = (
    *("sse3", "ssse3", "sse4.1", "sse4.2", "popcnt", "cx16", "lahf"),
    *("avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "lzcnt", "movbe", "avxvnni"),
    *("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx512vnni", "avx512bf16"),
    *("dotprod", "i8mm", "bf16"),
)
"""In the order of the bits that `jumok_features` of probe.c returns."""

_V2 = frozenset(FEATURES[:7])
_V3 = _V2 | frozenset(FEATURES[7:15])
_V4 = _V3 | frozenset(FEATURES[16:21])


@dataclass(frozen=True)
class Level:
    """One set of instructions.

    Attributes:
        name: what JUMOK_CPU and the names of shipped libraries call it.
        machine: as `machine` names it.
        needs: the features that the processor and the operating system must have.
        zig: of `zig cc`, which has its own names.
    """

    name: str
    machine: str
    needs: frozenset[str]
    flags: tuple[str, ...]
    zig: str


LEVELS = (
    Level(
        "v4-vnni", "x86_64", _V4 | {"avx512vnni", "avx512bf16"},
        ("-march=x86-64-v4", "-mavx512vnni", "-mavx512bf16"), "x86_64_v4+avx512vnni+avx512bf16",
    ),
    Level("v4", "x86_64", _V4, ("-march=x86-64-v4",), "x86_64_v4"),
    Level("v3-vnni", "x86_64", _V3 | {"avxvnni"}, ("-march=x86-64-v3", "-mavxvnni"),
          "x86_64_v3+avxvnni"),
    Level("v3", "x86_64", _V3, ("-march=x86-64-v3",), "x86_64_v3"),
    Level("v2", "x86_64", _V2, ("-march=x86-64-v2",), "x86_64_v2"),
    Level(
        "arm-dot", "aarch64", frozenset({"dotprod", "i8mm", "bf16"}),
        ("-march=armv8.2-a+dotprod+i8mm+bf16",), "generic+v8_2a+dotprod+i8mm+bf16",
    ),
    Level("arm", "aarch64", frozenset(), ("-march=armv8-a",), "generic"),
)  # fmt: skip
"""The levels of a machine, the fastest first."""

SMALLEST = {
    "x86_64": Level("any", "x86_64", frozenset(), ("-march=x86-64",), "x86_64"),
    "aarch64": Level("any", "aarch64", frozenset(), ("-march=armv8-a",), "generic"),
}
"""What every processor of a machine runs: the probe is compiled for it."""


LIBRARIES = {
    "probe": "kernels/probe.c",
    "kernels": "kernels/kernels.c",
    "texts": "kernels/texts.c",
    "engine": "engine/engine.c",
}
"""The libraries, each with its source in the package, which includes the others."""

CONTENTS = "libraries.json"
"""In the folder of shipped libraries: their system, and a digest of each."""


def library_name(name: str, level: Level) -> str:
    """The file of a shipped library."""
    return f"{name}-{level.name}.so"


def machine() -> str:
    """The kind of processor: "x86_64", "aarch64", or the system's name for another one."""
    name = platform.machine().lower()
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(name, name)


def system() -> str:
    """The operating system and the kind of processor, for which a library was compiled."""
    names = {"linux": "linux", "darwin": "macos", "win32": "windows"}
    return f"{names.get(sys.platform, sys.platform)}-{machine()}"


def levels_of(kind: str) -> list[Level]:
    """The levels of a kind of processor, the fastest first."""
    return [level for level in LEVELS if level.machine == kind]


def permitted(features: Collection[str], forced: str | None, kind: str) -> list[Level]:
    """The levels that a processor with these features runs, the fastest first.

    Args:
        forced: the name of the only level that may be used; None, "native" and "torch": any.

    Raises:
        ConfigError: there is no level of this name, or the processor lacks what it needs.
    """
    runs = [level for level in levels_of(kind) if level.needs <= set(features)]
    if forced in (None, NATIVE, TORCH):
        return runs
    names = ", ".join([*(level.name for level in reversed(levels_of(kind))), NATIVE, TORCH])
    level = next((each for each in LEVELS if each.name == forced), None)
    if level is None:
        raise ConfigError(
            f"the environment variable {VARIABLE} names no level.",
            expected=names,
            got=forced,
            do=f"unset {VARIABLE}: the fastest level that runs here is then chosen",
        )
    if level not in runs:
        best = runs[0].name if runs else "none"
        lacking = ", ".join(each for each in FEATURES if each in level.needs - set(features))
        raise ConfigError(
            f"this processor cannot run the level {forced} of {VARIABLE}.",
            expected=f"a level up to {best} ({kind})",
            got=f"{forced}, which needs {lacking or 'a processor of the kind ' + level.machine}",
            do=f"export {VARIABLE}={best}, or unset it" if runs else f"unset {VARIABLE}",
        )
    return [level]
