"""The files of scenes, read back by the readers that everybody's pictures go through."""

import json
from pathlib import Path

import pytest

from jumok.data.captions.corpus import CaptionCorpus, read_captions
from jumok.data.files.images import ImageSource
from jumok.errors import ConfigError
from smallworld.scenes import write

FILES = ("boxes.jsonl", "captions.en.tsv", "captions.ko.tsv", "images.zip")


def test_equal_seeds_write_equal_files(tmp_path: Path) -> None:
    sizes = {"train": 3, "unseen combination": 2}
    first, second = write(tmp_path / "a", sizes, 5), write(tmp_path / "b", sizes, 5)
    assert first["unseen combination"] == tmp_path / "a" / "unseen-combination"
    for split in sizes:
        assert sorted(path.name for path in first[split].iterdir()) == list(FILES)
        for name in FILES:
            assert (first[split] / name).read_bytes() == (second[split] / name).read_bytes()


@pytest.mark.parametrize("language", ["en", "ko"])
def test_scenes_are_read_back_as_a_corpus_of_captions(tmp_path: Path, language: str) -> None:
    folder = write(tmp_path, {"test": 7})["test"]
    corpus = CaptionCorpus(folder / f"captions.{language}.tsv", folder / "images.zip")
    pictures = read_captions(corpus)
    assert [len(each.captions) for each in pictures] == [5] * 7
    assert ImageSource(corpus.images).read(pictures[6].file).shape == (128, 128, 3)
    lines = (folder / "boxes.jsonl").read_text("utf-8").splitlines()
    for line, picture in zip(lines, pictures, strict=True):
        record = json.loads(line)
        assert record["file"] == picture.file
        for nouns, caption in zip(record[language], picture.captions, strict=True):
            named = sorted(thing for _, things in nouns for thing in things)
            assert named == list(range(len(record["things"])))
            assert all(word < len(caption.split(" ")) for word, _ in nouns)


def test_an_unknown_split_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        write(tmp_path / "a", {"train": 1, "dev": 1})
    assert not (tmp_path / "a").exists()
