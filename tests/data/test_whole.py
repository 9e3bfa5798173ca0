"""A folder is there whole or not at all."""

import pytest

from jumok.data.whole import written_whole


def test_a_folder_has_its_name_when_all_is_written(tmp_path):
    folder = tmp_path / "deep" / "corpus"

    def fail() -> None:
        with written_whole(folder) as partial:
            (partial / "half").write_text("1")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not folder.exists()
    with written_whole(folder) as partial:
        (partial / "whole").write_text("2")
        assert not folder.exists()
    assert [file.name for file in folder.iterdir()] == ["whole"]
    assert [each.name for each in folder.parent.iterdir()] == ["corpus"]
