"""Packed batches against sentences of exact lengths: loss and gradients."""

import numpy as np
import pytest
import torch

from jumok.config import parse_config
from jumok.config.causal import CausalConfig
from jumok.data.pairs.batches import collate
from jumok.data.pairs.packing import PackedShape, packed_batch
from jumok.data.texts.store import prepare_texts
from jumok.data.texts.tokenizer import ByteTokenizer
from jumok.data.texts.windows import (
    DocumentChunks,
    DrawnWindows,
    PackedWindows,
    TextBatch,
    windows_at,
)
from jumok.errors import ConfigError
from jumok.models.causal import CausalLanguageModel
from jumok.shapes import Tensor
from jumok.training.objectives import ConsistentTranslation, next_token, translation
from jumok.training.run import batches_of
from tests.models.variants import VARIANTS, build, config
from tests.parity.torch_weights import roughen

SOURCES = [[5, 6, 7], [8], [9, 10, 11, 12, 13, 14], [15, 16]]
TARGETS = [[17], [18, 19, 20, 21], [22, 23], [24, 25, 26, 27, 28]]
SHAPE = PackedShape(source=35, target=33, pairs=6, longest=9)


def packed():
    sides = ([np.array(each, dtype=np.int64) for each in side] for side in (SOURCES, TARGETS))
    return packed_batch(*sides, SHAPE)


def slopes(model: torch.nn.Module, loss: Tensor) -> dict[str, Tensor]:
    model.zero_grad()
    loss.backward()
    given = ((name, each, each.grad) for name, each in model.named_parameters())
    # an expert that no position uses has none
    gradients = {
        name: torch.zeros_like(each) if grad is None else grad.clone() for name, each, grad in given
    }
    assert all(each.isfinite().all() for each in gradients.values())
    return gradients


def same(model: torch.nn.Module, actual: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(actual, expected, atol=0, rtol=1e-5)
    ours, theirs = slopes(model, actual), slopes(model, expected)
    for name, slope in theirs.items():
        most = float(slope.abs().max())
        torch.testing.assert_close(ours[name], slope, atol=1e-5 * max(most, 1.0), rtol=0)


TURNED = {"positions": "rotary", "head_dim": 8}
CASES = [(name, {"positions": "sinusoidal"} if config(name).knows_row else {}) for name in VARIANTS]
CASES += [("cosine", TURNED), ("differential", TURNED)]


@pytest.mark.parametrize(("variant", "changes"), CASES, ids=str)
def test_packed_pairs_are_pairs_of_exact_lengths(variant, changes):
    """The fraction of a target position is that of max_length in both."""
    model = build(variant, **changes)
    alone = [collate([source], [target]) for source, target in zip(SOURCES, TARGETS, strict=True)]
    expected = sum(translation(model, batch, 0.1) for batch in alone)
    same(model, translation(model, packed(), 0.1), expected)


def test_packed_pairs_are_read_twice_by_r_drop():
    """Without dropout both readings are the same, and nothing diverges."""
    model = build("kernels")
    same(model, ConsistentTranslation(5.0)(model, packed(), 0.1), translation(model, packed(), 0.1))


LINES = ["abcdefghijklm", "no", "pqrst", "u", "vwxyzABCDEFGHIJKLMNOP", "QR", "ST", "UVW"]


@pytest.fixture
def store(tmp_path):
    return prepare_texts(LINES, "lines", ByteTokenizer(), tmp_path)


def shapes(batch: TextBatch) -> dict[str, tuple[object, ...]]:
    tensors = {name: each for name, each in vars(batch).items() if isinstance(each, Tensor)}
    return {name: (tuple(each.shape), each.dtype) for name, each in tensors.items()}


def language_model(**changes) -> CausalLanguageModel:
    torch.manual_seed(1)
    sizes = {"dim": 48, "heads": 3, "layers": 2, "feedforward": 64, "max_length": 16}
    return roughen(CausalLanguageModel(CausalConfig(**sizes, **changes), ByteTokenizer.size)).eval()


@pytest.mark.parametrize("changes", [{}, {"positions": "learned"}, {"window": 3}], ids=str)
def test_windows_of_one_shape_are_documents_of_exact_lengths(store, changes):
    model, windows = language_model(**changes), PackedWindows(store, 16, (4, 2), 1, alike=True)
    batches = [batch for _ in range(3) for batch in next(windows)]
    while windows.cursor["epoch"] < 3:
        batches += next(windows)
    assert all(shapes(batch) == shapes(batches[0]) for batch in batches)

    parts, alone, count = DocumentChunks.of(store, 16), [], len(batches)
    for start, length in zip(parts.starts, parts.lengths, strict=True):
        places = np.arange(start, start + length)[None]
        alone.append(windows_at(store, places, np.zeros_like(places)))
    expected = sum(next_token(model, batch, 0.0) for batch in alone)
    windows.restore({**windows.cursor, "epoch": 0, "update": 0})
    epoch = []
    while windows.cursor["epoch"] < 1:
        epoch += next(windows)
    assert sum(batch.targets for batch in epoch) == sum(batch.targets for batch in alone)
    same(model, sum(next_token(model, batch, 0.0) for batch in epoch), expected)
    assert count > len(epoch)


def test_drawn_windows_of_one_shape_are_the_same_windows(store):
    model = language_model()
    ours, theirs = (DrawnWindows(store, 16, (5, 2), 1, alike=alike) for alike in (True, False))
    for _ in range(3):
        actual, expected = next(ours), next(theirs)
        assert len({str(shapes(batch)) for batch in actual}) == 1
        assert len({str(shapes(batch)) for batch in expected}) > 1
        for mine, other in zip(actual, expected, strict=True):
            assert mine.targets == other.targets
            same(model, next_token(model, mine, 0.0), next_token(model, other, 0.0))


def test_batches_are_packed_on_a_gpu_where_rows_can_be_shared(make_config):
    gpu, cpu = torch.device("cuda"), torch.device("cpu")
    assert batches_of(make_config(), cpu) == "exact"
    assert batches_of(make_config(), gpu) == "packed"
    assert batches_of(make_config("training.batches=exact"), gpu) == "exact"
    assert batches_of(make_config("training.batches=packed"), cpu) == "packed"
    for change in ("tokenizer.sampling_alpha=0.1", "data.noise=true"):
        assert batches_of(make_config(change), gpu) == "exact"


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ('process_heads=["qk-norm"]', "packed"), ("window=8", "packed"), ("score=cosine", "packed"),
        ("attention_kind=latent", "packed"), ("attention_kind=linear", "exact"),
        ("score=bilinear", "packed"),
        ("score=additive", "exact"), ("score_cap=30.0", "exact"), ("sinks=true", "exact"),
        ("positions=alibi", "exact"), ("attention_dropout=0.1", "exact"),
    ],
)  # fmt: skip
def test_rows_are_not_shared_unasked_where_scores_of_whole_rows_would_be_kept(
    make_config, change, kind
):
    changed = make_config(f"model.{change}")
    assert batches_of(changed, torch.device("cuda")) == kind
    asked = make_config(f"model.{change}", "training.batches=packed")
    assert batches_of(asked, torch.device("cuda")) == "packed"


def test_what_cannot_be_packed_is_refused(make_config):
    for change in ("tokenizer.sampling_alpha=0.1", "data.noise=true"):
        with pytest.raises(ConfigError, match=r"sampling_alpha and data\.noise change: leave one"):
            make_config("training.batches=packed", change)
    for change in ("score=bilinear", "score=additive", "attention_kind=linear"):
        with pytest.raises(ConfigError, match=r"in this attention depend on the place in the row"):
            make_config("training.batches=packed", "model.positions=rotary", f"model.{change}")
    with pytest.raises(ConfigError, match=r"source_end = false leaves out"):
        make_config("training.batches=packed", "model.source_end=false")
    rnn = {"name": "r", "model": {"kind": "rnn"}, "data": {"smallworld": {}}}
    with pytest.raises(ConfigError, match=r"the state of an RNN would carry over"):
        parse_config({**rnn, "training": {"batches": "packed"}})
