"""Every reader of `data/`, on damaged files of its kind."""

import gzip
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from jumok.config import load_config
from jumok.data.captions.boxes import read_boxes
from jumok.data.captions.corpus import CaptionCorpus, read_captions
from jumok.data.captions.store import _tensor
from jumok.data.files.images import ImageSource, read_image
from jumok.data.files.vectors import read_vectors
from jumok.data.pairs.batches import gather_batch
from jumok.data.pairs.corpus import Corpus, read_pairs
from jumok.data.pairs.store import PairStore
from jumok.data.pictures.corpus import PictureSource, read_idx
from jumok.data.report import CorpusReport
from jumok.data.store import StoreWriter, read_store, write_store
from jumok.data.texts.corpus import TextCorpus, documents, read_examples
from jumok.data.tokenizer import Tokenizer
from jumok.errors import DataError
from jumok.evaluation.alignment import read_gold
from jumok.inspection.page.tours import read_tour, tours_folder
from tests.conftest import TINY_TEXT
from tests.fuzz.mutating import budgets, mutated, run

RECIPES = Path(__file__).parents[2] / "recipes"
PAIRS = [("the cat sat", "고양이가 앉았다"), ("a <b>dog</b> & more", '개 "더"'), ("x", "가")]


def tables() -> dict[str, bytes]:
    rows = [f"{source}\t{target}" for source, target in PAIRS]
    units = "".join(
        f'<tu><tuv xml:lang="en-GB"><seg>a <hi>b</hi><ph>c</ph>{number}</seg></tuv>'
        f'<tuv xml:lang="ko"><seg>가</seg></tuv></tu>'
        for number in range(3)
    )
    head = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"'
    po = [f'msgid "{number}"\nmsgstr "가"\n' for number in range(3)]
    return {
        "tsv": "\n".join(rows).encode(),
        "csv": b'en,ko\n"the, cat",\xea\xb0\x80\n"a ""b""",c\n',
        "jsonl": "\n".join(json.dumps({"en": a, "ko": b}) for a, b in PAIRS).encode(),
        "tmx": f"<?xml version='1.0'?><tmx version='1.4'><body>{units}</body></tmx>".encode(),
        "po": ("\n\n".join([head, *po])).encode(),
    }


def parquet() -> bytes:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet as library

    stream = io.BytesIO()
    library.write_table(pyarrow.table({"en": ["a", "b"], "ko": ["가", None], "n": [1, 2]}), stream)
    return stream.getvalue()


def picture(kind: str) -> bytes:
    from PIL import Image

    stream = io.BytesIO()
    pixels = np.random.default_rng(3).integers(0, 255, (9, 7, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(stream, kind)
    return stream.getvalue()


def archive(kind: int) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", kind) as file:
        for number in range(3):
            file.writestr(f"cat/{number}.png", picture("PNG"))
    return stream.getvalue()


def numbers() -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.ones((6, 5), np.float32))
    return stream.getvalue()


def binary_vectors() -> bytes:
    rows = (word + b" " + np.ones(3, "<f4").tobytes() + b"\n" for word in (b"cat", b"dog"))
    return b"2 3\n" + b"".join(rows)


def idx(*shape: int) -> bytes:
    sizes = b"".join(size.to_bytes(4, "big") for size in shape)
    return b"\0\0\x08" + bytes([len(shape)]) + sizes + bytes(int(np.prod(shape)))


def some(items: Iterator[object]) -> None:
    for _ in islice(items, 1000):
        pass


def pairs(file: Path) -> None:
    some(read_pairs(Corpus(file=file, source_column="en", target_column="ko")))


def rows(file: Path) -> None:
    some(read_pairs(Corpus(file=file)))


def whole_archive(file: Path) -> None:
    source = ImageSource(file)
    for name in source.names:
        source.read(name)


def labelled(file: Path) -> None:
    some(PictureSource(folder=file).read())


def captioned(file: Path) -> None:
    (file.parent / "pictures").mkdir(exist_ok=True)
    (file.parent / "pictures" / "0.png").write_bytes(b"")
    read_captions(CaptionCorpus(file, file.parent / "pictures", 0, 1), skip=True)


Reader = Callable[[Path], object]


def kinds() -> dict[str, tuple[bytes, Reader]]:
    """What each is read from, and by what."""
    text = tables()
    boxes = {"file": "0.png", "things": [{"kind": "a", "box": [0, 0, 3, 3]}], "en": [[[0, [0]]]]}
    return {
        "tsv": (text["tsv"], rows),
        "csv": (text["csv"], pairs),
        "jsonl": (text["jsonl"], pairs),
        "tmx": (text["tmx"], pairs),
        "po": (text["po"], rows),
        "parquet": (parquet(), pairs),
        "txt.gz": (
            gzip.compress(text["tsv"] * 50),
            lambda file: some(read_examples(TextCorpus(file))),
        ),
        "txt": (text["tsv"], lambda file: some(documents(TextCorpus(file), "blank-line"))),
        "idx": (idx(3, 4, 5), lambda file: read_idx(file, 3)),
        "png": (picture("PNG"), read_image),
        "jpg": (picture("JPEG"), read_image),
        "gif": (picture("GIF"), read_image),
        "bmp": (picture("BMP"), read_image),
        "webp": (picture("WEBP"), read_image),
        "tif": (picture("TIFF"), read_image),
        "ppm": (picture("PPM"), read_image),
        "zip": (archive(zipfile.ZIP_DEFLATED), whole_archive),
        "lzma.zip": (archive(zipfile.ZIP_LZMA), whole_archive),
        "bzip2.zip": (archive(zipfile.ZIP_BZIP2), labelled),
        "npy": (numbers(), lambda file: _tensor(file.read_bytes(), "a.npy")),
        "vec": (b"2 3\ncat 1 2 3\ndog 4 5 6\n", read_vectors),
        "glove": (b"cat 1 2 3\ndog 4 5 6\n", read_vectors),
        "w2v": (binary_vectors(), read_vectors),
        "gold": (b"0-0 1p2 2?3\n1-1\n", lambda file: some(read_gold(file))),
        "boxes": (json.dumps(boxes).encode(), lambda file: read_boxes(file, "en")),
        "captions": (b"0.png\ta cat\n0.png\ta dog\n", captioned),
        "tour": ((tours_folder() / "switch-off.toml").read_bytes(), read_tour),
        "safetensors": (store(), columns),
        "spm": (Tokenizer.train(TINY_TEXT, "bpe", 350).model, encoded),
    }


def store() -> bytes:
    def fill(writer: StoreWriter) -> dict[str, object]:
        for side in ("source", "target"):
            writer.add_sequences(side, np.arange(9, dtype=np.uint16), np.array([2, 3, 4]))
        return {"texts": False, "report": CorpusReport("a", 3, 3).to_json()}

    with TemporaryDirectory() as folder:
        write_store(Path(folder) / "a", fill)
        return (Path(folder) / "a").read_bytes()


def columns(file: Path) -> None:
    """As a shard whose digest fits."""
    try:
        pairs = PairStore.of(read_store(file, verified=True), (300, 300))
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise DataError(str(error)) from None
    gather_batch(pairs, np.arange(len(pairs)))


def encoded(file: Path) -> None:
    tokenizer = Tokenizer.load(file)
    tokenizer.decode(tokenizer.encode("the cat 고양이"))


@pytest.mark.filterwarnings("ignore")
@budgets(12)
def test_damaged_files_give_a_result_or_an_error(tmp_path: Path, cases: int) -> None:
    seeds = kinds()
    for kind, (content, read) in seeds.items():
        file = tmp_path / f"a.{kind}"

        def case(
            random: Random, file: Path = file, content: bytes = content, read: Reader = read
        ) -> None:
            file.write_bytes(mutated(content, random))
            read(file)

        run(f"reader {kind}", cases, case)


@budgets(40)
def test_damaged_recipes(tmp_path: Path, cases: int) -> None:
    recipes = [file.read_bytes() for file in sorted(RECIPES.glob("*.toml"))]
    recipe = tmp_path / "r.toml"

    def case(random: Random) -> None:
        recipe.write_bytes(mutated(random.choice(recipes), random))
        load_config(recipe, variables={"JUMOK_DATA": "/data"})

    assert run("recipe", cases, case)["error"] > 0, "some damage has to be noticed"
