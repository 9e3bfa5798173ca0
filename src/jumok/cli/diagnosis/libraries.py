"""Checks of the compiled code."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from jumok.cli.diagnosis.check import Check
from jumok.engine import structures
from jumok.environment import cpu
from jumok.errors import ConfigError
from jumok.kernels import texts
from jumok.kernels.libraries import levels
from jumok.kernels.libraries.building import Loaded, features, loaded
from jumok.kernels.libraries.compiler import compilers

INSTALL = "install jumok's wheel for this system, or gcc or clang, or: pip install ziglang"


def library_checks() -> Iterator[Check]:
    """The processor, the engine, the kernels of training, the loops over texts, the compilers."""
    yield processor()
    yield of_library("engine", structures.SOURCES, "translation runs on PyTorch")
    try:
        from jumok.kernels.native import SOURCES

        sources = SOURCES
    except (ImportError, OSError):
        yield Check("kernels", "note", "not looked at: PyTorch cannot be imported")
    else:
        yield of_library("kernels", sources, "training runs on PyTorch")
    yield of_library("texts", texts.SOURCES, "corpora are prepared by NumPy")
    names = [each.name for each in compilers()]
    yield Check("compiler", "ok", ", ".join(names) or "none (only needed where no library fits)")


def processor() -> Check:
    """The level of this processor, and the one that JUMOK_CPU asks for."""
    forced = cpu()
    asked = f"; {levels.VARIABLE}={forced}" if forced else ""
    kind = levels.machine()
    try:
        best = next(iter(levels.permitted(features(), None, kind)), None)
        levels.permitted(features(), forced, kind)
    except ConfigError as error:
        return Check("processor", "broken", f"{error.what} {error.got}", error.do or "")
    return Check(
        "processor", "ok", f"{kind}, level {'unknown' if best is None else best.name}{asked}"
    )


def of_library(name: str, sources: Sequence[Path], otherwise: str) -> Check:
    """Where a library comes from.

    Args:
        otherwise: what happens without it, slower.
    """
    try:
        native = loaded(name, sources)
    except ConfigError as error:
        return Check(name, "broken", f"none: {error.what}", error.do or "")
    damaged = next((each for each in native.passed_over if "damaged" in each), "")
    if damaged:
        return Check(
            name, "broken", f"{origin(native)}; {damaged}", "pip install --force-reinstall jumok"
        )
    if native.library is not None:
        return Check(name, "ok", origin(native))
    why = "; ".join(native.passed_over)
    wanted = cpu() == levels.TORCH
    do = f"unset {levels.VARIABLE}" if wanted else INSTALL
    return Check(name, "note", f"none ({why}): {otherwise}, slower", do)


def origin(library: Loaded) -> str:
    """The level, and where the library comes from, in words."""
    match library.origin:
        case "shipped":
            return f"level {library.level}, shipped with jumok"
        case "compiled":
            for_this = (
                "this processor" if library.level == levels.NATIVE else f"level {library.level}"
            )
            return f"compiled here by {library.place} for {for_this}"
    return "none"
