"""The build hook of the wheel: which of the compiled libraries it ships.

The variable JUMOK_WHEEL says for what the wheel is:

    pure (or not set)     any system: nothing is compiled; py3-none-any
    native                this system, with its own C compiler (or zig's): py3-none-linux_x86_64
    linux-x86_64, ...     a name of TARGETS, with the compiler of the package ziglang

The libraries are loaded with ctypes, so one wheel fits every Python: its tag is
py3-none-<platform>, as that of XGBoost's wheels. The levels are in
`src/jumok/kernels/libraries/levels.py`.
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent
PACKAGE = ROOT / "src" / "jumok"
sys.path.insert(0, str(ROOT / "src"))

from jumok.engine import wasm  # noqa: E402  # needs the line above
from jumok.kernels.libraries import levels  # noqa: E402

VARIABLE = "JUMOK_WHEEL"


@dataclass(frozen=True)
class Target:
    """A system that zig compiles for: zig's name of it, and the tag of its wheels."""

    zig: str
    tag: str


TARGETS = {
    "linux-x86_64": Target("x86_64-linux-gnu.2.28", "manylinux_2_28_x86_64"),
    "linux-aarch64": Target("aarch64-linux-gnu.2.28", "manylinux_2_28_aarch64"),
    "macos-x86_64": Target("x86_64-macos.11.0", "macosx_11_0_x86_64"),
    "macos-aarch64": Target("aarch64-macos.11.0", "macosx_11_0_arm64"),
    "windows-x86_64": Target("x86_64-windows-gnu", "win_amd64"),
}


class JumokBuildHook(BuildHookInterface[Any]):
    """Compiles the libraries into a temporary folder, and adds them to the wheel."""

    PLUGIN_NAME = "custom"
    _folder: tempfile.TemporaryDirectory[str] | None = None

    def _wanted(self) -> str:
        given = os.environ.get(VARIABLE) or "pure"
        if given not in ("pure", "native", *TARGETS):
            names = ", ".join(("pure", "native", *TARGETS))
            raise ValueError(f"{VARIABLE} is {given!r}; it may be one of: {names}")
        return given

    def dependencies(self) -> list[str]:
        """zig, where it compiles; a wheel of this system only needs it without a compiler."""
        wanted = self._wanted()
        own = wanted == "native" and shutil.which("cc") is not None
        return [] if self.target_name != "wheel" or wanted == "pure" or own else ["ziglang>=0.15"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Before the wheel is put together; an editable one has the sources, which are compiled."""
        wanted = self._wanted()
        if self.target_name != "wheel" or version == "editable" or wanted == "pure":
            return
        target = TARGETS.get(wanted)
        self._folder = tempfile.TemporaryDirectory()
        folder = Path(self._folder.name)
        compile_all(levels.system() if target is None else wanted, target, folder)
        for file in sorted(folder.iterdir()):
            build_data["force_include"][str(file)] = f"jumok/kernels/shipped/{file.name}"
        if find_spec("ziglang") is not None:  # nothing else compiles for pages
            wasm.build_module(folder / wasm.SHIPPED_MODULE.name)
            build_data["force_include"][str(folder / wasm.SHIPPED_MODULE.name)] = (
                f"jumok/engine/{wasm.SHIPPED_MODULE.name}"
            )
        tag = sysconfig.get_platform() if target is None else target.tag
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{tag.replace('-', '_').replace('.', '_')}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Removes the temporary folder."""
        del version, build_data, artifact_path
        if self._folder is not None:
            self._folder.cleanup()


def compile_all(system: str, target: Target | None, folder: Path) -> None:
    """Every library at every level of the system's processors, and the list of them.

    Args:
        target: None: this system, with its own compiler if it has one.
    """
    kind = system.partition("-")[2]
    digests = {}
    with tempfile.TemporaryDirectory() as scratch:
        objects = []
        for name in levels.LIBRARIES:
            known = [levels.SMALLEST[kind]] if name == "probe" else levels.levels_of(kind)
            objects += [(name, each, Path(scratch) / f"{name}-{each.name}.o") for each in known]
        together([compiling(name, level, system, target, to) for name, level, to in objects])
        for name, level, compiled in objects:
            file = folder / levels.library_name(name, level)
            together([linking(compiled, system, target, Path(scratch) / file.name)])
            shutil.copy(Path(scratch) / file.name, file)
            digests[file.name] = sha256(file.read_bytes()).hexdigest()
    contents = {"system": system, "libraries": digests}
    (folder / levels.CONTENTS).write_text(json.dumps(contents, indent=1) + "\n", "utf-8")


def compiler(target: Target | None) -> list[str]:
    """The command of the C compiler."""
    own = shutil.which("cc")
    if target is None and own is not None:
        return [own]
    zig = [sys.executable, "-m", "ziglang", "cc"]
    return zig if target is None else [*zig, "-target", target.zig]


def compiling(
    name: str, level: levels.Level, system: str, target: Target | None, to: Path
) -> list[str]:
    """The command that compiles one library's source for one level."""
    command = compiler(target)
    flags = [f"-mcpu={level.zig}"] if "ziglang" in command else level.flags
    position = [] if system.startswith("windows") else ["-fPIC"]
    source = str(PACKAGE / levels.LIBRARIES[name])
    return [*command, *flags, *position, "-O3", "-fno-math-errno", "-c", source, "-o", str(to)]


def linking(compiled: Path, system: str, target: Target | None, to: Path) -> list[str]:
    """The command that links it, for any level: so zig builds the system's libraries once."""
    mathematics = [] if system.startswith("windows") else ["-lm"]
    return [*compiler(target), "-shared", "-s", str(compiled), "-o", str(to), *mathematics]


def together(commands: list[list[str]]) -> None:
    """Runs the commands, as many at once as there are processor cores."""

    def run(command: list[str]) -> None:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}\n{done.stderr}")

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(run, commands))
