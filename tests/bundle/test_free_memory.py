"""A model that does not fit into the free memory is refused before it is read."""

from pathlib import Path

import pytest

from jumok.bundle.arrays import read_stored
from jumok.bundle.free_memory import check_free_memory, free_memory
from jumok.bundle.reading import read_bundle
from jumok.bundle.weights import load_model
from jumok.errors import BundleError
from jumok.models.size import memory

MEMINFO = (
    "MemTotal:       16000000 kB\nMemFree:  1 kB\nMemAvailable:    2000000 kB\nHugePages_Total: 0\n"
)


def system(folder: Path, **files: str) -> Path:
    for name, content in files.items():
        file = folder / name.replace("__", "/").replace("_dot_", ".")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, "ascii")
    return folder


def test_what_linux_tells(tmp_path: Path) -> None:
    assert free_memory(tmp_path) == memory()  # it tells nothing
    assert free_memory(system(tmp_path, proc__meminfo=MEMINFO)) == 2_000_000 * 1024
    limited = {
        "sys__fs__cgroup__memory_dot_max": "1000000000\n",
        "sys__fs__cgroup__memory_dot_current": "900000000\n",
    }
    assert free_memory(system(tmp_path, **limited)) == 100_000_000
    cached = {"sys__fs__cgroup__memory_dot_stat": "anon 5\ninactive_file 300000000\nslab 7\n"}
    assert free_memory(system(tmp_path, **cached)) == 400_000_000
    system(tmp_path, sys__fs__cgroup__memory_dot_max="max\n")
    assert free_memory(tmp_path) == 2_000_000 * 1024


def test_this_machine_has_some_memory() -> None:
    assert 10_000_000 < free_memory() <= memory()


def test_the_error_names_both_figures(tiny_bundle: Path, tmp_path: Path) -> None:
    root = system(tmp_path, proc__meminfo="MemAvailable: 2000000 kB\n")
    bundle = read_bundle(tiny_bundle)
    check_free_memory(bundle, 2_048_000_000, root)
    with pytest.raises(BundleError) as caught:
        check_free_memory(bundle, 2_048_000_001, root)
    assert str(caught.value) == (
        f"{tiny_bundle / 'model.safetensors'}: the model does not fit into the memory that is "
        "free.\n"
        "  expected: 2.05 GB for the weights\n"
        "  got:      2.05 GB free\n"
        "  do:       end other programs, or use a machine with more memory, or a smaller file: "
        "jumok quantize"
    )


@pytest.mark.parametrize("read", [load_model, read_stored])
def test_it_is_asked_before_weights_are_read(tiny_bundle, monkeypatch, read) -> None:
    """With a machine that has a kilobyte left."""
    monkeypatch.setattr("jumok.bundle.free_memory.free_memory", lambda _: 1000)
    with pytest.raises(BundleError, match=r"0\.00 GB free"):
        read(read_bundle(tiny_bundle))
