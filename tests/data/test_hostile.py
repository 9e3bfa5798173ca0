"""Files that were made to hurt, or that a disk has hurt: each is refused, and named."""

import gzip
import io
import json
import os
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from jumok.config import load_config
from jumok.data.files.images import ImageSource, read_image
from jumok.data.files.reading import read_lines
from jumok.data.files.vectors import read_vectors
from jumok.data.pairs.corpus import Corpus, read_pairs
from jumok.data.pictures.corpus import read_idx
from jumok.data.texts.corpus import TextCorpus, read_examples
from jumok.errors import ConfigError, DataError, JumokError
from jumok.evaluation.alignment import parse_gold


def said(read: Callable[[], object]) -> str:
    """What the reader says, without work that grows out of all proportion."""
    start = time.process_time()
    with pytest.raises(JumokError) as caught:
        _used(read)
    assert time.process_time() - start < 30  # on any machine
    return str(caught.value)


def _used(read: Callable[[], object]) -> None:
    found = read()
    if isinstance(found, Iterator):
        list(found)


def pairs(file: Path, content: bytes, **keys: object) -> str:
    file.write_bytes(content)
    return said(lambda: read_pairs(Corpus(file=file, **keys)))


def test_idx_whose_product_wraps_around(tmp_path: Path) -> None:
    sizes = (2**31, 2**31, 4)  # 2 ** 64 values, which are 0 in 64 bits
    file = tmp_path / "images"
    file.write_bytes(b"\0\0\x08\x03" + b"".join(size.to_bytes(4, "big") for size in sizes))
    assert "= 18,446,744,073,709,551,616 values" in said(lambda: read_idx(file, 3))


def tmx(text: str, declared: str = "", attribute: str = "") -> bytes:
    unit = f'<tu{attribute}><tuv xml:lang="en"><seg>{text}</seg></tuv>'
    unit += '<tuv xml:lang="ko"><seg>가</seg></tuv></tu>'
    return f"<?xml version='1.0'?>{declared}<tmx><body>{unit}</body></tmx>".encode()


def test_tmx_with_tags_in_tags(tmp_path: Path) -> None:
    pytest.importorskip("lxml")
    file = tmp_path / "deep.tmx"
    file.write_bytes(tmx("<hi>" * 1_500 + "deep" + "</hi>" * 1_500 + " and <ph>code</ph>out"))
    corpus = Corpus(file=file, source_column="en", target_column="ko")
    assert [tuple(pair)[:2] for pair in read_pairs(corpus)] == [("deep and out", "가")]
    assert "not well-formed TMX" in pairs(
        file, tmx("<hi>" * 9_000), source_column="en", target_column="ko"
    )


def test_xliff_with_tags_in_tags(tmp_path: Path) -> None:
    pytest.importorskip("lxml")
    file = tmp_path / "deep.xlf"
    source = "<g>" * 1_500 + "deep" + "</g>" * 1_500 + " and <ph>code</ph>out"
    unit = f"<trans-unit><source>{source}</source><target>가</target></trans-unit>"
    file.write_text(f"<xliff><file>{unit}</file></xliff>", encoding="utf-8")
    assert [tuple(pair)[:2] for pair in read_pairs(Corpus(file=file))] == [("deep and out", "가")]


LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10 if n else "ha" * 10}">' for n in range(12))


@pytest.mark.parametrize(
    "content",
    [
        tmx("&l11;", f"<!DOCTYPE tmx [{LAUGHS}]>"),
        tmx("x", f"<!DOCTYPE tmx [{LAUGHS}]>", ' note="&l11;"'),
    ],
)
def test_a_billion_laughs_are_not_laughed(tmp_path: Path, content: bytes) -> None:
    pytest.importorskip("lxml")
    assert pairs(tmp_path / "bomb.tmx", content, source_column="en", target_column="ko")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b'{"a": ' * 100_000, "the line is not JSON."),
        (b"[" * 100_000, "the line is not JSON."),
        (b'{"a": ' + b"9" * 5_000 + b', "b": ""}', "the line is not JSON."),
        (b'{"a": "\\ud83d", "b": "x"}', "an unpaired surrogate (half a character)"),
    ],
)
def test_json_lines_that_no_text_comes_from(tmp_path: Path, line: bytes, expected: str) -> None:
    message = pairs(tmp_path / "a.jsonl", line, source_column="a", target_column="b")
    assert message.startswith(f"{tmp_path / 'a.jsonl'}, line 1: ")
    assert expected in message


def test_parquet_without_columns_and_with_one_name_twice(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    file = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table({}), file)
    assert "there is no column in it." in said(lambda: read_pairs(Corpus(file=file)))
    twice = pyarrow.Table.from_arrays([pyarrow.array(["x"])] * 2, ["a", "a"])
    parquet.write_table(twice, file)
    assert "several columns are called 'a'" in said(lambda: read_pairs(Corpus(file=file)))
    content = bytearray(file.read_bytes())
    content[20:40] = b"\xff" * 20
    assert str(file) in pairs(file, bytes(content))


@pytest.mark.parametrize("column", [-1, 10**30])
def test_a_column_that_no_file_has(tmp_path: Path, column: int) -> None:
    message = pairs(tmp_path / "a.tsv", b"a\tb\n", source_column=column)
    assert "there is no column" in message


def test_csv_with_a_field_of_a_megabyte(tmp_path: Path) -> None:
    assert "the row is not CSV." in pairs(tmp_path / "a.csv", b'"' + b"x" * 10**6 + b'",b\n')


def png() -> bytes:
    from PIL import Image

    stream = io.BytesIO()
    Image.fromarray(np.zeros((3, 3, 3), np.uint8)).save(stream, "PNG")
    return stream.getvalue()


@pytest.mark.parametrize("kind", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2, zipfile.ZIP_DEFLATED])
def test_a_damaged_member_of_an_archive(tmp_path: Path, kind: int) -> None:
    file = tmp_path / "pictures.zip"
    with zipfile.ZipFile(file, "w", kind) as archive:
        archive.writestr("cat/a.png", png())
        archive.writestr("cat/b.png", png())
    content = bytearray(file.read_bytes())
    start = 30 + len("cat/a.png")
    content[start : start + 20] = b"\xff" * 20
    file.write_bytes(content)
    message = said(lambda: ImageSource(file).content("cat/a.png"))
    assert f"{file}/cat/a.png: the image cannot be extracted from the archive." in message
    assert ImageSource(file).content("cat/b.png") == png()


@pytest.mark.parametrize(
    "content",
    [
        b"9" * 5_000 + b" 3\nword 1 2 3\n",
        b"2 " + b"9" * 5_000 + b"\nword 1 2 3\n",
        b"1000000000000 3\nword 1 2 3\n",
        b"1 900000000\nword 1 2 3\n",
    ],
)
def test_vectors_whose_header_lies(tmp_path: Path, content: bytes) -> None:
    pytest.importorskip("gensim")
    file = tmp_path / "v.vec"
    file.write_bytes(content)
    assert str(file) in said(lambda: read_vectors(file))


def test_gold_links_of_five_thousand_digits() -> None:
    assert "this is not a link between words" in said(lambda: parse_gold("9" * 5_000 + "-0"))


@pytest.mark.parametrize("name", ["a\0b", "a" * 300, "ring", "/dev/tty", "folder"])
@pytest.mark.parametrize(
    "read",
    [
        read_lines,
        read_image,
        read_vectors,
        lambda path: read_examples(TextCorpus(path)),
        lambda path: read_pairs(Corpus(source=path, target=path)),
        lambda path: read_idx(path, 1),
    ],
    ids=["lines", "image", "vectors", "texts", "pairs", "idx"],
)
def test_names_that_no_file_has(tmp_path: Path, name: str, read: Callable[[Path], object]) -> None:
    os.symlink("ring", tmp_path / "ring")
    (tmp_path / "folder").mkdir()
    if name == "/dev/tty" and os.path.exists(name):
        try:
            os.close(os.open(name, os.O_RDONLY))
        except OSError:
            pass
        else:
            pytest.skip("there is a terminal")
    assert said(lambda: read(tmp_path / name))


def test_gzip_in_all_its_damage(tmp_path: Path) -> None:
    file = tmp_path / "a.gz"
    whole = gzip.compress(b"one line\n" * 1_000)
    for content in (whole[:-4], whole[:20], b"\x1f\x8b" + b"\xff" * 30, b"no gzip"):
        file.write_bytes(content)
        assert "the compressed file is damaged or truncated." in said(lambda: read_lines(file))


RECIPES = {
    "nested": "x = " + "[" * 3_000 + "]" * 3_000,
    "tables": "x = " + "{a = " * 3_000 + "1" + "}" * 3_000,
    "dotted": ".".join(["a"] * 10_000) + " = 1",
    "digits": "seed = " + "9" * 5_000,
    "hexadecimal": "seed = 0x" + "f" * 5_000,
    "huge": "seed = 1e400",
    "long": 'name = "' + "x" * 10**6 + '!"',
    "date": "name = 1999-01-01",
    "model": "model = 5",
    "model list": "[[model]]\nkind = 3",
}


@pytest.mark.parametrize("name", RECIPES)
def test_recipes_that_are_none(tmp_path: Path, name: str) -> None:
    recipe = tmp_path / "r.toml"
    recipe.write_text(RECIPES[name])
    message = said(lambda: load_config(recipe))
    assert str(recipe) in message
    assert len(message) < 5_000


@pytest.mark.parametrize("name", ["nested", "tables", "dotted", "digits", "hexadecimal"])
def test_overrides_that_are_none(tmp_path: Path, name: str) -> None:
    recipe = tmp_path / "r.toml"
    recipe.write_text('name = "r"\n[data]\ntrain = [{source = "a", target = "b"}]\n')
    assert len(said(lambda: load_config(recipe, [RECIPES[name].replace(" = ", "=")]))) < 5_000


@pytest.mark.parametrize("name", ["a\0b", "a" * 300, "ring", "folder", "pipe"])
def test_recipes_that_are_no_file(tmp_path: Path, name: str) -> None:
    os.symlink("ring", tmp_path / "ring")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ConfigError, match="there is no such recipe"):
        load_config(tmp_path / name)


def test_a_nul_in_a_path_of_a_recipe(tmp_path: Path) -> None:
    recipe = tmp_path / "r.toml"
    recipe.write_text('name = "r"\n[[data.train]]\nsource = "a\\u0000b"\ntarget = "b"\n')
    assert "a path cannot hold a NUL character" in said(lambda: load_config(recipe))


def test_features_whose_header_lies() -> None:
    from jumok.data.captions.store import _tensor

    for shape in ("(100, 10000, 10000)", "(", "(-1,)"):
        text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
        head = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()
        with pytest.raises(DataError, match="the features cannot be read"):
            _tensor(head + bytes(8), "a.npy")
    with pytest.raises(DataError, match="the features cannot be read"):
        _tensor(json.dumps({}).encode() * 9, "a.safetensors")
