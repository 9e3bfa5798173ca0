"""Corpora larger than a block: every pair once an epoch, and the same order from any cursor."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.data.pairs.blocks import Lengths, PairBlock, blocks_of_epoch
from jumok.data.pairs.sampler import CorpusOrder, Cursor, PairSampler, by_length, plan_epoch

SHARDS = st.lists(st.integers(1, 60), min_size=1, max_size=9)


class Shards:
    """Lengths of pairs in several shards, as a prepared corpus gives them."""

    def __init__(self, sizes: list[int], seed: int = 1) -> None:
        random = np.random.default_rng(seed)
        self.shards = sizes
        self.source = random.integers(1, 30, sum(sizes)).astype(np.int32)
        self.target = random.integers(1, 30, sum(sizes)).astype(np.int32)
        self.source_tokens, self.target_tokens = int(self.source.sum()), int(self.target.sum())
        self.longest = max(int(self.source.max()), int(self.target.max()))
        self.expected: list[list[tuple[int, int]]] = []

    def expect(self, stretches: list[tuple[int, int]]) -> None:
        self.expected.append(stretches)

    def read(self, first: int, end: int) -> tuple[Lengths, Lengths]:
        return self.source[first:end], self.target[first:end]


def sampler(corpora: list[Shards], block: int, weights: list[float] | None = None) -> PairSampler:
    return PairSampler(corpora, weights, 300, 100, 3, block_pairs=block)


def drawn(update: list[tuple[int, np.ndarray]]) -> list[tuple[int, list[int]]]:
    return [(corpus, rows.tolist()) for corpus, rows in update]


@given(SHARDS, st.integers(1, 200), st.integers(0, 9))
def test_every_pair_is_in_one_block_of_about_the_size_asked_for(
    shards: list[int], size: int, seed: int
) -> None:
    blocks = blocks_of_epoch(shards, size, (seed,))
    rows = [block.rows(np.arange(len(block))) for block in blocks]
    total = sum(shards)
    assert sorted(np.concatenate(rows).tolist()) == list(range(total))
    assert len(blocks) == -(-total // size)
    stretch = max(size // 16, 1)
    assert all(abs(len(block) - total / len(blocks)) <= stretch for block in blocks)
    bounds = np.cumsum([0, *shards])
    for block in blocks if len(blocks) > 1 else ():
        for first, end in block.stretches:
            assert end - first <= stretch
            assert np.searchsorted(bounds, first, "right") == np.searchsorted(bounds, end, "left")


def test_the_lengths_of_a_block_are_those_of_its_rows() -> None:
    corpus = Shards([50, 70, 13])
    for block in blocks_of_epoch(corpus.shards, 40, (1,)):
        source, target = block.lengths(corpus)
        rows = block.rows(np.arange(len(block)))
        assert source.tolist() == corpus.source[rows].tolist()
        assert target.tolist() == corpus.target[rows].tolist()


def test_a_corpus_of_one_block_has_the_order_of_a_plan_of_all_pairs() -> None:
    """Also in shards: neither they nor a larger block changes a run."""
    corpus = Shards([50, 70, 13])
    one = PairSampler([corpus], None, 300, 100, seed=3, block_pairs=133)
    for epoch in range(3):
        random = np.random.default_rng((3, 0, epoch))
        plan = plan_epoch(corpus.source, corpus.target, 100, random)
        expected = [plan.rows(index).tolist() for index in range(len(plan))]
        found: list[list[int]] = []
        while len(found) < len(expected):
            found += [rows for _, rows in drawn([(0, one._corpora[0].draw())])]
        assert found == expected


@settings(max_examples=15)
@given(
    st.lists(SHARDS, min_size=1, max_size=3),
    st.integers(1, 40),
    st.integers(0, 20),
    st.booleans(),
)
def test_a_cursor_in_the_middle_of_any_block_goes_on_with_the_same_updates(
    sizes: list[list[int]], block: int, stop: int, weighted: bool
) -> None:
    corpora = [Shards(shards, seed) for seed, shards in enumerate(sizes)]
    weights = [1.0 + 2 * number for number in range(len(corpora))] if weighted else None
    straight = sampler(corpora, block, weights)
    for _ in range(stop):
        straight.next_update()
    cursor: Cursor = json.loads(json.dumps(straight.cursor))
    resumed = sampler(corpora, block, weights)
    resumed.next_update()
    resumed.restore(cursor)
    for _ in range(6):
        assert drawn(resumed.next_update()) == drawn(straight.next_update())
    assert resumed.cursor == straight.cursor
    assert resumed.epochs == straight.epochs


@settings(max_examples=8)
@given(SHARDS, st.integers(1, 60))
def test_epochs_of_blocks_give_every_pair_once_in_other_orders(
    shards: list[int], block: int
) -> None:
    one, total = sampler([Shards(shards)], block), sum(shards)
    seen: list[int] = []
    while len(seen) < 3 * total:
        seen += [row for _, rows in one.next_update() for row in rows.tolist()]
    epochs = [seen[total * epoch : total * (epoch + 1)] for epoch in range(3)]
    assert [sorted(rows) for rows in epochs] == [list(range(total))] * 3
    if total > 20:
        assert epochs[0] != epochs[1]


def test_the_cursor_names_the_block_and_epochs_grow_over_blocks() -> None:
    one = sampler([Shards([400, 300, 300])], 100)
    blocks, epochs = [], []
    while one.cursor["corpora"][0]["epoch"] == 0:
        blocks.append(one.cursor["corpora"][0]["block"])
        epochs.append(one.epochs[0])
        one.next_update()
    assert sorted(set(blocks)) == list(range(10))
    assert blocks == sorted(blocks)
    assert epochs == sorted(epochs)
    assert epochs[-1] == pytest.approx(1, abs=0.03)


def test_a_block_mixes_pairs_from_all_over_the_corpus() -> None:
    """A corpus sorted by kind is not trained on kind by kind."""
    for block in blocks_of_epoch([10_000], 1_000, (5,)):
        tenths = np.bincount(block.rows(np.arange(len(block))) // 1_000, minlength=10)
        assert (tenths > 0).sum() >= 6


def test_rows_beyond_32_bits_are_counted() -> None:
    block = PairBlock(np.array([7_000_000_000, 13]), np.array([5, 8]))
    assert block.rows(np.array([0, 4, 5, 7], np.uint8)).tolist() == [
        *(7_000_000_000, 7_000_000_004, 13, 15)
    ]
    blocks = blocks_of_epoch([3_000_000_000, 4_000_000_000], 10_000_000, (1,))
    assert len(blocks) == 700
    assert max(end for block in blocks for _, end in block.stretches) == 7_000_000_000
    assert sum(map(len, blocks)) == 7_000_000_000


def test_a_block_and_the_next_are_announced_before_they_are_read() -> None:
    corpus = Shards([30, 30])
    order = CorpusOrder(corpus, by_length(100), 3, 0, block_pairs=20)
    blocks = [block.stretches for block in order.blocks]
    assert len(blocks) == 3
    while order.place["epoch"] == 0:
        order.draw()
    assert corpus.expected == [blocks[0], blocks[1], blocks[1], blocks[2], blocks[2]]
