import json
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.data.pairs.blocks import StoredLengths
from jumok.data.pairs.sampler import SPAN, Cursor, PairSampler, plan_epoch
from jumok.errors import DataError
from tests.data.stores import stored_lengths

Lengths = npt.NDArray[np.int32]


def lengths(count: int, seed: int = 1) -> tuple[Lengths, Lengths]:
    random = np.random.default_rng(seed)
    source = (1 + random.poisson(11, count)).astype(np.int32)
    return source, np.maximum(1, source + random.integers(-3, 4, count)).astype(np.int32)


def stored(count: int, seed: int = 1) -> StoredLengths:
    return stored_lengths(*lengths(count, seed))


def sampler(seed: int = 1, **changes: object) -> PairSampler:
    given_ = {"weights": None, "update_tokens": 400, "micro_tokens": 100, "seed": seed} | changes
    return PairSampler([stored(997), stored(499, seed=2)], **given_)  # type: ignore[arg-type]


LENGTHS = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), min_size=1, max_size=150)


@settings(max_examples=200)
@given(LENGTHS, st.integers(1, 300), st.integers(0, 5))
def test_every_pair_is_in_exactly_one_micro_batch(
    pairs: list[tuple[int, int]], micro_tokens: int, seed: int
) -> None:
    source, target = np.array(pairs, dtype=np.int32).T
    plan = plan_epoch(source, target, micro_tokens, np.random.default_rng(seed))
    micros = [plan.rows(index) for index in range(len(plan))]
    assert sorted(np.concatenate(micros).tolist()) == list(range(len(pairs)))
    for rows in micros:
        assert len(rows) > 0
        assert source[rows].max() + 1 <= SPAN * (source[rows].min() + 1)
        assert (np.diff(target[rows]) >= 0).all()


def test_micro_batches_of_a_large_corpus_have_one_source_length_and_the_size_asked_for() -> None:
    source, target = lengths(60_000)
    plan = plan_epoch(source, target, 1000, np.random.default_rng(1))
    micros = [plan.rows(index) for index in range(len(plan))]
    even = [len(np.unique(source[rows])) == 1 for rows in micros]
    assert np.mean(even) > 0.98
    tokens = np.array([(np.maximum(source, target)[rows] + 1).sum() for rows in micros])
    assert 950 < np.median(tokens) < 1050
    assert tokens.max() < 1250


def test_epochs_have_other_orders_and_the_same_seed_the_same() -> None:
    source, target = lengths(997)
    orders = [
        plan_epoch(source, target, 100, np.random.default_rng((seed, epoch))).order.tolist()
        for seed, epoch in [(1, 0), (1, 0), (1, 1), (2, 0)]
    ]
    assert orders[0] == orders[1]
    assert orders[0] != orders[2]
    assert orders[0] != orders[3]


def flatten(update: list[tuple[int, npt.NDArray[np.int64]]]) -> list[tuple[int, list[int]]]:
    return [(corpus, rows.tolist()) for corpus, rows in update]


@pytest.mark.parametrize("stop", [0, 1, 2, 43, 101])
def test_a_restored_cursor_goes_on_with_the_same_updates(stop: int) -> None:
    straight = sampler()
    for _ in range(stop):
        straight.next_update()
    cursor: Cursor = json.loads(json.dumps(straight.cursor))
    resumed = sampler()
    resumed.next_update()
    resumed.restore(cursor)
    assert resumed.update == stop
    for _ in range(61):
        assert flatten(resumed.next_update()) == flatten(straight.next_update())
    assert resumed.cursor == straight.cursor


def test_a_cursor_does_not_change_when_its_sampler_goes_on() -> None:
    running = sampler()
    cursor = running.cursor
    before = json.dumps(cursor)
    running.next_update()
    assert json.dumps(cursor) == before


@pytest.mark.parametrize(
    "changes",
    [
        {"seed": 2},
        {"update_tokens": 401},
        {"micro_tokens": 101},
        {"weights": [1.0, 2.0]},
        {"identity": "other"},
        {"shares": 4},
    ],
)
def test_a_cursor_of_other_data_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(DataError) as caught:
        sampler(**changes).restore(sampler().cursor)
    assert "the data has changed since training stopped." in str(caught.value)
    assert "update 400 in 1, micro-batch 100, seed 1" in str(caught.value)


def test_an_epoch_of_the_stream_gives_every_pair_once() -> None:
    one = PairSampler([stored(997)], None, update_tokens=400, micro_tokens=100, seed=3)
    seen: list[int] = []
    while one.cursor["corpora"][0]["epoch"] < 3:
        seen += [row for _, rows in one.next_update() for row in rows.tolist()]
    for epoch in range(3):
        assert sorted(seen[997 * epoch : 997 * (epoch + 1)]) == list(range(997))


def test_updates_hold_about_the_tokens_asked_for() -> None:
    one = PairSampler([stored(9973)], None, update_tokens=4000, micro_tokens=1000, seed=3)
    target = lengths(9973)[1] + 1
    tokens = [sum(int(target[rows].sum()) for _, rows in one.next_update()) for _ in range(300)]
    # Both ends of an update are off by half a micro-batch of at most 1,100 tokens at most.
    assert abs(sum(tokens) - 300 * 4000) <= 550
    assert max(abs(count - 4000) for count in tokens) <= 1100


@pytest.mark.parametrize("micro_tokens", [1000, 500])
def test_most_updates_have_the_same_number_of_micro_batches_for_each_share(
    micro_tokens: int,
) -> None:
    def counts(shares: int) -> list[int]:
        one = PairSampler([stored(9973)], None, 4000, micro_tokens, seed=3, shares=shares)
        updates = [one.next_update() for _ in range(200)]
        target = lengths(9973)[1] + 1
        tokens = [sum(int(target[rows].sum()) for _, rows in update) for update in updates]
        assert sum(tokens) == pytest.approx(200 * 4000, abs=1250)
        assert max(abs(count - 4000) for count in tokens) <= 1.5 * 1250
        return [len(update) for update in updates]

    uneven, even = (np.mean([count % 4 > 0 for count in counts(shares)]) for shares in (1, 4))
    assert even < 0.2 < 0.5 < uneven


def test_shares_that_stay_empty_anyway_do_not_divide_micro_batches() -> None:
    given_ = {"weights": None, "update_tokens": 400, "micro_tokens": 100, "seed": 3}
    apart = [PairSampler([stored(997)], **given_, shares=shares) for shares in (1, 16)]  # type: ignore[arg-type]
    sizes = [[len(rows) for _, rows in one.next_update()] for one in apart]
    assert sizes[0] == sizes[1][: len(sizes[0])]


def test_an_update_smaller_than_a_micro_batch_still_has_one() -> None:
    one = PairSampler([stored(97)], None, update_tokens=1, micro_tokens=100, seed=3)
    assert len(one.next_update()) == 1


def test_corpora_are_mixed_by_weight() -> None:
    mixed = sampler(weights=[1.0, 3.0])
    for _ in range(300):
        mixed.next_update()
    first, second = (place["tokens"] for place in mixed.cursor["corpora"])
    assert second / first == pytest.approx(3, abs=0.01)


def test_corpora_without_weights_end_their_epochs_together() -> None:
    mixed = sampler()
    while mixed.epochs[0] < 5:
        mixed.next_update()
    assert mixed.epochs == pytest.approx([5, 5], abs=0.1)


def test_epochs_count_what_was_drawn() -> None:
    one = PairSampler([stored(997)], None, update_tokens=400, micro_tokens=100, seed=3)
    counts = []
    for _ in range(80):
        counts.append(one.epochs[0])
        one.next_update()
    assert counts[0] == 0
    assert all(later > earlier for earlier, later in pairwise(counts))
    assert counts[-1] == pytest.approx(79 * 400 / one.epoch_tokens, rel=0.05)
