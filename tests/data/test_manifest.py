"""A prepared corpus says what it holds, and a manifest that cannot be true is refused."""

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jumok.data.files.manifest import FileRecord, Manifest, parse_manifest
from jumok.data.pairs.prepared import ShardedPairs
from jumok.data.pairs.shards import shard_name, write_manifest, write_shard
from jumok.data.pairs.store import Filters, PairStore
from jumok.data.report import CorpusReport
from jumok.data.store import read_store
from jumok.data.tokenizer import Tokenizer
from jumok.errors import DataError, Location
from tests.data.sentences import ENGLISH
from tests.data.shards import ROWS, write

PLACE = Location("manifest.json")


def test_a_manifest_names_every_file_with_its_size_and_digest(tokenizer: Tokenizer, tmp_path: Path):
    written = write(tmp_path, tokenizer)
    content = (tmp_path / "manifest.json").read_bytes()
    manifest = parse_manifest(content, PLACE)
    assert manifest == written
    assert manifest.pairs == json.loads(content)["pairs"] == len(ENGLISH)
    assert [shard.pairs for shard in manifest.shards] == [7, 7, 6]
    assert manifest.tokenizer == tokenizer.hash
    assert manifest.about == {"filters": "none"}
    tokens = sum(len(tokenizer.encode(text)) for text in ENGLISH)
    assert sum(shard.source_tokens for shard in manifest.shards) == tokens
    assert sum(shard.target_tokens for shard in manifest.shards) == tokens
    for shard in manifest.shards:
        content = (tmp_path / shard.name).read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        assert shard.file == FileRecord(bytes=len(content), sha256=digest)
    report = CorpusReport.from_json(manifest.report)
    assert (report.read, report.kept) == (len(ENGLISH), len(ENGLISH))


def test_each_shard_is_a_store(tokenizer: Tokenizer, folder: Path):
    store = PairStore.of(read_store(folder / shard_name(1)), (tokenizer.size, tokenizer.size))
    assert store.source[0].tolist() == tokenizer.encode(ENGLISH[7])


def test_a_shard_of_which_nothing_is_left_is_not_written(tokenizer: Tokenizer, tmp_path: Path):
    report = CorpusReport("rows")
    assert not write_shard(tmp_path, 0, ROWS, tokenizer, Filters(2), report=report)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(DataError, match="there are no shards in this folder"):
        write_manifest(tmp_path, tokenizer, name="rows")


def test_a_shard_is_written_anew(tokenizer: Tokenizer, folder: Path):
    report = CorpusReport("rows")
    write_shard(folder, 1, ROWS[:1], tokenizer, Filters(), report=report)
    assert [shard.pairs for shard in write_manifest(folder, tokenizer, name="r").shards] == [
        *(7, 1, 6)
    ]


def test_shards_of_two_tokenizers_are_refused(tokenizer: Tokenizer, folder: Path):
    other = Tokenizer.train(ENGLISH, "bpe", 311)
    write_shard(folder, 1, ROWS, other, Filters(), report=CorpusReport("rows"))
    with pytest.raises(DataError) as caught:
        write_manifest(folder, tokenizer, name="rows")
    assert str(caught.value) == (
        f"{folder / shard_name(1)}: the shard was written with another tokenizer.\n"
        f"  expected: SHA-256 {tokenizer.hash}\n"
        f"  got:      SHA-256 {other.hash}\n"
        "  do:       remove the shards, and write all of them again"
    )


def test_a_shard_that_was_cut_is_incomplete(tokenizer: Tokenizer, folder: Path):
    file = folder / shard_name(2)
    file.write_bytes(file.read_bytes()[:-7])
    with pytest.raises(
        DataError, match=r"shard-000002\.safetensors: the shard is incomplete\.[^$]*cut off"
    ):
        write_manifest(folder, tokenizer, name="rows")


def sealed(described: dict[str, Any]) -> bytes:
    """With the digest of what it says now: whoever changed it knows how it is made."""
    described.pop("sha256", None)
    text = json.dumps(described, sort_keys=True)
    return json.dumps({**described, "sha256": hashlib.sha256(text.encode()).hexdigest()}).encode()


def changed(key: str, value: object) -> Callable[[dict[str, Any]], object]:
    return lambda described: described.__setitem__(key, value)


LIES = {
    "pairs": (changed("pairs", 21), "the manifest's number of pairs is not that of its shards"),
    "shards": (changed("shards", []), "shards is []: Tuple should have at least 1 item"),
    "twice": (lambda m: m["shards"].append(m["shards"][0]), "two shards have the same name"),
    "path": (lambda m: m["shards"][0].update(name="../x"),
             "shards.0.name is '../x': String should match pattern"),
    "file": (lambda m: m["files"].update({"a/b": {"bytes": 1, "sha256": "0" * 64}}),
             "is 'a/b': String should match pattern"),
    "digest": (lambda m: m["files"]["tokenizer.model"].update(sha256="x"),
               "files.tokenizer.model.sha256 is 'x': String should match pattern"),
    "count": (lambda m: m["shards"][0].update(pairs=-3), "shards.0.pairs is -3: "),
    "empty": (lambda m: m["shards"][0].update(pairs=0), "greater than or equal to 1"),
    "more": (lambda m: m["shards"][0].update(more=0), "shards.0.more is 0: Extra inputs"),
    "tokenizer": (lambda m: m["files"].clear(), "tokenizer.model is missing"),
    "kind": (changed("kind", "a zoo"), "got:      'a zoo', version 2"),
    "newer": (changed("version", 3), "of a newer version.\n  expected: version 2"),
    "none": (lambda m: m.pop("shards"), "Field required"),
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
def test_a_manifest_that_cannot_be_true_is_refused(lie: str, folder: Path):
    described = json.loads((folder / "manifest.json").read_bytes())
    change, text = LIES[lie]
    change(described)
    with pytest.raises(DataError) as caught:
        parse_manifest(sealed(described), PLACE)
    assert str(caught.value).startswith("manifest.json: ")
    assert text in str(caught.value)


def test_a_changed_manifest_is_refused(folder: Path):
    content = (folder / "manifest.json").read_text("utf-8")
    with pytest.raises(DataError) as caught:
        parse_manifest(content.replace('"pairs": 7', '"pairs": 8').encode(), PLACE)
    assert "the manifest has changed since it was written." in str(caught.value)
    assert "do:       copy it again from where the corpus was prepared" in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"\xff", b'{"kind": 1, "version": "a"}'])
def test_other_files_are_no_manifests(content: bytes):
    with pytest.raises(DataError, match="this is not the manifest of a prepared corpus"):
        parse_manifest(content, PLACE)


JUNK = [None, -1, 10**30, 1.5, True, "", "../x", [], {}, [[]]]


def replaced(value: Any, junk: object) -> Iterator[Any]:
    """Copies of the value, with each of its parts replaced in one."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield {**value, key: junk}
            yield {each: it for each, it in value.items() if each != key}
            yield from ({**value, key: each} for each in replaced(inner, junk))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield [*value[:index], junk, *value[index + 1 :]]
            changed_ones = replaced(inner, junk)
            yield from ([*value[:index], each, *value[index + 1 :]] for each in changed_ones)


@pytest.mark.parametrize("junk", JUNK, ids=repr)
def test_whatever_a_manifest_says_it_is_read_or_refused(junk: object, folder: Path):
    described = json.loads((folder / "manifest.json").read_bytes())
    described["shards"] = described["shards"][:1]
    described["pairs"] = described["shards"][0]["pairs"]
    assert parse_manifest(sealed(described), PLACE).pairs == 7
    refused = 0
    for other in replaced(described, junk):
        try:
            assert isinstance(parse_manifest(sealed(other), PLACE), Manifest)
        except DataError:
            refused += 1
    assert refused > 20


@pytest.mark.parametrize("document", ["corpora.md", "corpora.ko.md"])
def test_the_documented_way_to_write_a_corpus_writes_one(
    document: str, tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = (Path(__file__).parents[2] / "docs" / document).read_text("utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    tokenizer.save(tmp_path / "tokenizer.model")
    for name, rows in (("news.tsv", ROWS[:9]), ("talks.tsv", ROWS[9:])):
        lines = "".join(f"{pair.source}\t{pair.target}\n" for pair in rows)
        (tmp_path / name).write_text(lines, "utf-8")
    monkeypatch.chdir(tmp_path)
    exec(code, {})
    corpus = ShardedPairs("prepared", tmp_path / "cache")
    assert corpus.shards == [9, 11]
    assert corpus.source[19].tolist() == tokenizer.encode(ROWS[19].source)
