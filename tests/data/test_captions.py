import os
from pathlib import Path

import pytest
from PIL import Image

from jumok.data.captions.corpus import CaptionCorpus, Captioned, read_captions, split_pictures
from jumok.data.report import CorpusReport
from jumok.errors import DataError


def corpus(folder: Path, table: str, pictures: str = "a.png b.png") -> CaptionCorpus:
    (folder / "images").mkdir()
    for name in pictures.split():
        Image.new("RGB", (2, 3)).save(folder / "images" / name)
    (folder / "captions.tsv").write_text(table, encoding="utf-8")
    return CaptionCorpus(folder / "captions.tsv", folder / "images")


def test_read_captions_groups_rows_by_picture(tmp_path: Path) -> None:
    table = "b.png\t0\tone\na.png\t0\ttwo\nb.png\t1\t three \n"
    assert read_captions(corpus(tmp_path, table)) == [
        Captioned("b.png", ("one", "three"), 1),
        Captioned("a.png", ("two",), 2),
    ]


def test_read_captions_takes_columns_by_name(tmp_path: Path) -> None:
    made = corpus(tmp_path, "caption\tpicture\na dog\ta.png\na cat\tb.png\n")
    named = CaptionCorpus(made.captions, made.images, "picture", "caption")
    assert [each.captions for each in read_captions(named)] == [("a dog",), ("a cat",)]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            "a.png\t0\tone\nc.png\t0\ttwo\nb.png\t0\tthree\n",
            "captions.tsv, line 2: the row names an image that does not exist.",
        ),
        ("a.png\t0\tone\nb.png\t0\t \n", "captions.tsv, line 2: the caption of 'b.png' is empty."),
        ("a.png\t0\tone\n", "images: some images have no caption."),
        ("a.png\tone\n", "captions.tsv, line 1: the row has too few columns."),
    ],
)
def test_read_captions_stops_at_what_is_wrong(tmp_path: Path, table: str, message: str) -> None:
    with pytest.raises(DataError) as caught:
        read_captions(corpus(tmp_path, table))
    assert str(caught.value).startswith(f"{tmp_path}/{message}")


def test_read_captions_counts_what_it_skips(tmp_path: Path) -> None:
    table = "a.png\t0\tone\nc.png\t0\ttwo\na.png\t1\t\nd.png\t0\tfour\n"
    report = CorpusReport("captions")
    found = read_captions(corpus(tmp_path, table, "a.png b.png"), skip=True, report=report)
    assert found == [Captioned("a.png", ("one",), 1)]
    assert str(report) == (
        "captions: 4 pairs read, 1 kept\n"
        "  dropped, there is no such image: 2 (lines 2, 4)\n"
        "  dropped, the caption is empty: 1 (line 3)\n"
        "  dropped, the image has no caption: 1"
    )


def test_read_captions_wants_at_least_one(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no captioned image"):
        read_captions(corpus(tmp_path, "c.png\t0\tone\n"), skip=True)


def test_split_pictures_depends_on_a_pictures_own_name_alone() -> None:
    pictures = [Captioned(f"{number}.jpg", ("x",), number) for number in range(5003)]
    splits = split_pictures(pictures, validation=0.1, test=0.2)
    sizes = {name: len(each) for name, each in splits.items()}
    assert sum(sizes.values()) == 5003
    # Four standard deviations of a binomial count: 4 sqrt(5003 x 0.2 x 0.8) = 113.
    assert abs(sizes["test"] - 1001) < 113
    assert abs(sizes["validation"] - 500) < 85
    fewer = split_pictures(reversed(pictures[:100]), validation=0.1, test=0.2)
    assert set(fewer["test"]) == {each for each in splits["test"] if each.line < 100}


@pytest.mark.parametrize(
    ("name", "pictures", "captions"),
    [("flickr8k_1000", 1000, 5000), ("captions_coco_open", 125, 625)],
)
def test_read_captions_reads_real_corpora(name: str, pictures: int, captions: int) -> None:
    folder = Path(os.environ.get("JUMOK_DATA", "../shared/data")) / name
    if not folder.is_dir():
        pytest.skip(f"needs the data folder {folder}")
    found = read_captions(CaptionCorpus(folder / "captions.tsv", folder / "images"))
    assert len(found) == pictures
    assert sum(len(each.captions) for each in found) == captions


def test_pictures_of_another_table_need_no_caption_here(tmp_path: Path) -> None:
    found = read_captions(corpus(tmp_path, "a.png\t0\tone\n"), others=True)
    assert found == [Captioned("a.png", ("one",), 1)]
