"""Packed batches: one shape for a whole epoch, every pair once, and what fits where."""

from collections import Counter
from functools import partial
from itertools import pairwise

import numpy as np
import pytest

from jumok.data.pairs.batches import Batch
from jumok.data.pairs.blocks import BLOCK_PAIRS
from jumok.data.pairs.packing import PackedShape, PackedUpdates, packed_batch, plan_packed
from jumok.data.pairs.prepared import ShardedPairs
from jumok.data.pairs.sampler import PairSampler
from jumok.data.pairs.store import PairCorpus, prepare_pairs
from jumok.data.report import CorpusReport
from jumok.data.tokenizer import END, PAD, START
from jumok.errors import ConfigError
from jumok.shapes import Tensor
from tests.data.planning import assert_each_can_be_collated_alone
from tests.data.shards import ROWS, write
from tests.data.stores import stored_lengths
from tests.data.test_batches import make_store


def ids(*tokens: int) -> np.ndarray:
    return np.array(tokens, dtype=np.int64)


def test_a_packed_batch_by_hand():
    """Two pairs of 3 and 2, and of 2 and 4 tokens; what is left is cut into parts of 5."""
    shape = PackedShape(source=14, target=8, pairs=3, longest=5)
    batch = packed_batch([ids(11, 12), ids(13)], [ids(21), ids(22, 23, 24)], shape)
    assert batch.source.tolist() == [[11, 12, END, 13, END, *[PAD] * 9]]
    assert batch.source_documents.tolist() == [[0, 0, 0, 1, 1, *[3] * 5, *[4] * 4]]
    assert batch.source_offsets.tolist() == [0, 3, 5, 5, 10, 14, 14]
    assert batch.target_input.tolist() == [[START, 21, START, 22, 23, 24, PAD, PAD]]
    assert batch.target_output.tolist() == [[21, END, 22, 23, 24, END, PAD, PAD]]
    assert batch.target_documents.tolist() == [[0, 0, 1, 1, 1, 1, 3, 3]]
    assert batch.target_offsets.tolist() == [0, 2, 6, 6, 8, 8, 8]
    assert (batch.sources, batch.targets, batch.longest) == (5, 6, 5)


def shapes(batch: Batch) -> dict[str, tuple[object, ...]]:
    tensors = {name: each for name, each in vars(batch).items() if isinstance(each, Tensor)}
    return {name: (tuple(each.shape), each.dtype) for name, each in tensors.items()}


@pytest.fixture
def updates(tokenizer, tmp_path) -> PackedUpdates:
    store = make_store(tokenizer, tmp_path)
    return updates_of(store)


def updates_of(corpus: PairCorpus, block_pairs: int = BLOCK_PAIRS) -> PackedUpdates:
    shape = PackedShape.of([corpus.lengths], 300)
    planner = partial(plan_packed, shape)
    sampler = PairSampler(
        [corpus.lengths], None, 900, 300, 1, block_pairs=block_pairs, planner=planner
    )
    return PackedUpdates([corpus], sampler, shape)


def test_all_batches_of_an_epoch_have_one_shape_and_every_pair_comes_once(updates):
    (store,) = updates._stores
    found, batches = Counter(), []
    while updates.epochs[0] < 1:
        batches += next(updates)
    for batch in batches:
        sides = (batch.source, "source"), (batch.target_output, "target")
        found.update(zip(*(parts(row, batch, side) for row, side in sides), strict=True))
    expected = Counter(
        ((*store.source[row], END), (*store.target[row], END)) for row in range(len(store))
    )
    assert (found - expected).total() < len(batches[0].source_offsets)  # of the next epoch
    assert not expected - found
    assert all(shapes(batch) == shapes(batches[0]) for batch in batches)
    assert sum(batch.targets for batch in batches) > 0.85 * 300 * len(batches)


def parts(row: Tensor, batch: Batch, side: str) -> list[tuple[int, ...]]:
    """The sentences of one side, by their offsets."""
    bounds = getattr(batch, f"{side}_offsets").tolist()
    found = [tuple(row[0, a:b].tolist()) for a, b in pairwise(bounds)]
    return [each for each in found if each and each[-1] != PAD]


def test_a_stream_continues_where_its_cursor_was(updates):
    next(updates)
    cursor, expected = updates.cursor, next(updates)
    updates.restore(cursor)
    for ours, theirs in zip(next(updates), expected, strict=True):
        assert ours.source.tolist() == theirs.source.tolist()


def test_shards_are_packed_as_one_store_and_in_blocks_and_each_batch_alone(tokenizer, tmp_path):
    write(tmp_path / "shards", tokenizer)
    shards = ShardedPairs(str(tmp_path / "shards"), tmp_path / "cache")
    report = CorpusReport("x")
    one = prepare_pairs(ROWS, "rows", tokenizer, tokenizer, tmp_path / "one", report=report)
    for block in (BLOCK_PAIRS, 7):
        assert_each_can_be_collated_alone(updates_of(shards, block), updates_of(shards, block), 9)
    assert_each_can_be_collated_alone(updates_of(shards), updates_of(one), 9)
    planned = updates_of(one).planned()
    assert [each.work for each in planned] == [each.collate().work for each in planned]


def test_a_sentence_longer_than_a_batch_is_refused():
    lengths = [stored_lengths(np.array([3, 99]), np.array([4, 7]))]
    with pytest.raises(ConfigError) as caught:
        PackedShape.of(lengths, 64)
    assert str(caught.value) == (
        "a sentence is longer than a packed batch.\n"
        "  expected: training.tokens_per_micro_batch of 100 or more\n"
        "  got:      64\n"
        "  do:       --set training.tokens_per_micro_batch=100, or a lower data.max_tokens"
    )
    assert PackedShape.of(lengths, 128) == PackedShape(1024, 128, 37, 100)
