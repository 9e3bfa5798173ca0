"""The checks of `jumok doctor`: compiled code, packages, and the machine."""

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Literal

from jumok.cli.screen import has_browser
from jumok.engine import structures
from jumok.environment import cache_folder, cpu, threads
from jumok.errors import BundleError, ConfigError, DataError, MissingExtraError, optional_import
from jumok.interop.layouts.catalog import is_foreign
from jumok.kernels import texts
from jumok.kernels.libraries import levels
from jumok.kernels.libraries.building import Loaded, features, loaded
from jumok.kernels.libraries.compiler import compilers

INSTALL = "install jumok's wheel for this system, or gcc or clang, or: pip install ziglang"

EXTRAS = {
    "argos": "jumok export --to argos",
    "clean": "data.clean: the language of each sentence",
    "ctranslate2": "jumok export --to ctranslate2",
    "documents": "translating HTML, Markdown, DOCX and subtitles",
    "formats": "reading TMX, PO, Parquet and .zst",
    "gguf": "jumok export --to gguf",
    "huggingface": "tokenizers of imported models",
    "images": "captions and classes of image files",
    "ko": "Korean BLEU by morphemes",
    "lab": "the figures of jumok lab",
    "meteor": "METEOR (needs Java)",
    "notebook": "the page as a widget",
    "onnx": "jumok export --to onnx",
    "pack": "a model as one file",
    "plot": "figures: jumok plot, look --figure",
    "prepare": "jumok prepare",
    "ray": "jumok serve on several machines",
    "remote": "prepared corpora at addresses",
    "research": "traces as tables of pandas",
    "serve": "jumok serve",
    "sweep": "jumok sweep",
    "track": "TensorBoard",
    "vectors": "word vectors of gensim",
    "vision": "the weights of a pretrained image encoder",
}
"""Each extra with what it brings."""

_PACKAGE = re.compile(r"[\w.-]+")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([\w-]+)['\"]\s*$")

GIGABYTE = 1e9
LITTLE = 1.0
"""In GB: with less memory or disk, training may end for want of it."""


@dataclass(frozen=True)
class Check:
    """A line of the table.

    Attributes:
        state: "note": something is slower or missing; "broken": jumok does not work.
    """

    name: str
    state: Literal["ok", "note", "broken"]
    found: str
    do: str = ""


def checks() -> Iterator[Check]:
    """All checks, in the order of the table."""
    yield from _library_checks()
    yield from _package_checks()
    yield from _machine_checks()


def import_check(folder: Path) -> Check:
    """Whether the model of others in this folder can be imported, and as what."""
    try:
        from jumok.interop.importing import read_model

        imported = read_model(folder)
    except (BundleError, ConfigError, DataError, MissingExtraError) as error:
        return Check("model", "broken", str(error).split("\n  do:")[0], error.do or "")
    of = imported.provenance
    words = f"{folder}: {of.family}, licence: {of.licence or 'none named'}; every tensor is known"
    return Check("model", "ok", words, f"jumok import {folder} --output MODEL")


def bundle_check(folder: Path) -> Check:
    """Whether the bundle in this folder is as it was written; or whether it can become one."""
    from jumok.bundle.arrays import read_stored
    from jumok.bundle.reading import WEIGHTS, read_bundle

    try:
        if is_foreign(folder):
            return import_check(folder)
    except BundleError as error:
        return Check("model", "broken", str(error).split("\n  do:")[0], error.do or "")

    try:
        bundle = read_bundle(folder)
        read_stored(bundle)
    except BundleError as error:
        return Check("model", "broken", str(error).split("\n  do:")[0], error.do or "")
    if bundle.digest is None:
        words = f"{folder}: readable, but config.json does not name the SHA-256 of {WEIGHTS}"
        do = "damage to its weights cannot be noticed: bundles have it that a newer jumok writes"
        return Check("model", "note", words, do)
    return Check("model", "ok", f"{folder}: as written, SHA-256 {bundle.digest[:12]}")


def _library_checks() -> Iterator[Check]:
    yield _processor_check()
    yield _library_check("engine", structures.SOURCES, "translation runs on PyTorch")
    try:
        from jumok.kernels.native import SOURCES

        sources = SOURCES
    except (ImportError, OSError):
        yield Check("kernels", "note", "not looked at: PyTorch cannot be imported")
    else:
        yield _library_check("kernels", sources, "training runs on PyTorch")
    yield _library_check("texts", texts.SOURCES, "corpora are prepared by NumPy")
    names = [each.name for each in compilers()]
    yield Check("compiler", "ok", ", ".join(names) or "none (only needed where no library fits)")


def _processor_check() -> Check:
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


def _library_check(name: str, sources: Sequence[Path], otherwise: str) -> Check:
    """Where a library comes from."""
    try:
        native = loaded(name, sources)
    except ConfigError as error:
        return Check(name, "broken", f"none: {error.what}", error.do or "")
    damaged = next((each for each in native.passed_over if "damaged" in each), "")
    if damaged:
        return Check(
            name,
            "broken",
            f"{_library_origin(native)}; {damaged}",
            "pip install --force-reinstall jumok",
        )
    if native.library is not None:
        return Check(name, "ok", _library_origin(native))
    why = "; ".join(native.passed_over)
    wanted = cpu() == levels.TORCH
    do = f"unset {levels.VARIABLE}" if wanted else INSTALL
    return Check(name, "note", f"none ({why}): {otherwise}, slower", do)


def _library_origin(library: Loaded) -> str:
    match library.origin:
        case "shipped":
            return f"level {library.level}, shipped with jumok"
        case "compiled":
            for_this = (
                "this processor" if library.level == levels.NATIVE else f"level {library.level}"
            )
            return f"compiled here by {library.place} for {for_this}"
    return "none"


def required() -> dict[str, list[str]]:
    """The packages of each extra; of "" those that jumok always needs."""
    names: dict[str, list[str]] = {"": []}
    for line in requires("jumok") or ():
        package, extra = _PACKAGE.match(line), _EXTRA.search(line)
        if package is not None:
            names.setdefault(extra[1] if extra else "", []).append(package[0])
    return names


def not_installed(packages: list[str]) -> list[str]:
    """Those that are not installed."""
    return [each for each in packages if _installed_version(each) is None]


def _package_checks() -> Iterator[Check]:
    here = f"Python {sys.version.split()[0]}, {sys.prefix}"
    packages = required()
    absent = not_installed(packages.pop(""))
    if absent:
        do = f"pip install {' '.join(absent)}"
        yield Check("packages", "broken", f"missing: {', '.join(absent)}; {here}", do)
    else:
        yield Check("packages", "ok", here)
    yield from _torch_checks()
    lacking = [name for name in EXTRAS if name not in packages or not_installed(packages[name])]
    there = [name for name in EXTRAS if name not in lacking]
    yield Check("extras", "ok", f"installed: {', '.join(there) or 'none'}")
    for name in lacking:
        yield Check(
            f"[{name}]", "note", f"not installed: {EXTRAS[name]}", f'pip install "jumok[{name}]"'
        )


def _torch_checks() -> Iterator[Check]:
    try:
        import torch

        name, cores, cuda = torch.__version__, torch.get_num_threads(), torch.cuda.is_available()
        gpu = torch.cuda.get_device_name() if cuda else ""
    except (ImportError, OSError, RuntimeError) as error:
        yield Check(
            "PyTorch",
            "broken",
            f"cannot be imported: {error}",
            "pip install --force-reinstall torch",
        )
        return
    try:
        asked = threads()
    except ConfigError as error:
        yield Check("PyTorch", "broken", f"{name}; {error.what}", error.do or "")
        return
    words = f"{name}, {asked or cores} threads" + (" (JUMOK_THREADS)" if asked else "")
    yield Check("PyTorch", "ok", words)
    yield Check("GPU", "ok", gpu or "none: runs on the CPU")


def _installed_version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _machine_checks() -> Iterator[Check]:
    yield _memory_check()
    yield _disk_check()
    yield _cache_check()
    opens = has_browser()
    why = "" if opens else "none opens from here; jumok look prints an address to open"
    yield Check("browser", "ok" if opens else "note", why or "opens pages")
    yield _fonts_check()


def _memory_check() -> Check:
    """The free memory, within the limit of a container, of that of the machine."""
    try:
        from jumok.bundle.checks import free_memory
        from jumok.models.size import memory
    except ImportError:  # of a package that is missing
        return Check("memory", "ok", "unknown")
    if not Path("/proc/meminfo").exists():
        return Check("memory", "ok", "unknown")
    free, whole = free_memory() / GIGABYTE, memory() / GIGABYTE
    words = f"{free:.1f} of {whole:.1f} GB free"
    if free < LITTLE:
        return Check("memory", "note", words, "end other programs, or use a smaller --batch")
    return Check("memory", "ok", words)


def _disk_check() -> Check:
    free = shutil.disk_usage(".").free / GIGABYTE
    words = f"{free:.1f} GB free here"
    if free < LITTLE:
        return Check("disk", "note", words, "free some space, or name another folder with --runs")
    return Check("disk", "ok", words)


def _cache_check() -> Check:
    do = "export JUMOK_CACHE=FOLDER that you can write to: otherwise every start compiles again"
    try:
        folder = cache_folder()
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return Check("cache", "note", f"{os.environ.get('JUMOK_CACHE') or '~'}: {reason}", do)
    return Check("cache", "ok", f"{folder} can be written")


def _fonts_check() -> Check:
    """A font with Hangul, which figures of Korean need."""
    try:
        with optional_import("looking for fonts", extra="plot"):
            from jumok.plot.paper import hangul_font
        font = hangul_font()
    except MissingExtraError:
        return Check("fonts", "ok", "not looked at: figures need the extra plot")
    if font is None:
        do = "apt install fonts-nanum (Debian, Ubuntu), or another font with Hangul"
        return Check("fonts", "note", "none with Hangul: figures of Korean texts are refused", do)
    return Check("fonts", "ok", f"{font} for Hangul")
