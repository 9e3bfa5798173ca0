"""The engine as WebAssembly: built once, self-contained, or refused with what to do."""

import pytest

from jumok.engine import wasm
from jumok.errors import ConfigError


@pytest.fixture
def without_zig(monkeypatch, tmp_path):
    monkeypatch.setattr(wasm, "find_zig", lambda: None)
    monkeypatch.setattr(wasm, "SHIPPED_MODULE", tmp_path / "engine.wasm")
    monkeypatch.setenv("JUMOK_CACHE", str(tmp_path / "cache"))


def test_without_a_compiler_the_error_says_what_to_install(without_zig):
    with pytest.raises(ConfigError) as caught:
        wasm.engine_wasm()
    assert "the engine cannot be compiled to WebAssembly here." in str(caught.value)
    assert "pip install ziglang" in str(caught.value)


def test_the_module_of_a_wheel_needs_no_compiler(without_zig):
    wasm.SHIPPED_MODULE.write_bytes(b"\0asm")
    assert wasm.engine_wasm() == b"\0asm"
    assert wasm.is_built()
    assert wasm.missing_compiler() is None


def test_a_module_that_was_compiled_before_needs_no_compiler(without_zig, monkeypatch, tmp_path):
    """By any version of zig, on any machine; not one of other sources."""
    (cache := tmp_path / "cache").mkdir()
    (cache / "engine-0123456789abcdef-0.16.0.wasm").write_bytes(b"other sources")
    assert wasm.missing_compiler() is not None
    monkeypatch.setattr(wasm, "find_zig", lambda: ("zig",))
    monkeypatch.setattr(wasm, "_zig_version", lambda: "0.16.0")
    monkeypatch.setattr(wasm, "build_module", lambda file: file.write_bytes(b"\0asm"))
    assert wasm.engine_wasm() == b"\0asm"
    monkeypatch.setattr(wasm, "find_zig", lambda: None)
    monkeypatch.setattr(wasm, "_zig_version", lambda: "")
    assert wasm.missing_compiler() is None
    assert wasm.engine_wasm() == b"\0asm"


@pytest.mark.skipif(wasm.find_zig() is None, reason="needs zig")
def test_the_module_is_compiled_once_and_imports_nothing(monkeypatch, tmp_path):
    module = wasm.engine_wasm()
    assert wasm.is_built()
    monkeypatch.setattr(wasm, "build_module", lambda *_: pytest.fail("it is built already"))
    assert wasm.engine_wasm() == module
    assert module[:8] == b"\0asm\1\0\0\0"
    assert 2 not in sections(module), "an import section"
    assert all(name.encode() in module for name in wasm.EXPORTS)


@pytest.mark.skipif(wasm.find_zig() is None, reason="needs zig")
def test_what_the_compiler_says_is_passed_on(tmp_path):
    with pytest.raises(ConfigError, match="could not be compiled to WebAssembly"):
        wasm.build_module(tmp_path / "engine.wasm", ("-not-an-option",))
    assert list(tmp_path.iterdir()) == []


def sections(module: bytes) -> set[int]:
    """The numbers of a module's sections: each is a byte, a length in LEB128, and contents."""
    found, at = set(), 8
    while at < len(module):
        found.add(module[at])
        at, length, shift = at + 1, 0, 0
        while True:
            byte = module[at]
            length |= (byte & 127) << shift
            at, shift = at + 1, shift + 7
            if byte < 128:
                break
        at += length
    return found
