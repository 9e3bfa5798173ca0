"""Slices of weights and moments: whoever owns them, the bits are those of one process."""

from functools import partial

import pytest
import torch

from jumok.data.pairs.batches import Batch
from jumok.data.planned import Planned
from jumok.training.learner import Learner, Update
from jumok.training.objectives import translation
from jumok.training.optimization import optimizer, parameters, slices
from jumok.training.optimization.sliced import Exchange
from jumok.training.optimization.slices import (
    RowSegment,
    Slices,
    exchange_steps,
    in_blocks,
    slice_number,
)
from jumok.training.ranks import tree_sum
from tests.training.crew import Crew, Member
from tests.training.tiny import assert_same_bits, batches, config, model

RATE, STEPS = 3e-3, 4
DROPPED = dict.fromkeys(("dropout", "attention_dropout", "word_dropout"), 0.2)
FROZEN = torch.tensor([5, 7, 30])


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """A tiny model that is cut as finely as a large one."""
    monkeypatch.setattr(parameters, "UNIT_ELEMENTS", 5_000)  # two matrices of 48 by 48
    for module in (slices, optimizer):
        monkeypatch.setattr(module, "WINDOW", 640)


def trained(count: int, precision: torch.dtype, frozen: bool = False, **options: object):
    """By so many ranks: the whole state, the averaged weights, and what each of them was told."""
    models = [model(**DROPPED) for _ in range(count)]
    if frozen:
        for each in models:
            each.encoder.embedding.frozen = FROZEN

    def train(ranks: Member) -> tuple[Learner, list[Update], list[torch.Tensor]]:
        learning = Learner(
            models[ranks.index], translation, config(**options), 5, precision, 4, ranks=ranks
        )
        updates = []
        for step in range(1, STEPS + 1):
            # Three micro-batches of four shares: one has none.
            updates.append(learning.update(batches(step), step, RATE))
            if step % 2 == 0:
                learning.snapshot()
        return learning, updates, list(models[ranks.index].parameters())

    results = Crew(count).work(train)
    learners = [learning for learning, _, _ in results]
    return (
        whole(learners),
        learners[0].weights(),
        [updates for _, updates, _ in results],
        [weights for _, _, weights in results],
    )


def whole(learners: list[Learner]) -> dict[str, torch.Tensor]:
    """The state of all ranks put together; NaN where nobody has anything."""
    size = max(end for each in learners for _, end in each.ranges("master"))
    rows: dict[str, torch.Tensor] = {}
    for learning in learners:
        for name, tensor in learning.state().items():
            ranges = learning.ranges(name)
            if ranges is None:
                assert torch.equal(rows.setdefault(name, tensor), tensor)
                continue
            row = rows.setdefault(name, torch.full((size,), torch.nan))
            at = 0
            for start, end in ranges:
                assert row[start:end].isnan().all(), f"two own {name} from {start} to {end}"
                row[start:end] = tensor[at : at + end - start]
                at += end - start
            assert at == len(tensor)
    return rows


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    "options",
    [
        {"average": "ema", "optimizer": "adamw"},
        {"average": "ema", "optimizer": "muon", "clip": 0.1},
        {"average": "last", "optimizer": "muon", "frozen": True},
    ],
    ids=["adamw", "muon", "frozen rows"],
)
def test_slices_have_the_bits_of_one_process(precision, options):
    state, averaged, [told], [weights] = trained(1, precision, **options)
    assert not state["master"].isnan().any()
    for count in (2, 4):
        its_state, its_averaged, everyone, everywhere = trained(count, precision, **options)
        assert_same_bits(state, its_state)
        assert_same_bits(averaged, its_averaged)
        assert all(updates == told for updates in everyone)
        for theirs in everywhere:
            assert all(map(torch.equal, weights, theirs))


def test_each_rank_collates_the_micro_batches_of_its_own_shares():
    """Of the same update as one process, whose tokens it counts."""
    micro = batches(1, micro=8)
    models = [model() for _ in range(4)]

    def train(ranks: Member) -> tuple[Update, list[int]]:
        seen: list[int] = []

        def collate(number: int) -> Batch:
            seen.append(number)
            return micro[number]

        planned = [Planned(each.work, partial(collate, n)) for n, each in enumerate(micro)]
        learning = Learner(
            models[ranks.index], translation, config(), 5, torch.float32, 4, ranks=ranks
        )
        return learning.update(planned, 1, RATE), seen

    results = Crew(4).work(train)
    assert sorted(number for _, seen in results for number in seen) == list(range(8))
    assert all(len(seen) == 2 for _, seen in results)
    alone = Learner(model(), translation, config(), 5, torch.float32, 4).update(micro, 1, RATE)
    assert alone.source_tokens == sum(batch.sources for batch in micro)
    assert {update for update, _ in results} == {alone}


def test_each_rank_keeps_its_share_of_the_state():
    def elements(count: int, **options: object) -> list[int]:
        def build(ranks: Member) -> int:
            learning = Learner(
                model(), translation, config(**options), 5, torch.float32, 4, ranks=ranks
            )
            return sum(each.numel() for each in learning.state().values()) - 1  # but its steps

        return Crew(count).work(build)

    for options in ({"average": "ema"}, {"average": "ema", "optimizer": "muon"}):
        [alone] = elements(1, **options)
        for count in (2, 4):
            each = elements(count, **options)
            assert sum(each) == alone
            assert max(each) < 1.2 * alone / count


@pytest.mark.parametrize("kept", [torch.float32, torch.bfloat16])
def test_the_sum_of_slices_is_the_tree_over_all_shares(kept):
    """Eight shares of four ranks, of a row whose segments are cut unevenly."""
    shares = torch.randn(8, 3000, generator=torch.Generator().manual_seed(3)).to(kept)
    expected = tree_sum(list(shares)).float()
    segments = [RowSegment([0, 320, 1600, 1632]), in_blocks(1632, 3000)]

    def add(ranks: Member) -> list[tuple[int, torch.Tensor]]:
        exchange = Exchange(Slices(segments, ranks.count), ranks)
        total = torch.empty(exchange.size)
        exchange.reduce_scatter([shares[number] for number in range(exchange.number, 8, 4)], total)
        parts = total.split([end - start for start, end in exchange.ranges])
        row = exchange.gather(total)
        assert torch.equal(row, expected if ranks.index == 0 else row[:0])
        return [(start, part) for (start, _), part in zip(exchange.ranges, parts, strict=True)]

    for parts in Crew(4).work(add):
        for start, part in parts:
            assert torch.equal(part, expected[start : start + len(part)])


def test_a_stretch_is_cut_where_it_may_be():
    segment = RowSegment([0, 320, 1600, 1632])
    assert [segment.cut(number, 4) for number in range(5)] == [0, 320, 320, 1600, 1632]
    assert segment.blocks((320, 1632)) == [1280, 32]
    assert [in_blocks(64, 256).cut(number, 4) for number in range(5)] == [64, 96, 160, 192, 256]
    assert in_blocks(64, 64).boundaries == [64]
    assert in_blocks(0, 1 << 30).boundaries[1] == 1 << 17


def test_neighbours_meet_first_and_each_ends_with_its_own_slice():
    assert [slice_number(index, 8) for index in range(8)] == [0, 4, 2, 6, 1, 5, 3, 7]
    assert [meeting.other for meeting in exchange_steps(5, 8)] == [4, 7, 1]
    for count in (1, 2, 16):
        for index in range(count):
            for meeting in exchange_steps(index, count):
                theirs = {each.other: each for each in exchange_steps(meeting.other, count)}[index]
                assert (meeting.kept, meeting.given) == (theirs.given, theirs.kept)
