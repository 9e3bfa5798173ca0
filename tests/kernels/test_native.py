"""The C library: there where a compiler is, replaced by its twins where none is."""

import os
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

from jumok.attention.core import attend
from jumok.kernels import native, texts
from jumok.kernels.activation import relu_dropout
from jumok.kernels.cross_entropy import smoothed_cross_entropy
from jumok.kernels.libraries import building
from jumok.kernels.noise import DropoutMask
from jumok.kernels.residual import add_norm
from tests.kernels.twins import outputs_and_gradients

needs_compiler = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no compiler here"
)


@pytest.fixture
def fresh(monkeypatch, tmp_path):
    """A machine on which nothing was compiled yet, with its cache in `tmp_path`."""
    building.features()  # asked once a process, and kept in the usual cache
    for name in ("JUMOK_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(building, "SHIPPED", tmp_path / "none")
    native.library.cache_clear()
    yield tmp_path
    native.library.cache_clear()


def every_kernel() -> list[torch.Tensor]:
    """Outputs and gradients of all of them, on one input."""
    states, update = torch.arange(2.0 * 2 * 13 * 48).mul(0.7).sin().view(2, 2, 13, 48)
    norm, mask, targets = torch.nn.LayerNorm(48), DropoutMask(0.3, 5), torch.arange(26)
    split = (2, 13, 3, 16)

    def layers(states, update):
        query, key = states.view(split).transpose(1, 2), update.view(split).transpose(1, 2)
        found = attend(query, key, key, drop=mask).transpose(1, 2).flatten(2)
        stream, normed = add_norm(states, found, norm, mask)
        stream, normed = add_norm(stream, relu_dropout(normed * 1, mask), norm, None)
        loss = smoothed_cross_entropy(normed.flatten(0, 1), update.flatten(0, 1), targets, 0.1)
        return stream, normed, loss

    return outputs_and_gradients(layers, [states, update])


def assert_close(ours: list[torch.Tensor], theirs: list[torch.Tensor]) -> None:
    for mine, other in zip(ours, theirs, strict=True):
        limit = 1e-5 * float(other.abs().max())
        torch.testing.assert_close(mine, other, atol=limit, rtol=0)


@needs_compiler
def test_machine_with_a_compiler_has_the_kernels():
    assert native.library() is not None


def test_without_a_compiler_the_twins_give_the_same(fresh, monkeypatch):
    monkeypatch.undo()
    with_kernels = every_kernel()
    native.library.cache_clear()
    monkeypatch.setenv("PATH", "")
    assert native.library() is None
    assert_close(every_kernel(), with_kernels)


def test_compiler_that_fails_is_no_compiler(fresh, monkeypatch):
    compiler = fresh / "cc"
    compiler.write_text("#!/bin/sh\nexit 1\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", str(fresh))
    assert native.library() is None
    assert not native.serves(torch.ones(16))


@needs_compiler
def test_two_threads_may_compile_at_once(fresh):
    with ThreadPoolExecutor(2) as pool:
        assert None not in list(pool.map(lambda _: native.library(), range(2)))
    kept = fresh / ".cache" / "jumok"
    assert [path.suffix for path in kept.iterdir()] == [".so"]


@needs_compiler
def test_the_cache_can_be_moved(fresh, monkeypatch):
    monkeypatch.setenv("JUMOK_CACHE", str(fresh / "elsewhere"))
    assert native.library() is not None
    assert [path.suffix for path in (fresh / "elsewhere").iterdir()] == [".so"]
    assert not (fresh / ".cache").exists()


@needs_compiler
def test_home_that_cannot_be_written_does_not_stop_the_kernels(fresh, monkeypatch):
    home = fresh / "home"
    home.write_text("a file, where a folder was expected")
    monkeypatch.setenv("HOME", str(home))
    assert native.library() is not None
    assert sorted(path.name for path in fresh.iterdir()) == ["home"]


@needs_compiler
def test_compiled_kernels_are_kept_and_found_again(fresh):
    assert native.library() is not None
    [compiled] = (fresh / ".cache" / "jumok").iterdir()
    before = os.stat(compiled).st_mtime_ns
    native.library.cache_clear()
    assert native.library() is not None
    assert os.stat(compiled).st_mtime_ns == before


@needs_compiler
def test_a_damaged_library_in_the_cache_is_compiled_again(fresh):
    """Loading half of a library would end the process."""
    assert native.library() is not None
    [compiled] = (fresh / ".cache" / "jumok").iterdir()
    whole = compiled.read_bytes()
    compiled.unlink()  # this process still has it in memory
    compiled.write_bytes(whole[: len(whole) // 2])
    native.library.cache_clear()
    assert native.library() is not None
    assert compiled.read_bytes() == whole


def test_threads_at_once_give_what_one_alone_gives():
    alone = every_kernel()
    with ThreadPoolExecutor(2) as pool:
        for together in pool.map(lambda _: every_kernel(), range(6)):
            assert all(map(torch.equal, together, alone))


def test_identities_of_the_libraries_hold_every_source_file():
    folder = Path(native.__file__).parent
    written_in_c = sorted(path.name for path in folder.iterdir() if path.suffix in (".c", ".h"))
    sources = (*native.SOURCES, *texts.SOURCES, *building.PROBE)
    assert sorted(path.name for path in sources) == written_in_c
