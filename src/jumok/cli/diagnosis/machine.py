"""Checks of memory, disk, the cache folder, a browser, and fonts."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from jumok.cli import browser
from jumok.cli.diagnosis.check import Check
from jumok.environment import cache_folder
from jumok.errors import MissingExtraError, optional_import

GIGABYTE = 1e9
LITTLE_MEMORY, LITTLE_DISK = 1.0, 1.0
"""In GB: below these, training may end for want of memory or of space."""


def machine_checks() -> Iterator[Check]:
    """Whatever else may be in the way."""
    yield memory()
    yield disk()
    yield cache()
    opens = browser.is_here()
    why = "" if opens else "none opens from here; jumok look prints an address to open"
    yield Check("browser", "ok" if opens else "note", why or "opens pages")
    yield fonts()


def memory() -> Check:
    """How much is free, and how much there is; a container's limit counts."""
    whole, free = _memory()
    if whole is None or free is None:
        return Check("memory", "ok", "unknown")
    words = f"{free / GIGABYTE:.1f} of {whole / GIGABYTE:.1f} GB free"
    if free / GIGABYTE < LITTLE_MEMORY:
        return Check("memory", "note", words, "end other programs, or use a smaller --batch")
    return Check("memory", "ok", words)


def _memory() -> tuple[int | None, int | None]:
    try:
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
        sizes = {line.split(":")[0]: 1024 * int(line.split()[1]) for line in lines}
        whole, free = sizes["MemTotal"], sizes["MemAvailable"]
    except (OSError, ValueError, KeyError, IndexError):
        return None, None
    try:
        limit = int(Path("/sys/fs/cgroup/memory.max").read_text("ascii"))
        used = int(Path("/sys/fs/cgroup/memory.current").read_text("ascii"))
    except (OSError, ValueError):  # there is no limit ("max"), or no such file
        return whole, free
    return min(whole, limit), max(0, min(free, limit - used))


def disk() -> Check:
    """The space in the working folder, where runs are written."""
    free = shutil.disk_usage(".").free / GIGABYTE
    words = f"{free:.1f} GB free here"
    if free < LITTLE_DISK:
        return Check("disk", "note", words, "free some space, or name another folder with --runs")
    return Check("disk", "ok", words)


def cache() -> Check:
    """Whether compiled libraries can be kept."""
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


def fonts() -> Check:
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
