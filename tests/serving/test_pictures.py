"""The pictures that a live page may look at, by their paths and as files that it sends."""

from pathlib import Path

import pytest

from jumok.errors import DataError
from jumok.inspection.trace import Trace
from jumok.serving.answers import answers
from jumok.serving.pictures import MOST_PICTURES, ServedPictures
from jumok.tracing.comparison import Comparison
from jumok.tracing.request import carry_on
from tests.inspection.traces import trace


def check(path: str) -> None:
    if not Path(path).is_file():
        raise DataError("there is no such file.", got=path)


@pytest.fixture
def pictures():
    given = ServedPictures("first.png", check)
    yield given
    given.close()


def test_what_nobody_names_is_the_first(pictures):
    for asked in (None, "", " ", 3, ["x"]):
        assert pictures.chosen(asked) == "first.png"


def test_without_a_first_one_the_page_is_told_to_give_one():
    with pytest.raises(DataError) as caught:
        ServedPictures(None, check).chosen("")
    assert "the image file is not part of the trace" in str(caught.value)
    assert "its path, or its file" in str(caught.value)


def test_a_path_is_checked_as_on_the_command_line(pictures, tmp_path, monkeypatch):
    (tmp_path / "b.png").write_bytes(b"x")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert pictures.chosen(f" {tmp_path}/b.png ") == f"{tmp_path}/b.png"
    assert pictures.chosen("~/b.png") == f"{tmp_path}/b.png"
    for missing in (f"{tmp_path}/c.png", "~nobody/b.png"):
        with pytest.raises(DataError, match="there is no such file"):
            pictures.chosen(missing)


def test_what_is_sent_is_kept_under_its_own_name_until_the_end(pictures):
    key = pictures.receive("고양이 1.png", b"\x89PNG")["picture"]
    file = Path(pictures.chosen(key))
    assert file.name == "고양이 1.png"
    assert file.read_bytes() == b"\x89PNG"
    pictures.close()
    assert not file.exists()


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\pictures\\a.png", "a.png"),
        ("..", "picture"),
        ("", "picture"),
        (".bashrc", "bashrc"),
        ("a\n\0<b>.png", "a___b_.png"),
        ("가" * 300 + ".png", "가" * 56 + ".png"),
    ],
)
def test_a_name_leads_nowhere_else(pictures, name, kept):
    file = Path(pictures.chosen(pictures.receive(name, b"x")["picture"]))
    assert file.name == kept
    assert file.read_bytes() == b"x"


def test_the_latest_are_kept(pictures):
    keys = [pictures.receive("a.png", bytes([n]))["picture"] for n in range(MOST_PICTURES + 1)]
    with pytest.raises(DataError) as caught:
        pictures.chosen(keys[0])
    assert "or was replaced by later ones" in str(caught.value)
    assert "choose the file again" in str(caught.value)
    assert Path(pictures.chosen(keys[1])).read_bytes() == b"\1"
    again = pictures.receive("b.png", b"\1")["picture"]
    assert again == keys[1]
    assert Path(pictures.chosen(again)).name == "b.png"


def test_the_page_is_answered_about_the_picture_that_it_names(pictures):
    looked = []

    def traced(path, target=None, **asked) -> Trace:
        looked.append(path)
        return trace()

    answer = answers(Comparison(traced), pictures)
    key = pictures.receive("a.png", b"x")["picture"]
    for question in ({}, {"picture": key}, {"text": "other.png"}):
        answer(question, carry_on)
    assert looked == ["first.png", pictures.chosen(key), "first.png"]
