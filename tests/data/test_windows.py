"""Windows drawn and packed: every prediction is of the token that follows, and nothing is lost."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from jumok.data.texts.store import cut, prepare_texts
from jumok.data.texts.tokenizer import ByteTokenizer
from jumok.data.texts.windows import (
    DocumentChunks,
    DrawnWindows,
    PackedWindows,
    pack,
    reading_batches,
    windows_of_rows,
)
from jumok.data.tokenizer import END, PAD, START
from jumok.errors import DataError
from tests.data.planning import assert_each_can_be_collated_alone

LINES = ["abcdefghijklm", "no", "pqrst", "u", "vwxyzABCDEFGHIJKLMNOP", "QR"]


@pytest.fixture
def store(tmp_path):
    return prepare_texts(LINES, "lines", ByteTokenizer(), tmp_path)


def pairs(batches) -> Counter:
    """How often each token was to be predicted after each."""
    found = Counter()
    for batch in batches:
        real = batch.following != PAD
        found.update(zip(batch.tokens[real].tolist(), batch.following[real].tolist(), strict=True))
        assert batch.targets == int(real.sum())
    return found


def all_pairs() -> Counter:
    documents = [[START, *ByteTokenizer().encode(line), END] for line in LINES]
    return Counter(pair for ids in documents for pair in pairwise(ids))


def test_the_store_holds_documents_one_after_another(store, tmp_path):
    a = ByteTokenizer().encode("no")
    assert store.tokens[1].tolist() == [START, *a, END]
    assert store.bytes == sum(map(len, LINES))
    assert store.predictions == store.bytes + len(LINES)
    again = prepare_texts(iter([]), "lines", ByteTokenizer(), tmp_path)  # nothing is read anew
    assert again.key == store.key


@pytest.mark.parametrize(
    ("size", "blocks"),
    [
        (1, ["ab\n", "\ncdefg\n", "h"]),
        (3, ["ab\n\n", "cdefg\n", "h"]),
        (100, ["ab\n\ncdefg\nh"]),
    ],
)
def test_blocks_of_a_text_end_with_lines(size, blocks):
    assert list(cut("".join(blocks), size)) == blocks


def test_no_text_is_refused(tmp_path):
    with pytest.raises(DataError, match="no text to prepare"):
        prepare_texts([], "other", ByteTokenizer(), tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("context", [2, 7, 100])
def test_validation_predicts_every_token_once(store, context):
    assert pairs(reading_batches(store, context, 2)) == all_pairs()


def test_an_epoch_of_packed_windows_predicts_every_token_once(store):
    stream = PackedWindows(store, 9, (3, 2), seed=5)
    batches = []
    while stream.cursor["epoch"] == 0:
        batches += next(stream)
    assert pairs(batches) == all_pairs()
    assert max(batch.tokens.shape[0] for batch in batches) == 2


def test_packed_rows_say_which_tokens_belong_together(store):
    batch = windows_of_rows(store, DocumentChunks.of(store, 8), [[2, 3], [1]])
    # "abcdefghijklm" makes two parts: START and 7 letters, then 6; "no" is part 2
    letters = ByteTokenizer().encode
    assert batch.tokens[0].tolist() == [START, *letters("no"), START, *letters("pqrst")]
    assert batch.following[0].tolist() == [*letters("no"), END, *letters("pqrst"), END]
    assert batch.documents[0].tolist() == [0, 0, 0, 1, 1, 1, 1, 1, 1]
    assert batch.tokens[1].tolist() == [*letters("hijklm"), PAD, PAD, PAD]
    assert batch.following[1].tolist() == [*letters("ijklm"), END, PAD, PAD, PAD]


def test_rows_of_one_document_need_no_numbers(store):
    assert windows_of_rows(store, DocumentChunks.of(store, 8), [[0], [1]]).documents is None


def test_packing_fills_rows():
    """5 + 3, 4 + 4 and 6 + 2 fill three rows of 8; nothing is lost, nothing too long."""
    lengths = np.array([3, 4, 6, 5, 2, 4])
    rows = pack(lengths, np.arange(6), 8)
    assert sorted(part for row in rows for part in row) == list(range(6))
    assert [int(lengths[row].sum()) for row in rows] == [8, 8, 8]


def test_packing_many_leaves_little_room():
    lengths = np.random.default_rng(1).integers(1, 60, 3_000)
    rows = pack(lengths, np.arange(3_000), 64)
    assert max(int(lengths[row].sum()) for row in rows) <= 64
    assert lengths.sum() / (64 * len(rows)) > 0.97


def test_drawn_windows_predict_what_follows(store):
    stream = DrawnWindows(store, 6, (40, 16), seed=5)
    batches = next(stream)
    assert [batch.tokens.shape for batch in batches] == [(16, 6), (16, 6), (8, 6)]
    begun = {(START, following) for _, following in all_pairs()}
    assert set(pairs(batches)) <= set(all_pairs()) | begun
    beginnings = sum(int((batch.tokens[:, 0] == START).sum()) for batch in batches)
    assert 1 <= beginnings <= 20
    crossing = next(batch for batch in batches if batch.documents is not None)
    assert ((crossing.tokens == END) <= (crossing.following == PAD)).all()


def test_windows_of_a_short_text_are_as_long_as_it(tmp_path):
    store = prepare_texts(["abc"], "short", ByteTokenizer(), tmp_path)
    (batch,) = next(DrawnWindows(store, 100, (1, 1), seed=5))
    assert batch.tokens[0, 1:].tolist() == ByteTokenizer().encode("abc")
    assert batch.following[0].tolist() == [*ByteTokenizer().encode("abc"), END]


@pytest.mark.parametrize("kind", [DrawnWindows, PackedWindows])
def test_a_restored_stream_goes_on_as_one_that_never_stopped(store, kind):
    stream, other = (kind(store, 8, (2, 1), seed=5) for _ in range(2))
    for _ in range(7):
        next(stream)
    other.restore(stream.cursor)
    for _ in range(7):
        for left, right in zip(next(stream), next(other), strict=True):
            assert left.tokens.equal(right.tokens)
            assert left.following.equal(right.following)
    strange = kind(store, 8, (2, 1), seed=6)
    with pytest.raises(DataError, match="has changed since training stopped"):
        strange.restore(stream.cursor)


def test_each_batch_of_windows_is_collated_alone(store):
    assert_each_can_be_collated_alone(*(DrawnWindows(store, 6, (40, 16), 5) for _ in range(2)))
    assert_each_can_be_collated_alone(*(PackedWindows(store, 9, (3, 2), 5) for _ in range(2)))
    for kind in (DrawnWindows, PackedWindows):
        streams = [kind(store, 9, (5, 2), 5, alike=True) for _ in range(2)]
        assert_each_can_be_collated_alone(*streams)
        planned = streams[0].planned()
        assert [each.work for each in planned] == [each.collate().work for each in planned]
