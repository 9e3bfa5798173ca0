"""Shards are read as one corpus, from a folder or an address; what is wrong with them is said."""

import functools
import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest
import torch

from jumok.data.files import remote
from jumok.data.files.manifest import FileRecord
from jumok.data.pairs.batches import Batch, UpdateStream, gather_batch
from jumok.data.pairs.prepared import ShardedPairs
from jumok.data.pairs.sampler import PairSampler
from jumok.data.pairs.shards import shard_name, write_shard
from jumok.data.pairs.store import Filters, PairStore, prepare_pairs
from jumok.data.report import CorpusReport
from jumok.data.store import read_store
from jumok.data.tokenizer import Tokenizer
from jumok.errors import DataError, MissingExtraError
from tests.data.sentences import ENGLISH
from tests.data.shards import ROWS, write
from tests.data.stores import flip, rewrite
from tests.missing import uninstall


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def whole(tmp_path: Path, tokenizer: Tokenizer, **options: Any) -> PairStore:
    """The same pairs in one store."""
    return prepare_pairs(
        ROWS, "rows", tokenizer, tokenizer, tmp_path / "whole", report=CorpusReport("x"), **options
    )


class Site(SimpleHTTPRequestHandler):
    """Serves a folder; the first requests may fail."""

    failures: dict[str, int]
    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        if self.failures.get(self.path, 0) > 0:
            self.failures[self.path] -= 1
            self.send_error(503)
        else:
            super().do_GET()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def site(folder: Path) -> Iterator[tuple[str, type[Site]]]:
    handler = type("OwnSite", (Site,), {"failures": {}, "asked": []})
    bound = functools.partial(handler, directory=str(folder))
    server = ThreadingHTTPServer(("127.0.0.1", 0), bound)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", handler
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def memory(folder: Path) -> Iterator[str]:
    files = fsspec.filesystem("memory")
    files.put(str(folder), "/corpora/rows", recursive=True)
    yield "memory://corpora/rows"
    files.rm("/corpora", recursive=True)


def same(one: Batch, other: Batch) -> bool:
    return torch.equal(one.source, other.source) and torch.equal(
        one.target_output, other.target_output
    )


@pytest.mark.parametrize("place", ["folder", "memory", "http"])
def test_shards_are_read_as_one_corpus(
    place: str, folder: Path, cache: Path, tokenizer: Tokenizer, tmp_path: Path, request
):
    where = {"folder": lambda: str(folder), "memory": lambda: request.getfixturevalue("memory"),
             "http": lambda: request.getfixturevalue("site")[0]}[place]()  # fmt: skip
    corpus, one = ShardedPairs(where, cache), whole(tmp_path, tokenizer)
    assert len(corpus) == len(one) == 20
    assert corpus.tokenizer.hash == tokenizer.hash
    assert corpus.report.kept == 20
    assert corpus.lengths.target_tokens == one.lengths.target_tokens
    for first, end in ((0, 20), (3, 5), (6, 8), (7, 14), (2, 19)):
        for read, expected in zip(
            corpus.read(first, end), one.lengths.read(first, end), strict=True
        ):
            assert read.tolist() == expected.tolist()
    for row in range(20):
        assert corpus.source[row].tolist() == one.source[row].tolist()
    for rows in ([0], [19, 0, 7, 6, 13, 14], [8, 8], list(range(20))):
        assert same(gather_batch(corpus, np.array(rows)), gather_batch(one, np.array(rows)))
    assert corpus.validation is not None
    lines = [f"{pair.source}\t{pair.target}" for pair in ROWS[:4]]
    assert corpus.validation.read_text("utf-8").splitlines() == lines


def test_a_stream_of_shards_is_that_of_one_store_and_its_blocks_go_on_from_any_cursor(
    folder: Path, cache: Path, tokenizer: Tokenizer, tmp_path: Path
):
    corpora = ShardedPairs(str(folder), cache), whole(tmp_path, tokenizer)
    streams = [
        UpdateStream([each], PairSampler([each.lengths], None, 60, 30, 1)) for each in corpora
    ]
    for _ in range(9):
        one, other = map(next, streams)
        assert all(same(*both) for both in zip(one, other, strict=True))

    def in_blocks() -> UpdateStream:
        sampler = PairSampler([corpora[0].lengths], None, 60, 30, 1, block_pairs=7)
        return UpdateStream([corpora[0]], sampler)

    straight, resumed = in_blocks(), in_blocks()
    for _ in range(5):
        next(straight)
    resumed.restore(json.loads(json.dumps(straight.cursor)))
    for _ in range(9):
        assert all(same(*both) for both in zip(next(resumed), next(straight), strict=True))


def test_texts_are_kept_on_request(cache: Path, tokenizer: Tokenizer, tmp_path: Path):
    write(tmp_path / "kept", tokenizer, keep_texts=True)
    corpus = ShardedPairs(str(tmp_path / "kept"), cache)
    assert corpus.texts([0, 19, 8]) == tuple(
        [side[row] for row in (0, 19, 8)] for side in (ENGLISH, list(reversed(ENGLISH)))
    )


def test_a_sample_comes_from_few_shards_and_all_parts_of_the_corpus(
    cache: Path, tokenizer: Tokenizer, tmp_path: Path
):
    write(tmp_path / "many", tokenizer, shards=10)
    corpus = ShardedPairs(str(tmp_path / "many"), cache)
    chosen = (0, 1, 2, 3, 5, 6, 7, 8)
    assert corpus.sample(99) == [row for shard in chosen for row in (2 * shard, 2 * shard + 1)]
    assert corpus.sample(4) == [0, 4, 10, 14]


def test_only_the_shards_that_are_needed_are_copied_and_each_once(
    site: tuple[str, type[Site]], cache: Path, tokenizer: Tokenizer
):
    address, handler = site
    corpus = ShardedPairs(address, cache)
    assert not [path for path in handler.asked if "shard" in path]
    corpus.read(0, 6)
    assert {path.removeprefix("/") for path in handler.asked if "shard" in path} == {shard_name(0)}
    corpus.expect([(15, 16)])
    for again in (corpus, ShardedPairs(address, cache)):
        again.read(0, 20)
    asked = [path for path in handler.asked if "shard" in path]
    assert len(asked) == len(set(asked)) == 3
    assert not list(cache.glob(".*.lock"))


def test_two_readers_with_one_cache_copy_each_file_once(site: tuple[str, type[Site]], cache: Path):
    address, handler = site
    readers = [ShardedPairs(address, cache) for _ in range(2)]
    for reader in readers:
        reader.expect([(0, 20)])
    first, second = (reader.read(0, 20)[0].tolist() for reader in readers)
    assert first == second
    asked = [path for path in handler.asked if "shard" in path]
    assert len(asked) == len(set(asked)) == 3


def test_a_damaged_copy_is_made_again(site: tuple[str, type[Site]], cache: Path):
    address, _ = site
    before = ShardedPairs(address, cache).read(0, 20)
    for file in cache.glob("*.safetensors"):
        flip(file)
    after = ShardedPairs(address, cache).read(0, 20)
    assert [each.tolist() for each in after] == [each.tolist() for each in before]


def test_a_missing_file_is_named_before_training(folder: Path, cache: Path):
    file = folder / shard_name(1)
    written = FileRecord.of(file)
    file.unlink()
    with pytest.raises(DataError) as caught:
        ShardedPairs(str(folder), cache)
    assert str(caught.value) == (
        f"{file}: a file of the prepared corpus is missing.\n"
        f"  expected: {written.bytes:,} bytes, according to manifest.json\n"
        "  got:      no such file\n"
        "  do:       copy the corpus again as a whole, or prepare it again: jumok prepare"
    )


def test_a_cut_shard_is_named_before_training(folder: Path, cache: Path):
    file = folder / shard_name(2)
    size = FileRecord.of(file).bytes
    file.write_bytes(file.read_bytes()[:-2])
    with pytest.raises(DataError) as caught:
        ShardedPairs(str(folder), cache)
    assert str(caught.value) == (
        f"{file}: a file of the prepared corpus has another size than when it was written.\n"
        f"  expected: {size:,} bytes, according to manifest.json\n"
        f"  got:      {size - 2:,} bytes: it was cut\n"
        "  do:       copy the corpus again as a whole, or prepare it again: jumok prepare"
    )


@pytest.mark.parametrize("place", [0, 99, -1])
def test_a_changed_shard_is_named_when_it_is_opened(place: int, folder: Path, cache: Path):
    file = folder / shard_name(1)
    written = FileRecord.of(file).sha256
    flip(file, place)
    corpus = ShardedPairs(str(folder), cache)
    corpus.read(0, 7)
    with pytest.raises(DataError) as caught:
        corpus.read(7, 8)
    assert str(caught.value) == (
        f"{file}: a file of the prepared corpus has changed since it was written.\n"
        f"  expected: SHA-256 {written}, according to manifest.json\n"
        f"  got:      SHA-256 {FileRecord.of(file).sha256}\n"
        "  do:       copy the corpus again as a whole, or prepare it again: jumok prepare"
    )


def reseal(folder: Path, **changes: Any) -> None:
    """Changes the entry of shard 1 in the manifest, whose digest then fits again."""
    described = json.loads((folder / "manifest.json").read_text("utf-8"))
    shard = described["shards"][1]
    shard.update(changes)
    shard["file"] = FileRecord.of(folder / shard["name"]).model_dump()
    described["pairs"] = sum(each["pairs"] for each in described["shards"])
    described.pop("sha256")
    text = json.dumps(described, sort_keys=True)
    described["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(described), "utf-8")


@pytest.mark.parametrize("key", ["pairs", "source_tokens", "target_tokens", "longest"])
def test_a_manifest_with_wrong_numbers_is_refused(key: str, folder: Path, cache: Path):
    reseal(folder, **{key: 8})
    with pytest.raises(DataError) as caught:
        ShardedPairs(str(folder), cache).read(7, 8)
    text = str(caught.value)
    assert f"{folder / 'manifest.json'}, {shard_name(1)}: the manifest's numbers are not" in text
    assert "8 " in text.split("according to manifest.json", maxsplit=1)[0]
    assert "got:      7 pairs, " in text
    assert "do:       prepare the corpus again: jumok prepare" in text


def test_a_shard_of_another_tokenizer_is_refused(folder: Path, cache: Path, tokenizer: Tokenizer):
    other = Tokenizer.train(ENGLISH, "bpe", 311)
    write_shard(folder, 1, ROWS[7:14], other, Filters(), report=CorpusReport("rows"))
    stored = read_store(folder / shard_name(1)).about
    source, target = stored["tokens"]
    reseal(folder, source_tokens=source, target_tokens=target, longest=stored["longest"])
    with pytest.raises(DataError) as caught:
        ShardedPairs(str(folder), cache).read(7, 8)
    assert str(caught.value) == (
        f"{folder / 'manifest.json'}, {shard_name(1)}: the shard was written with another "
        "tokenizer than the manifest's.\n"
        f"  expected: SHA-256 {tokenizer.hash}, according to manifest.json\n"
        f"  got:      SHA-256 {other.hash}\n"
        "  do:       prepare the corpus again: jumok prepare"
    )


def test_another_tokenizer_in_the_folder_is_refused(folder: Path, cache: Path):
    Tokenizer.train(ENGLISH, "bpe", 311).save(folder / "tokenizer.model")
    with pytest.raises(DataError, match=r"tokenizer\.model: a file of the prepared corpus has ano"):
        ShardedPairs(str(folder), cache)


def test_a_shard_whose_ids_lie_outside_of_the_vocabulary_is_refused(folder: Path, cache: Path):
    def change(tensors: dict[str, np.ndarray]) -> None:
        tensors["source"][3] = 60_000

    rewrite(folder / shard_name(1), change)
    reseal(folder)
    with pytest.raises(DataError, match=r"the shard does not hold what a shard holds\.[^$]*60000"):
        ShardedPairs(str(folder), cache).read(7, 8)


@pytest.mark.parametrize("what", ["empty", "nothing", "http"])
def test_a_place_without_a_corpus_is_said(
    what: str, tmp_path: Path, cache: Path, site: tuple[str, type[Site]]
):
    (tmp_path / "empty").mkdir()
    where = f"{site[0]}/elsewhere" if what == "http" else str(tmp_path / what)
    with pytest.raises(DataError) as caught:
        ShardedPairs(where, cache)
    assert f"{where}/manifest.json: there is no prepared corpus here." in str(caught.value)
    assert "do:       name the folder that `jumok prepare` wrote" in str(caught.value)


def test_what_is_wrong_at_an_address_is_said_with_the_address(
    site: tuple[str, type[Site]], folder: Path, cache: Path
):
    address, _ = site
    corpus = ShardedPairs(address, cache)
    flip(folder / shard_name(0))
    (folder / shard_name(1)).unlink()
    cut = folder / shard_name(2)
    cut.write_bytes(cut.read_bytes()[:-4])
    for row, text in (
        (0, "has changed since it was written"),
        (7, "is missing"),
        (14, "has another size than when it was written"),
    ):
        with pytest.raises(DataError) as caught:
            corpus.read(row, row + 1)
        place = f"{address}/{shard_name(row // 7)}"
        assert str(caught.value).startswith(f"{place}: a file of the prepared corpus {text}.")
    (folder / shard_name(0)).unlink()
    with pytest.raises(DataError, match="is missing"):  # the failed copy is tried again
        corpus.read(0, 1)


def test_a_server_that_fails_is_asked_again(
    site: tuple[str, type[Site]], cache: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(remote, "PAUSE", 0.01)
    address, handler = site
    path = f"/{shard_name(0)}"
    handler.failures[path] = 2
    corpus = ShardedPairs(address, cache)
    corpus.read(0, 1)
    assert handler.asked.count(path) == 3
    handler.failures[f"/{shard_name(1)}"] = 99
    with pytest.raises(DataError) as caught:
        corpus.read(7, 8)
    assert f"{address}/{shard_name(1)}: a file of the prepared corpus cannot be read" in (
        str(caught.value)
    )
    assert "503" in str(caught.value)


def test_addresses_that_nothing_reads_are_said(cache: Path, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(DataError, match="the address cannot be read") as caught:
        ShardedPairs("zoo://corpora/rows", cache)
    assert "expected: a folder, or an address such as s3://, gs:// or https://" in str(caught.value)
    uninstall(monkeypatch, "gcsfs")
    with pytest.raises(DataError) as caught:
        ShardedPairs("gs://corpora/rows", cache)
    assert "reading gs:// needs a package that is not installed." in str(caught.value)
    assert "do:       pip install gcsfs" in str(caught.value)


def test_without_the_extra_an_address_says_what_to_install(
    cache: Path, monkeypatch: pytest.MonkeyPatch
):
    uninstall(monkeypatch, "fsspec")
    with pytest.raises(MissingExtraError) as caught:
        ShardedPairs("http://127.0.0.1:9/rows", cache)
    assert str(caught.value) == (
        "reading a corpus from an address needs the extra 'remote', which is not installed.\n"
        '  do:       pip install "jumok[remote]"'
    )
