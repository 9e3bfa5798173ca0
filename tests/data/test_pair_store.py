import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.data.pairs import store as store_module
from jumok.data.pairs.corpus import Corpus
from jumok.data.pairs.pair import Pair
from jumok.data.pairs.store import Filters, prepare, prepare_pairs
from jumok.data.report import CorpusReport
from jumok.data.tokenizer import Tokenizer
from jumok.errors import DataError
from tests.data.sentences import ENGLISH
from tests.data.stores import rewrite

EVERYTHING = Filters(max_tokens=None)


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    (tmp_path / "a.en").write_text("\n".join(ENGLISH))
    (tmp_path / "a.ko").write_text("\n".join(reversed(ENGLISH)))
    return Corpus(tmp_path / "a.en", tmp_path / "a.ko")


def test_prepare_stores_every_sentence_in_order(
    corpus: Corpus, tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "CHUNK", 7)
    store = prepare(corpus, tokenizer, tokenizer, tmp_path / "cache")
    assert len(store) == 20
    for index, (source, target) in enumerate(zip(ENGLISH, reversed(ENGLISH), strict=True)):
        assert store.source[index].tolist() == tokenizer.encode(source)
        assert store.target[index].tolist() == tokenizer.encode(target)
    assert not store.source.values.flags.owndata
    assert store.source.values.dtype == np.uint16
    assert (store.report.read, store.report.kept, store.report.dropped) == (20, 20, {})


@settings(max_examples=20)
@given(st.lists(st.tuples(st.text(max_size=9), st.text(max_size=9)), min_size=1, max_size=29))
def test_any_pairs_come_back_except_those_with_an_empty_side(
    tokenizer: Tokenizer,
    tmp_path_factory: pytest.TempPathFactory,
    pairs: list[tuple[str, str]],
) -> None:
    clean = [[text.encode(errors="ignore").decode() for text in pair] for pair in pairs]
    given_pairs = [Pair(*pair, line) for line, pair in enumerate(clean, start=1)]
    ids = [(tokenizer.encode(pair.source), tokenizer.encode(pair.target)) for pair in given_pairs]
    whole = [pair for pair in ids if all(pair)]
    if whole:
        store = prepare_pairs(
            given_pairs, "x", tokenizer, tokenizer, tmp_path_factory.mktemp("cache"), EVERYTHING,
            report=CorpusReport("x"), keep_texts=True,
        )  # fmt: skip
        found = zip(*([*map(list, map(side.__getitem__, range(len(store))))]
                      for side in (store.source, store.target)), strict=True)  # fmt: skip
        assert list(found) == whole
        kept = [pair for pair, sides in zip(clean, ids, strict=True) if all(sides)]
        assert store.texts(range(len(kept))) == tuple(map(list, zip(*kept, strict=True)))


def test_filters_say_what_they_dropped(tokenizer: Tokenizer, tmp_path: Path) -> None:
    long = "a man " * 10
    pairs = [("a man", "a man"), ("", "a man"), (long, long), (long, "a"), ("a", "man in a blue")]
    stream = [Pair(*pair, line) for line, pair in enumerate([*pairs, pairs[1]], start=11)]
    report = CorpusReport("talks")
    tokens = len(tokenizer.encode(long))
    store = prepare_pairs(
        stream, "x", tokenizer, tokenizer, tmp_path, Filters(tokens - 1, 4.0), report=report
    )
    ratio = len(tokenizer.encode("man in a blue"))
    assert ratio > 4
    assert str(store.report) == (
        "talks: 6 pairs read, 1 kept\n"
        "  dropped, one side empty: 2 (lines 12, 16)\n"
        f"  dropped, longer than {tokens - 1} tokens: 2 (lines 13, 14)\n"
        "  dropped, one side more than 4 times the other: 1 (line 15)"
    )


def test_prepare_finds_the_same_content_again(
    corpus: Corpus, tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    first = prepare(corpus, tokenizer, tokenizer, cache, Filters(99))
    monkeypatch.setattr(store_module, "read_pairs", lambda *_: iter(()))
    second = prepare(corpus, tokenizer, tokenizer, cache, Filters(99))
    assert second.key == first.key
    assert second.report == first.report
    assert second.source.values.tolist() == first.source.values.tolist()


def test_prepare_makes_another_store_for_other_content(
    corpus: Corpus, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    other = Tokenizer.train(ENGLISH, "bpe", 311)
    keys = {
        prepare(corpus, tokenizer, tokenizer, cache).key,
        prepare(corpus, tokenizer, tokenizer, cache, Filters(249)).key,
        prepare(corpus, tokenizer, tokenizer, cache, Filters(max_ratio=9.0)).key,
        prepare(corpus, tokenizer, tokenizer, cache, keep_texts=True).key,
        prepare(corpus, other, tokenizer, cache).key,
        prepare(corpus, tokenizer, other, cache).key,
    }
    assert corpus.source is not None
    corpus.source.write_text("\n".join(ENGLISH).replace("blue", "grey"))
    keys.add(prepare(corpus, tokenizer, tokenizer, cache).key)
    assert len(keys) == 7


def test_prepare_leaves_nothing_behind_when_it_fails(
    corpus: Corpus, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    assert corpus.target is not None
    corpus.target.write_bytes(b"\n".join([b"a man"] * 19) + b"\n\xff\n")
    with pytest.raises(DataError, match="line 20"):
        prepare(corpus, tokenizer, tokenizer, tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_prepare_says_when_no_pair_is_left(
    corpus: Corpus, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    with pytest.raises(DataError) as caught:
        prepare(corpus, tokenizer, tokenizer, tmp_path / "cache", Filters(2))
    assert "no pair is left after the filters." in str(caught.value)
    assert "longer than 2 tokens: 20 (lines 1, 2, 3, 4, 5, ...)" in str(caught.value)
    assert list((tmp_path / "cache").iterdir()) == []


def test_prepare_says_when_the_disk_is_full(
    corpus: Corpus, tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataError) as caught:
        prepare(corpus, tokenizer, tokenizer, tmp_path / "cache")
    assert str(caught.value) == (
        f"{tmp_path / 'cache'}: the prepared data cannot be written.\n"
        "  got:      No space left on device\n"
        "  do:       free some space, or name another cache folder"
    )
    assert list((tmp_path / "cache").iterdir()) == []


def test_sides_of_different_numbers_are_refused(
    corpus: Corpus, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    store = prepare(corpus, tokenizer, tokenizer, tmp_path / "cache")

    def without_the_last(tensors: dict[str, np.ndarray]) -> None:
        offsets = tensors["target.offsets"][:-1]
        tensors |= {"target": tensors["target"][: offsets[-1]], "target.offsets": offsets}

    rewrite(store.file, without_the_last)
    with pytest.raises(DataError, match="the sides have different numbers of sentences"):
        prepare(corpus, tokenizer, tokenizer, tmp_path / "cache")


def test_store_without_texts_says_so(corpus: Corpus, tokenizer: Tokenizer, tmp_path: Path) -> None:
    store = prepare(corpus, tokenizer, tokenizer, tmp_path / "cache")
    with pytest.raises(DataError, match="this prepared corpus contains no texts"):
        store.texts([0])


def test_report_survives_json() -> None:
    report = CorpusReport("x", read=13, kept=11)
    report.mend("spaces", 7)
    report.drop("too long", [3, 5])
    assert CorpusReport.from_json(json.loads(json.dumps(report.to_json()))) == report
