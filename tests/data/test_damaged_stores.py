"""No index out of a file is followed unchecked: whatever is changed in a store, it is refused."""

import multiprocessing
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from jumok.data.captions.store import Item, pixel_reader, store_inputs
from jumok.data.files.images import ImageSource
from jumok.data.pairs.store import prepare_pairs
from jumok.data.pictures.corpus import PictureSource, Shape
from jumok.data.pictures.store import prepare_pictures
from jumok.data.report import CorpusReport
from jumok.data.store import StoreWriter, cached_store
from jumok.data.texts.corpus import TextCorpus, read_examples
from jumok.data.texts.examples import prepare_examples
from jumok.data.texts.store import prepare_texts
from jumok.data.texts.tokenizer import ByteTokenizer
from jumok.data.tokenizer import Tokenizer
from jumok.errors import DataError, Location
from tests.data.painted import paint
from tests.data.sentences import ENGLISH
from tests.data.shards import ROWS
from tests.data.stores import flip, rewrite

Prepare = Callable[[], object]


def pairs(tmp_path: Path, tokenizer: Tokenizer) -> Prepare:
    cache, report = tmp_path / "cache", CorpusReport("rows")
    return lambda: prepare_pairs(
        ROWS, "rows", tokenizer, tokenizer, cache, report=report, keep_texts=True
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
    items = [Item(source, f"blue/{number:04}.png", Location("t", number)) for number in range(3)]
    return lambda: store_inputs(items, pixel_reader(4), tmp_path / "cache")


STORES = {
    "pairs": pairs,
    "texts": texts,
    "labelled texts": labelled,
    "labelled pictures": classified,
    "pictures": inputs,
}
INDICES = [
    ("pairs", "source", 65_535),
    ("pairs", "target", 65_535),
    ("pairs", "source.offsets", 1 << 40),
    ("pairs", "target.offsets", -7),
    ("pairs", "target_text.offsets", -7),
    ("texts", "tokens", 299),
    ("texts", "tokens.offsets", 1),
    ("labelled texts", "texts", 65_535),
    ("labelled texts", "texts.offsets", -1),
    ("labelled texts", "labels", 2),
    ("labelled texts", "labels", -1),
    ("labelled pictures", "labels", 3),
    ("labelled pictures", "labels", -1),
]


def store_of(tmp_path: Path) -> Path:
    (file,) = (tmp_path / "cache").iterdir()
    return file


@pytest.mark.parametrize("kind", STORES)
def test_a_changed_bit_is_refused_wherever_it_is(kind: str, tmp_path: Path, tokenizer: Tokenizer):
    prepare = STORES[kind](tmp_path, tokenizer)
    prepare()
    file = store_of(tmp_path)
    whole = file.read_bytes()
    header = 8 + int.from_bytes(whole[:8], "little")
    places = (0, 8, 100, header // 2, header - 1, header, (header + len(whole)) // 2)
    for place in (*places, len(whole) - 1):
        flip(file, place)
        with pytest.raises(DataError, match="the prepared data are damaged") as caught:
            prepare()
        assert f"{file}: " in str(caught.value)
        assert "delete this file; it is prepared again" in str(caught.value)
        file.write_bytes(whole)
    for size in (0, 7, header - 1, header, len(whole) - 1):
        file.write_bytes(whole[:size])
        with pytest.raises(DataError, match="the prepared data are damaged"):
            prepare()
    file.write_bytes(whole)
    prepare()


@pytest.mark.parametrize(("kind", "name", "value"), INDICES)
def test_an_index_that_may_not_be_is_refused_even_where_the_digest_fits(
    kind: str, name: str, value: int, tmp_path: Path, tokenizer: Tokenizer
):
    prepare = STORES[kind](tmp_path, tokenizer)
    prepare()

    def change(tensors: dict[str, np.ndarray]) -> None:
        tensors[name][len(tensors[name]) // 2] = value

    rewrite(store_of(tmp_path), change)
    with pytest.raises(DataError, match=f"(?s)damaged.*got: +{name}"):
        prepare()


@pytest.mark.parametrize("kind", STORES)
def test_every_missing_column_is_noticed(kind: str, tmp_path: Path, tokenizer: Tokenizer):
    prepare = STORES[kind](tmp_path, tokenizer)
    prepare()
    file = store_of(tmp_path)
    whole = file.read_bytes()
    for name in load_file(file):
        rewrite(file, lambda tensors, name=name: tensors.pop(name))
        with pytest.raises(DataError, match=f"(?s)damaged.*got: +{name} does not hold"):
            prepare()
        file.write_bytes(whole)


@pytest.mark.parametrize("rows", [[0, 1, 3], [-1, 0, 1], [0, 2, 1], [1, 1, 2], [], "ab", [0, 1]])
def test_rows_of_pictures_that_may_not_be_are_refused(rows, tmp_path: Path, tokenizer: Tokenizer):
    prepare = inputs(tmp_path, tokenizer)
    prepare()
    rewrite(store_of(tmp_path), kept=rows)
    with pytest.raises(DataError, match="the prepared data are damaged"):
        prepare()


def prepare_slowly(cache: Path, ready, result) -> None:
    def fill(writer: StoreWriter) -> dict[str, object]:
        writer.add("values", np.ones(100_000, np.uint8))
        ready.wait()  # all are in the middle of writing
        return {}

    with cached_store(cache, "the same", fill) as store:
        result.put(str(store.file))


@pytest.mark.process
def test_processes_that_prepare_the_same_at_once_all_have_it(tmp_path: Path):
    fork = multiprocessing.get_context("fork")
    ready, result = fork.Barrier(4), fork.Queue()
    processes = [
        fork.Process(target=prepare_slowly, args=(tmp_path / "cache", ready, result))
        for _ in range(4)
    ]
    for process in processes:
        process.start()
    files = {result.get(timeout=60) for _ in processes}
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 4
    assert [str(each) for each in (tmp_path / "cache").iterdir()] == list(files)
