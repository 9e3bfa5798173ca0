"""Which library is loaded: by the processor, by what was shipped, and by JUMOK_CPU."""

import json
import os
import platform
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from jumok.errors import ConfigError
from jumok.kernels import native, texts
from jumok.kernels.libraries import building, levels
from jumok.kernels.libraries.building import features, loaded
from jumok.kernels.libraries.compiler import compiled, compilers, library_digest
from jumok.kernels.libraries.levels import FEATURES, LEVELS, machine, permitted

ROOT = Path(__file__).parents[2]
V3 = set(FEATURES[:15])

needs_compiler = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no compiler here"
)


def names(found: list[levels.Level]) -> list[str]:
    return [level.name for level in found]


@needs_compiler
@pytest.mark.skipif(
    machine() != "x86_64" or not Path("/proc/cpuinfo").exists(), reason="reads Linux's list"
)
def test_the_probe_finds_what_the_kernel_of_linux_lists():
    """Linux removes from its list what it does not save when programs take turns."""
    theirs = {
        "sse3": "pni",
        "sse4.1": "sse4_1",
        "sse4.2": "sse4_2",
        "lahf": "lahf_lm",
        "lzcnt": "abm",
        "avxvnni": "avx_vnni",
        "avx512vnni": "avx512_vnni",
        "avx512bf16": "avx512_bf16",
    }
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    listed = set(next(line for line in lines if line.startswith("flags")).split())
    ours = FEATURES[:23]
    assert features() == {each for each in ours if theirs.get(each, each) in listed}


def test_a_processor_runs_the_levels_whose_needs_it_has():
    assert names(permitted(V3, None, "x86_64")) == ["v3", "v2"]
    assert names(permitted({*V3, "avxvnni"}, None, "x86_64")) == ["v3-vnni", "v3", "v2"]
    assert names(permitted(V3 - {"fma"}, None, "x86_64")) == ["v2"]
    assert names(permitted(FEATURES, None, "x86_64"))[0] == "v4-vnni"
    assert names(permitted(set(), None, "aarch64")) == ["arm"]
    assert names(permitted({"dotprod", "i8mm", "bf16"}, None, "aarch64")) == [
        "arm-dot",
        "arm",
    ]
    assert permitted(set(), None, "riscv64") == []
    assert names(permitted(FEATURES, "v3", "x86_64")) == ["v3"]


def test_a_level_that_the_processor_lacks_is_refused_with_what_it_lacks():
    with pytest.raises(ConfigError) as error:
        permitted(V3, "v4", "x86_64")
    assert str(error.value).splitlines() == [
        "this processor cannot run the level v4 of JUMOK_CPU.",
        "  expected: a level up to v3 (x86_64)",
        "  got:      v4, which needs avx512f, avx512bw, avx512cd, avx512dq, avx512vl",
        "  do:       export JUMOK_CPU=v3, or unset it",
    ]
    with pytest.raises(ConfigError, match="arm-dot, which needs a processor of the kind aarch64"):
        permitted({*V3, "dotprod", "i8mm", "bf16"}, "arm-dot", "x86_64")
    with pytest.raises(ConfigError, match="arm-dot, which needs i8mm, bf16"):
        permitted({"dotprod"}, "arm-dot", "aarch64")


@pytest.mark.parametrize(("level", "code"), [("v9", 2), ("arm", 2), ("torch", 0)])
@pytest.mark.skipif(machine() != "x86_64", reason="arm runs on the others")
def test_the_command_line_refuses_levels_that_cannot_be(tiny_bundle, level, code):
    command = [sys.executable, "-m", "jumok", "translate", str(tiny_bundle), "--beam", "1"]
    done = subprocess.run(
        command, input="the cat\n", capture_output=True, text=True, check=False, cwd=ROOT,
        env={**os.environ, "JUMOK_CPU": level},
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    if code:
        assert "JUMOK_CPU" in done.stderr
        assert f"got:      {level}" in done.stderr
        assert "do: " in done.stderr


def test_the_libraries_that_are_shipped_are_those_that_are_loaded():
    package = Path(levels.__file__).parents[2]
    assert package / levels.LIBRARIES["kernels"] == native.SOURCES[0]
    assert package / levels.LIBRARIES["texts"] == texts.SOURCES[0]
    assert package / levels.LIBRARIES["probe"] == building.PROBE[0]
    assert (package / levels.LIBRARIES["engine"]).is_file()
    assert len({level.name for level in LEVELS}) == len(LEVELS)


def shipped(folder: Path, system: str | None = None) -> Path:
    """What a wheel's folder holds, for the smallest level: a library and the list of them."""
    kind = levels.levels_of(machine())
    [compiler, *_] = compilers()
    folder.mkdir()
    file = folder / levels.library_name("probe", kind[-1])
    built, temporary = compiled(compiler, levels.SMALLEST[machine()], "probe", building.PROBE)
    assert temporary is None
    shutil.copy(built, file)
    listed(folder, system)
    return file


def listed(folder: Path, system: str | None = None) -> None:
    digests = {file.name: library_digest(file) for file in folder.glob("*.so")}
    contents = {"system": system or levels.system(), "libraries": digests}
    (folder / levels.CONTENTS).write_text(json.dumps(contents), "utf-8")


@pytest.fixture
def wheel(monkeypatch, tmp_path) -> Path:
    """The folder of a wheel's libraries; features are those of this processor."""
    for name in ("JUMOK_CPU", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("JUMOK_CACHE", str(tmp_path / "cache"))
    features()
    monkeypatch.setattr(building, "SHIPPED", tmp_path / "shipped")
    return tmp_path / "shipped"


def probe() -> building.Loaded:
    return loaded("probe", building.PROBE)


@needs_compiler
def test_a_shipped_library_is_used_before_the_compiler(wheel):
    file = shipped(wheel)
    found = probe()
    assert (found.origin, found.place, found.passed_over) == ("shipped", str(file), ())
    assert found.level == levels.levels_of(machine())[-1].name
    found.library.jumok_features.restype = building.ctypes.c_int64
    bits = found.library.jumok_features()
    assert {each for place, each in enumerate(FEATURES) if bits >> place & 1} == features()


@needs_compiler
def test_native_compiles_for_this_processor_whatever_was_shipped(wheel, monkeypatch):
    shipped(wheel)
    monkeypatch.setenv("JUMOK_CPU", "native")
    assert probe().origin == "compiled"
    assert probe().level == "native"
    monkeypatch.setenv("JUMOK_CPU", "torch")
    assert (probe().library, probe().origin) == (None, "none")


@needs_compiler
def test_a_forced_level_that_was_not_shipped_is_compiled(wheel, monkeypatch):
    level = permitted(features(), None, machine())[0]
    monkeypatch.setenv("JUMOK_CPU", level.name)
    shipped(wheel)
    found = probe()
    assert (found.origin, found.level) == ("compiled", level.name)


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:1000])


def written(contents: str, file: Path) -> None:
    (file.parent / levels.CONTENTS).write_text(contents, "utf-8")


def of_another_processor(file: Path) -> None:
    """Bytes 18 and 19 of an ELF file are its machine: 183 is aarch64, 62 x86-64."""
    content = bytearray(file.read_bytes())
    content[18] = 62 if content[18] == 183 else 183
    file.write_bytes(content)
    listed(file.parent)


@needs_compiler
@pytest.mark.skipif(platform.system() != "Linux", reason="changes an ELF file")
@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (cut, "is damaged: install jumok again"),
        (Path.unlink, "cannot be loaded"),
        (of_another_processor, "cannot be loaded"),
        (lambda file: listed(file.parent, "macos-aarch64"), "are for macos-aarch64, and this is"),
        (partial(written, "{"), "libraries.json is damaged"),
        (partial(written, "[]"), "libraries.json is damaged"),
        (
            partial(written, json.dumps({"system": levels.system(), "libraries": 5})),
            "libraries.json is damaged",
        ),
        (lambda file: (file.parent / levels.CONTENTS).unlink(), "no shipped libraries"),
    ],
)
def test_a_library_that_cannot_be_used_is_passed_over_with_the_reason(wheel, damage, reason):
    damage(shipped(wheel))
    found = probe()
    assert found.origin == "compiled"
    assert reason in found.passed_over[0]


def test_without_any_way_torch_computes_and_the_reasons_are_known(wheel, monkeypatch):
    monkeypatch.setenv("PATH", "")
    if compilers():
        pytest.skip("the package ziglang is installed here")
    found = probe()
    assert (found.library, found.origin) == (None, "none")
    assert found.passed_over == ("no shipped libraries", "no C compiler")
