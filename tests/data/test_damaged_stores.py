"""No index out of a file is followed unchecked: whatever is changed in a store, it is refused."""

import hashlib
import json
import multiprocessing
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from jumok.data.cache import cached_folder
from jumok.data.captions.store import Item, pixel_reader, store_inputs
from jumok.data.files.images import ImageSource
from jumok.data.pairs.pair import Pair
from jumok.data.pairs.store import prepare_pairs
from jumok.data.pictures.corpus import PictureSource, Shape
from jumok.data.pictures.store import prepare_pictures
from jumok.data.report import CorpusReport
from jumok.data.texts.corpus import TextCorpus, read_examples
from jumok.data.texts.examples import prepare_examples
from jumok.data.texts.store import prepare_texts
from jumok.data.texts.tokenizer import ByteTokenizer
from jumok.data.tokenizer import Tokenizer
from jumok.errors import DataError, Place
from tests.data.painted import paint
from tests.data.sentences import ENGLISH

Prepare = Callable[[], object]


def pairs(tmp_path: Path, tokenizer: Tokenizer) -> Prepare:
    rows = [
        Pair(source, target, line)
        for line, (source, target) in enumerate(zip(ENGLISH, reversed(ENGLISH), strict=True), 1)
    ]
    return lambda: prepare_pairs(
        rows,
        "rows",
        tokenizer,
        tokenizer,
        tmp_path / "cache",
        report=CorpusReport("rows"),
        keep_texts=True,
    )


def texts(tmp_path: Path, tokenizer: Tokenizer) -> Prepare:
    return lambda: prepare_texts(ENGLISH, "english", ByteTokenizer(), tmp_path / "cache")


def labelled(tmp_path: Path, tokenizer: Tokenizer) -> Prepare:
    file = tmp_path / "a.tsv"
    file.write_text("".join(f"{text}\t{row % 2}\n" for row, text in enumerate(ENGLISH)), "utf-8")
    corpus = TextCorpus(file, 0, 1)

    def prepare() -> object:
        report = CorpusReport("a", unit="texts")
        rows = read_examples(corpus, report)
        return prepare_examples(
            rows, [corpus], tokenizer, tmp_path / "cache", 50, labels=("0", "1"), report=report
        )

    return prepare


def classified(tmp_path: Path, tokenizer: Tokenizer) -> Prepare:
    sources = [PictureSource(folder=paint(tmp_path / "photos", 2))]
    return lambda: prepare_pictures(sources, Shape(4, 4, 3), tmp_path / "cache")


def inputs(tmp_path: Path, tokenizer: Tokenizer) -> Prepare:
    source = ImageSource(paint(tmp_path / "photos", 3))
    items = [Item(source, f"blue/{number:04}.png", Place("t", number)) for number in range(3)]
    return lambda: store_inputs(items, pixel_reader(4), tmp_path / "cache")


STORES = {
    "pairs": pairs,
    "texts": texts,
    "labelled texts": labelled,
    "labelled pictures": classified,
    "pictures": inputs,
}
INDICES = [
    ("pairs", "source.values", "uint16", 65_535),
    ("pairs", "target.values", "uint16", 65_535),
    ("pairs", "source.ends", "int64", 1 << 40),
    ("pairs", "target.ends", "int64", -7),
    ("pairs", "target_text.ends", "int64", -7),
    ("texts", "tokens.values", "uint16", 60_000),
    ("texts", "tokens.ends", "int64", 1),
    ("labelled texts", "texts.values", "uint32", 1 << 31),
    ("labelled texts", "texts.ends", "int64", -1),
    ("labelled texts", "labels.values", "uint32", 2),
    ("labelled pictures", "labels", "int64", 3),
    ("labelled pictures", "labels", "int64", -1),
]


def store_of(tmp_path: Path) -> Path:
    (folder,) = (tmp_path / "cache").iterdir()
    return folder


def change(file: Path, kind: str, value: int) -> None:
    values = np.fromfile(file, kind)
    values[len(values) // 2] = value
    file.write_bytes(values.tobytes())


def seal(folder: Path, **about: object) -> None:
    """Makes the digests those of what the store holds now: somebody changed it who knows them."""
    described = json.loads((folder / "store.json").read_text("utf-8"))
    described["about"] |= about
    described["files"] = {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest()
        for name in described["files"]
    }
    both = json.dumps([described["about"], described["files"]], sort_keys=True)
    described["sha256"] = hashlib.sha256(both.encode()).hexdigest()
    (folder / "store.json").write_text(json.dumps(described), "utf-8")


@pytest.mark.parametrize("kind", STORES)
def test_a_changed_bit_of_any_file_is_refused(kind: str, tmp_path: Path, tokenizer: Tokenizer):
    prepare = STORES[kind](tmp_path, tokenizer)
    prepare()
    folder = store_of(tmp_path)
    for file in folder.iterdir():
        whole = file.read_bytes()
        for place in (0, len(whole) // 2, len(whole) - 1):
            damaged = bytearray(whole)
            damaged[place] ^= 1
            file.write_bytes(damaged)
            with pytest.raises(DataError, match=r"(?s)the prepared \w+ (is|are) damaged") as caught:
                prepare()
            assert f"{folder}: " in str(caught.value)
            assert "delete this folder; it is rebuilt from the" in str(caught.value)
        file.write_bytes(whole)
    prepare()


@pytest.mark.parametrize(("kind", "name", "numbers", "value"), INDICES)
def test_an_index_that_may_not_be_is_refused_even_where_the_digests_fit(
    kind: str, name: str, numbers: str, value: int, tmp_path: Path, tokenizer: Tokenizer
):
    prepare = STORES[kind](tmp_path, tokenizer)
    prepare()
    folder = store_of(tmp_path)
    change(folder / name, numbers, value)
    seal(folder)
    with pytest.raises(
        DataError, match=r"(?s)damaged.*got: +" + name.split("_text", maxsplit=1)[0]
    ):
        prepare()


@pytest.mark.parametrize("rows", [[0, 1, 3], [-1, 0, 1], [0, 2, 1], [1, 1, 2], [], "ab", [0, 1]])
def test_rows_of_pictures_that_may_not_be_are_refused(rows, tmp_path: Path, tokenizer: Tokenizer):
    prepare = inputs(tmp_path, tokenizer)
    prepare()
    seal(store_of(tmp_path), kept=rows)
    with pytest.raises(DataError, match="the prepared images are damaged"):
        prepare()


def prepare_slowly(cache: Path, ready, result) -> None:
    def fill(folder: Path) -> dict[str, int]:
        (folder / "values").write_bytes(b"1" * 100_000)
        ready.wait()  # all are in the middle of writing
        return {"bytes": 100_000}

    result.put(str(cached_folder(cache, "the same", fill)))


def test_processes_that_prepare_the_same_at_once_all_have_it(tmp_path: Path):
    fork = multiprocessing.get_context("fork")
    ready, result = fork.Barrier(4), fork.Queue()
    processes = [
        fork.Process(target=prepare_slowly, args=(tmp_path / "cache", ready, result))
        for _ in range(4)
    ]
    for process in processes:
        process.start()
    folders = {result.get(timeout=60) for _ in processes}
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 4
    assert [str(each) for each in (tmp_path / "cache").iterdir()] == list(folders)
