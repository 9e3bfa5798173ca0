"""The engine as WebAssembly: `web.c` and what it includes, with 128-bit vectors.

A wheel has the compiled file; a checkout compiles it once, with zig, which brings the C library for
WebAssembly too: that of the package ziglang, or the machine's own. The file in the cache folder is
enough afterwards, without zig and on other machines. The module imports nothing: a page writes the
model into its memory, and calls it.
"""

import hashlib
import os
import subprocess
import sys
import threading
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from shutil import which

from jumok.engine.structures import HERE, SOURCES
from jumok.environment import cache_folder, with_variables
from jumok.errors import ConfigError

SHIPPED_MODULE = HERE / "engine.wasm"
"""Where a wheel has it."""

EXPORTS = (
    *("malloc", "free", "jumok_open", "jumok_advance", "jumok_written", "jumok_next", "jumok_look"),
    *(
        "jumok_shown",
        "jumok_linear",
        "jumok_weights",
        "jumok_vectors",
        "jumok_table",
        "jumok_close",
    ),
)
WASM_FLAGS = (
    *("-target", "wasm32-wasi", "-mexec-model=reactor", "-O3", "-fno-math-errno"),
    *(f"-Wl,--export={name}" for name in EXPORTS),
    "-Wl,--strip-all",
)
SIMD_FLAG = "-msimd128"


def engine_wasm() -> bytes:
    """The module: the wheel's, or one that is compiled once a machine.

    Raises:
        ConfigError: there is neither, nor a compiler.
    """
    if SHIPPED_MODULE.exists():
        return SHIPPED_MODULE.read_bytes()
    lacking = missing_compiler()
    if lacking is not None:
        raise lacking
    file = _cached_module()
    if not file.exists():
        build_module(file)
    return file.read_bytes()


def is_built() -> bool:
    """Whether the module is there, and need not be compiled."""
    return SHIPPED_MODULE.exists() or _cached_module().exists()


def _cached_module() -> Path:
    """Where the module is once it is compiled; without zig, one that any version has compiled."""
    own = cache_folder() / f"engine-{_identity()}-{_zig_version()}.wasm"
    if find_zig() is not None:
        return own
    return max(cache_folder().glob(f"engine-{_identity()}-*.wasm"), default=own)


def find_zig() -> tuple[str, ...] | None:
    """What starts zig: the package ziglang, or the command `zig`; None: there is neither."""
    if find_spec("ziglang") is not None:
        return sys.executable, "-m", "ziglang"
    own = which("zig")
    return None if own is None else (own,)


def missing_compiler() -> ConfigError | None:
    """The error for a machine that can neither read nor build the module; None: it can."""
    if is_built() or find_zig() is not None:
        return None
    return ConfigError(
        "the engine cannot be compiled to WebAssembly here.",
        expected="the package ziglang; or a wheel of jumok, which has the compiled engine; or the "
        f"file engine-{_identity()}-*.wasm of another machine in {cache_folder()}",
        do="pip install ziglang",
    )


def build_module(target: Path, flags: tuple[str, ...] = (SIMD_FLAG,)) -> None:
    """Compiles the module to this file, under another name first: half a file is never seen.

    Raises:
        ConfigError: the compiler refuses.
    """
    zig_command = find_zig()
    assert zig_command is not None  # see missing_compiler
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
    command = [*zig_command, "cc", *WASM_FLAGS, *flags, str(HERE / "web.c"), "-o", str(partial)]
    # what zig keeps (the compiled C library) is kept beside the result
    zig = dict.fromkeys(
        ("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR"), str(cache_folder() / "zig")
    )
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, env=with_variables(zig))
        partial.rename(target)
    except subprocess.CalledProcessError as error:
        raise ConfigError(
            "the engine could not be compiled to WebAssembly.",
            got=error.stderr.strip()[-400:],
            do="pip install --upgrade ziglang",
        ) from None
    finally:
        partial.unlink(missing_ok=True)


def _identity() -> str:
    """What the module depends on besides the compiler: the sources and the flags."""
    sources = (*SOURCES, HERE / "web.c")
    parts = *map(Path.read_text, sources), *WASM_FLAGS, SIMD_FLAG
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _zig_version() -> str:
    """The version of zig; "" where there is none."""
    if find_zig() is None:
        return ""
    if find_spec("ziglang") is not None:
        return version("ziglang")
    told = subprocess.run(["zig", "version"], check=True, capture_output=True, text=True).stdout
    return told.strip()
