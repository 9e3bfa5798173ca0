"""The libraries in C: shipped with jumok, or compiled here. Imports no torch.

In this order, and the first that loads is used:

1. the library in `shipped/`, for the fastest level that this processor runs (wheels have them);
2. the machine's own compiler, for this very processor (`-march=native`);
3. the compiler of the package ziglang, the same;
4. none: torch computes what the library would.

JUMOK_CPU names another level, or one of these ways; see `levels.py`.
"""

import ctypes
import functools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from jumok.environment import cpu
from jumok.kernels.libraries.compiler import Compiler, compiled, compilers, library_digest
from jumok.kernels.libraries.levels import (
    CONTENTS,
    FEATURES,
    NATIVE,
    SMALLEST,
    TORCH,
    Level,
    library_name,
    machine,
    permitted,
    system,
)

_KERNELS = Path(__file__).parents[1]
PROBE = (_KERNELS / "probe.c",)
SHIPPED = _KERNELS / "shipped"
LibraryOrigin = Literal["shipped", "compiled", "none"]


@dataclass(frozen=True)
class Loaded:
    """A library, and why it is this one.

    Attributes:
        library: None: torch computes what it would.
        level: the name of the level that it was compiled for; "native": this very processor; "".
        place: the file or the compiler; "" if there is no library.
        passed_over: what was tried before, and why it was not used.
    """

    library: ctypes.CDLL | None
    level: str
    origin: LibraryOrigin
    place: str
    passed_over: tuple[str, ...]


def built(name: str, sources: Sequence[Path]) -> ctypes.CDLL | None:
    """The library of these sources, the first of which includes the others.

    Args:
        name: the beginning of its file's name.

    Returns:
        None if none was shipped and no compiler can build it.

    Raises:
        ConfigError: JUMOK_CPU names a level that is unknown, or that the processor lacks.
    """
    return loaded(name, sources).library


def loaded(name: str, sources: Sequence[Path]) -> Loaded:
    """The same with what it is and why."""
    forced = cpu()
    levels = permitted(features(), forced, machine())
    if forced == TORCH:
        return Loaded(None, "", "none", "", (f"JUMOK_CPU={TORCH}",))
    own = levels[0] if levels and forced not in (None, NATIVE) else None
    return _first(name, sources, () if forced == NATIVE else tuple(levels), own)


def are_shipped() -> bool:
    """Whether libraries for this system came with jumok."""
    return bool(_contents([]))


@functools.cache
def features() -> frozenset[str]:
    """What the processor has and the operating system lets programs use; empty if unknown."""
    smallest = SMALLEST.get(machine())
    if smallest is None:
        return frozenset()
    probe = _first("probe", PROBE, (smallest,), smallest).library
    if probe is None:
        return frozenset()
    probe.jumok_features.restype = ctypes.c_int64
    bits: int = probe.jumok_features()
    return frozenset(each for place, each in enumerate(FEATURES) if bits >> place & 1)


def _first(
    name: str, sources: Sequence[Path], levels: Sequence[Level], own: Level | None
) -> Loaded:
    """The first way to the library that works.

    Args:
        levels: of the shipped libraries, the preferred one first.
        own: the level to compile for; None: this very processor.
    """
    reasons: list[str] = []
    contents = _contents(reasons) if levels else {}
    for level in levels:
        file = SHIPPED / library_name(name, level)
        if file.name in contents:
            library = _shipped(file, contents[file.name], reasons)
            if library is not None:
                return Loaded(library, level.name, "shipped", str(file), tuple(reasons))
    for compiler in compilers():
        library = _compiled(compiler, own, name, sources, reasons)
        if library is not None:
            level_name = NATIVE if own is None else own.name
            return Loaded(library, level_name, "compiled", compiler.name, tuple(reasons))
    if not compilers():
        reasons.append("no C compiler")
    return Loaded(None, "", "none", "", tuple(reasons))


def _contents(reasons: list[str]) -> dict[str, str]:
    """The digests of the shipped libraries, if they are for this system."""
    try:
        listed = json.loads((SHIPPED / CONTENTS).read_text("utf-8"))
        made_for, digests = listed["system"], dict(listed["libraries"])
    except FileNotFoundError:
        reasons.append("no shipped libraries")
        return {}
    except (OSError, ValueError, KeyError, TypeError) as error:
        reasons.append(f"shipped libraries: {CONTENTS} is damaged ({error})")
        return {}
    if made_for != system():
        reasons.append(f"the shipped libraries are for {made_for}, and this is {system()}")
        return {}
    return {str(file): str(digest) for file, digest in digests.items()}


def _shipped(file: Path, digest: str, reasons: list[str]) -> ctypes.CDLL | None:
    """A shipped library; loading one that was damaged could end the process."""
    try:
        if library_digest(file) == digest:
            return ctypes.CDLL(str(file))
        reasons.append(f"{file.name} is damaged: install jumok again")
    except OSError as error:
        reasons.append(f"{file.name} cannot be loaded: {error}")
    return None


def _compiled(
    compiler: Compiler,
    level: Level | None,
    name: str,
    sources: Sequence[Path],
    reasons: list[str],
) -> ctypes.CDLL | None:
    folder: TemporaryDirectory[str] | None = None
    try:
        file, folder = compiled(compiler, level, name, sources)
        return ctypes.CDLL(str(file))
    except (OSError, RuntimeError) as error:
        reasons.append(f"{compiler.name}: {error}")
        return None
    finally:
        if folder is not None:
            folder.cleanup()
