import json
from dataclasses import fields
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from jumok.config.data import NoiseConfig
from jumok.data.captions.batches import CaptionBatch
from jumok.data.pairs.batches import (
    Batch,
    UpdateStream,
    Variation,
    collate,
    gather_batch,
    on_device,
    padding,
    source_batches,
    validation_batches,
)
from jumok.data.pairs.corpus import Corpus, read_pairs
from jumok.data.pairs.pair import Pair
from jumok.data.pairs.sampler import PairSampler
from jumok.data.pairs.store import Filters, PairStore, prepare, prepare_pairs
from jumok.data.pictures.batches import PictureBatch
from jumok.data.report import CorpusReport
from jumok.data.texts.batches import LabelledBatch, MaskedBatch
from jumok.data.texts.windows import TextBatch
from jumok.data.tokenizer import END, PAD, START, Tokenizer
from tests.data.planning import assert_each_can_be_collated_alone
from tests.data.sentences import ENGLISH


def make_store(tokenizer: Tokenizer, cache: Path) -> PairStore:
    texts = [" ".join(line.split()[:size]) for line in ENGLISH for size in range(1, 12)]
    pairs = [Pair(text, other, 1) for text, other in zip(texts, reversed(texts), strict=True)]
    return prepare_pairs(
        pairs, "x", tokenizer, tokenizer, cache, report=CorpusReport("x"), keep_texts=True
    )


@pytest.fixture
def store(tokenizer: Tokenizer, tmp_path: Path) -> PairStore:
    return make_store(tokenizer, tmp_path)


def make_stream(store: PairStore, variation: Variation | None = None) -> UpdateStream:
    lengths = [store.lengths]
    variations = None if variation is None else [variation]
    return UpdateStream([store], PairSampler(lengths, None, 300, 100, 1), variations)


def test_collate_frames_and_fills_the_pairs() -> None:
    batch = collate([[11, 13], [17]], [[19], [23, 29, 31]])
    assert batch.source.tolist() == [[11, 13, END], [17, END, PAD]]
    assert batch.source_allowed is not None
    assert batch.source_allowed.tolist() == [[True, True, True], [True, True, False]]
    assert batch.target_input.tolist() == [[START, 19, PAD, PAD], [START, 23, 29, 31]]
    assert batch.target_output.tolist() == [[19, END, PAD, PAD], [23, 29, 31, END]]
    assert (batch.sources, batch.targets) == (5, 6)
    assert padding([batch]) == pytest.approx(1 - 11 / 14)


def test_collate_needs_no_mask_when_sources_are_equally_long() -> None:
    batch = collate([[11, 13], [17, 19]], [[23], [29, 31]])
    assert batch.source_allowed is None
    assert batch.source.tolist() == [[11, 13, END], [17, 19, END]]


@given(st.lists(st.integers(0, 219), min_size=1, max_size=7))
def test_gather_batch_is_collate_of_the_stored_ids(
    tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory, rows: list[int]
) -> None:
    store = make_store(tokenizer, tmp_path_factory.getbasetemp() / "store")
    gathered = gather_batch(store, torch.tensor(rows).numpy())
    plain = collate(
        [store.source[row].tolist() for row in rows], [store.target[row].tolist() for row in rows]
    )
    assert torch.equal(gathered.source, plain.source)
    assert torch.equal(gathered.target_input, plain.target_input)
    assert torch.equal(gathered.target_output, plain.target_output)
    assert (gathered.source_allowed is None) == (plain.source_allowed is None)
    if gathered.source_allowed is not None and plain.source_allowed is not None:
        assert torch.equal(gathered.source_allowed, plain.source_allowed)


def test_a_stream_goes_on_from_its_cursor(store: PairStore) -> None:
    straight = make_stream(store)
    for _ in range(13):
        next(straight)
    resumed = make_stream(store)
    resumed.restore(json.loads(json.dumps(straight.cursor)))
    assert resumed.epochs == straight.epochs
    for _ in range(23):
        for batch, expected in zip(next(resumed), next(straight), strict=True):
            assert torch.equal(batch.source, expected.source)
            assert torch.equal(batch.target_output, expected.target_output)


def test_a_resampled_stream_goes_on_from_its_cursor_with_the_same_pieces(
    store: PairStore, tokenizer: Tokenizer
) -> None:
    resampling = Variation(tokenizer, alpha=0.3, noise=None, most=128, seed=5)
    straight = make_stream(store, resampling)
    plain = make_stream(store)
    longer = 0
    for _ in range(7):
        for batch, whole in zip(next(straight), next(plain), strict=True):
            for cut, uncut in zip(batch.target_output, whole.target_output, strict=True):
                assert tokenizer.decode(cut.tolist()) == tokenizer.decode(uncut.tolist())
            assert batch.targets >= whole.targets
            longer += batch.targets - whole.targets
    assert longer > 100
    resumed = make_stream(store, resampling)
    resumed.restore(straight.cursor)
    for batch, expected in zip(next(resumed), next(straight), strict=True):
        assert torch.equal(batch.source, expected.source)
        assert torch.equal(batch.target_input, expected.target_input)


def test_validation_batches_give_every_pair_once(store: PairStore) -> None:
    batches = list(validation_batches(store, 150))
    found = sorted(row.tolist() for batch in batches for row in batch.target_input)
    stripped = sorted([id for id in row if id not in (PAD, START)] for row in found)
    assert stripped == sorted(store.target[row].tolist() for row in range(len(store)))
    lengths = [batch.source.shape[1] for batch in batches]
    assert lengths == sorted(lengths)


@given(
    st.lists(st.lists(st.integers(4, 99), max_size=19), max_size=31),
    st.integers(1, 7),
    st.none() | st.integers(1, 60),
)
def test_source_batches_give_every_source_once_within_the_limits(
    sources: list[list[int]], sentences: int, tokens: int | None
) -> None:
    seen: dict[int, list[int]] = {}
    for batch in source_batches(sources, sentences=sentences, tokens=tokens):
        assert len(batch.rows) == len(batch.tokens) <= sentences
        if tokens is not None and len(batch.rows) > 1:
            assert batch.tokens.numel() <= tokens
        for place, row in enumerate(batch.rows):
            real = batch.tokens[place] if batch.allowed is None else batch.tokens[place][
                batch.allowed[place]
            ]  # fmt: skip
            seen[row] = real.tolist()
    assert seen == {row: [*source, END] for row, source in enumerate(sources)}


def test_source_batches_begin_with_the_longest() -> None:
    batches = list(source_batches([[4], [4, 5, 6], [], [7, 8]], sentences=3))
    assert [batch.rows for batch in batches] == [[1, 3, 0], [2]]
    assert batches[0].tokens.tolist() == [[4, 5, 6, 3], [7, 8, 3, 0], [4, 3, 0, 0]]
    assert batches[1].tokens.tolist() == [[3]]


def test_multi30k_is_gone_through_once_an_epoch_with_little_padding(
    multi30k: Path, tmp_path: Path
) -> None:
    corpus = Corpus(multi30k / "train.en.gz", multi30k / "train.de.gz")
    lines = [text for pair in read_pairs(corpus) for text in pair[:2]]
    tokenizer = Tokenizer.train(lines, "bpe", 8000)
    store = prepare(corpus, tokenizer, tokenizer, tmp_path, Filters(None))
    assert len(store) == 29_000
    sampler = PairSampler([store.lengths], None, 4096, 1024, 1)
    micros = []
    while sampler.epochs[0] < 1:
        micros += [rows for _, rows in sampler.next_update()]
    seen = [row for rows in micros for row in rows.tolist()]
    assert sorted(seen[:29_000]) == list(range(29_000))
    batches = [gather_batch(store, rows) for rows in micros]
    real = sum(batch.targets for batch in batches)
    assert 1 - real / sum(batch.target_output.numel() for batch in batches) < 0.03
    assert padding(batches) < 0.02
    unmasked = sum(batch.sources for batch in batches if batch.source_allowed is None)
    assert unmasked / sum(batch.sources for batch in batches) > 0.99


META = torch.device("meta")
IDS = torch.ones(2, 3, dtype=torch.long)


@pytest.mark.parametrize(
    "batch",
    [
        Batch(IDS, IDS > 0, IDS, IDS, 6, 6),
        TextBatch(IDS, IDS, None, 6),
        MaskedBatch(IDS, None, IDS > 0, IDS.flatten(), 6),
        LabelledBatch(IDS, IDS > 0, IDS[:, 0], 6),
        PictureBatch(torch.zeros(2, 3, 4, 5, dtype=torch.uint8), IDS[:, 0]),
        CaptionBatch(IDS, IDS[:, 0], IDS, IDS, 6),
    ],
    ids=lambda batch: type(batch).__name__,
)
def test_a_batch_of_any_kind_goes_to_the_device_of_the_model(batch):
    moved = on_device(batch, META)
    for field in fields(batch):
        before, after = getattr(batch, field.name), getattr(moved, field.name)
        if isinstance(before, torch.Tensor):
            assert (after.device, after.shape) == (META, before.shape)
        else:
            assert after == before


def test_noise_changes_sources_alone_and_goes_on_from_the_cursor(
    store: PairStore, tokenizer: Tokenizer
) -> None:
    noise = NoiseConfig(case=0.4, typos=0.3)
    most = int(store.lengths.longest)
    variation = Variation(tokenizer, alpha=0.0, noise=noise, most=most, seed=5)
    noisy, plain = make_stream(store, variation), make_stream(store)
    same, other = 0, set()
    for _ in range(7):
        for batch, whole in zip(next(noisy), next(plain), strict=True):
            assert torch.equal(batch.target_output, whole.target_output)
            assert batch.source.shape[1] <= most + 1
            for changed, source in zip(batch.source, whole.source, strict=True):
                texts = [tokenizer.decode(ids.tolist()) for ids in (changed, source)]
                same += texts[0] == texts[1]
                other |= {texts[0]} - {texts[1]}
    assert same > 30
    assert len(other) > 30
    assert any(text.isupper() for text in other)
    resumed = make_stream(store, variation)
    resumed.restore(noisy.cursor)
    for batch, expected in zip(next(resumed), next(noisy), strict=True):
        assert torch.equal(batch.source, expected.source)


@pytest.mark.parametrize(("alpha", "noise"), [(0.0, None), (0.3, None), (0.0, NoiseConfig())])
def test_each_batch_of_pairs_is_collated_alone(
    store: PairStore, tokenizer: Tokenizer, alpha: float, noise: NoiseConfig | None
) -> None:
    varies = alpha or noise
    variation = Variation(tokenizer, alpha, noise, most=128, seed=5) if varies else None
    assert_each_can_be_collated_alone(*(make_stream(store, variation) for _ in range(2)))
    if variation is None:
        planned, batches = make_stream(store).planned(), next(make_stream(store))
        assert [each.work for each in planned] == [batch.work for batch in batches]
