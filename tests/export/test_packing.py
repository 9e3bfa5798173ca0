"""A model as one file: the same bytes, the same model, and crafted archives refused."""

import tarfile

import numpy as np
import pytest

from jumok.bundle import packing
from jumok.bundle.reading import read_bundle
from jumok.errors import BundleError, JumokError
from tests.cli.calls import call, fault
from tests.systems.lm import write_lm

zstandard = pytest.importorskip("zstandard", reason="packs with zstandard")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("JUMOK_CACHE", str(tmp_path / "cache"))


def packed(file, *members, end=bytes(1024)):
    content = b""
    for info, data in members:
        info.size = len(data) if info.size == 0 else info.size
        content += info.tobuf(tarfile.USTAR_FORMAT) + data + bytes(-len(data) % 512)
    file.write_bytes(zstandard.compress(content + end))
    return file


def member(name, kind=tarfile.REGTYPE, link="", size=0):
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, link, size
    return info


def test_a_packed_model_is_used_in_the_models_place(tmp_path):
    model, file = write_lm(tmp_path / "m"), tmp_path / "m.tar.zst"
    done = call("pack", model, "--output", file)
    assert done.exit_code == 0, done.output
    assert done.output.split()[0] == packing.digest_of(file)
    words = ["--max-tokens", "9", "--engine", "torch", "a"]
    here, there = (call("generate", each, *words) for each in (model, file))
    assert (there.exit_code, there.output) == (0, here.output), there.stderr
    assert call("unpack", file, "--output", tmp_path / "back").exit_code == 0
    assert call("pack", tmp_path / "back", "--output", tmp_path / "again").exit_code == 0
    assert (tmp_path / "again").read_bytes() == file.read_bytes()
    assert "is not replaced" in str(fault("pack", model, "--output", file))
    assert "is not replaced" in str(fault("unpack", file, "--output", tmp_path / "back"))


@pytest.mark.parametrize(
    "members",
    [
        [(member("../out"), b"x")],
        [(member("/tmp/out"), b"x")],
        [(member("a/../../out"), b"x")],
        [(member("a\\..\\out"), b"x")],
        [(member("C:out"), b"x")],
        [(member("link", tarfile.SYMTYPE, "/etc/passwd"), b"")],
        [(member("link", tarfile.LNKTYPE, "config.json"), b"")],
        [(member("device", tarfile.CHRTYPE), b"")],
        [(member("pipe", tarfile.FIFOTYPE), b"")],
        [(member("long", tarfile.GNUTYPE_LONGNAME), b"x" * 600)],
        [(member("head", tarfile.XHDTYPE), b"30 path=../../out\n")],
        [(member("twice"), b"x"), (member("twice"), b"y")],
        [(member("a"), b"x"), (member("a/b"), b"y")],
        [(member("large", size=1 << 32), b"x")],
        [(member("zeros"), bytes(200_000_000))],
        [(member(f"f{number}"), b"") for number in range(1_002)],
    ],
)
def test_crafted_archives_leave_nothing(tmp_path, members):
    file = packed(tmp_path / "m.tar.zst", *members)
    with pytest.raises(BundleError, match="cannot be read"):
        read_bundle(file)
    left = [each for each in (tmp_path / "cache").rglob("*") if each.name != "models"]
    assert left == []
    assert sorted(each.name for each in tmp_path.iterdir()) == ["cache", "m.tar.zst"]


def test_damaged_files_are_refused(tmp_path):
    model, file = write_lm(tmp_path / "m"), tmp_path / "m.tar.zst"
    packing.pack(model, file)
    whole, dice = file.read_bytes(), np.random.default_rng(5)
    damaged = [whole[:length] for length in dice.integers(4, len(whole), 20)] + [whole + b"x"]
    for place in dice.integers(4, len(whole), 40):
        damaged.append(
            whole[:place] + bytes([whole[place] ^ 1 << dice.integers(8)]) + whole[place + 1 :]
        )
    for content in damaged:
        file.write_bytes(content)
        with pytest.raises(JumokError):
            read_bundle(file)


def test_links_are_not_packed_and_few_models_stay_unpacked(tmp_path, monkeypatch):
    model = write_lm(tmp_path / "m")
    monkeypatch.setattr(packing, "KEPT", 2)
    for number in range(4):
        (model / "README.md").write_text(str(number))
        packing.pack(model, tmp_path / f"{number}.tar.zst")
        read_bundle(tmp_path / f"{number}.tar.zst")
    assert len(list((tmp_path / "cache" / "models").iterdir())) == 2
    (model / "link").symlink_to("config.json")
    with pytest.raises(BundleError, match="plain files"):
        packing.pack(model, tmp_path / "no.tar.zst")
