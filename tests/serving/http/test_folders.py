"""The files of a server that was killed do not stay."""

import os
from pathlib import Path

import pytest

from jumok.serving.http.downloads import locked, own_folder, remove_abandoned
from tests.serving.http.process import serving

pytest.importorskip("fcntl")


def test_the_folder_of_a_killed_server_is_removed_by_the_next(tiny_bundle, tmp_path):
    place = tmp_path / "tmp"
    place.mkdir()
    variables = {"TMPDIR": str(place)}
    with serving(tmp_path / "one", f"m={tiny_bundle}", variables=variables) as server:
        (first,) = place.glob("jumok-serve-*")
        (first / "downloads" / "text").write_text("a cat")
        with serving(tmp_path / "two", f"m={tiny_bundle}", variables=variables):
            assert (first / "downloads" / "text").exists(), "its server runs"
        assert len(list(place.glob("jumok-serve-*"))) == 2
        assert server.client().get("/health/live").status_code == 200
    with serving(tmp_path / "three", f"m={tiny_bundle}", variables=variables):
        assert len(list(place.glob("jumok-serve-*"))) == 1
        assert not first.exists()


def test_only_what_a_server_left_is_removed(tmp_path, monkeypatch):
    linked, unlocked, used, left = (
        tmp_path / name for name in ("a", *("jumok-serve-" + n for n in "bcd"))
    )
    for folder in (linked, unlocked, used, left):
        folder.mkdir()
    (linked / "lock").touch()
    (left / "lock").touch()
    (tmp_path / "jumok-serve-link").symlink_to(linked)
    with locked(used):
        monkeypatch.setattr(os, "getuid", lambda: left.stat().st_uid + 1)
        remove_abandoned(tmp_path)
        assert left.exists(), "another user's"
        monkeypatch.undo()
        remove_abandoned(tmp_path)
    assert [linked.exists(), unlocked.exists(), used.exists(), left.exists()] == [True] * 3 + [
        False
    ]


def test_a_server_removes_its_own_folder(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with own_folder() as folder:
        assert folder.parent == Path(tmp_path)
    assert list(tmp_path.iterdir()) == []
