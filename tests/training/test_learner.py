"""The training step against plain torch, against itself, and against what goes wrong."""

import copy
import math

import pytest
import torch
import torch.nn.functional as F

from jumok.config import TrainingConfig
from jumok.data.pairs.batches import Batch, collate
from jumok.models.encoder_decoder import Transformer
from jumok.training.learner import Learner, Update, balance_micro_batches
from jumok.training.objectives import translation
from tests.training.tiny import assert_same_bits, batches, config, model, pairs, saved, weights

RATE = 3e-3
DROPPED = dict.fromkeys(
    ("dropout", "attention_dropout", "feedforward_dropout", "word_dropout"), 0.2
)
every_precision = pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])


def learner(
    trained: Transformer,
    settings: TrainingConfig,
    precision: torch.dtype = torch.float32,
    threads: int = 1,
    shares: int = 0,
) -> Learner:
    return Learner(trained, translation, settings, 5, precision, shares or threads, threads)


def run(learning: Learner, first: int, last: int) -> list[Update]:
    return [learning.update(batches(step), step, RATE / step) for step in range(first, last + 1)]


def assert_close(one: Learner, other: Learner, tolerance: float) -> None:
    """But for the keys' biases: they add the same to all scores of a query, so their gradient is
    nothing but rounding, which AdamW makes as large as any other step.
    """
    theirs = other.weights()
    for name, tensor in one.weights().items():
        if not name.endswith("key.bias"):
            torch.testing.assert_close(tensor, theirs[name], atol=tolerance, rtol=0, msg=name)


def plain_update(
    trained: Transformer, optimizer: torch.optim.Optimizer, micro: list[Batch], settings
) -> tuple[float, float]:
    """The training step as one would write it first; gives loss and gradient norm."""
    optimizer.zero_grad()
    total = torch.zeros(())
    for batch in micro:
        logits = trained.decoder(
            trained.encode(batch.source, batch.source_allowed), batch.target_input
        )
        total = total + F.cross_entropy(
            logits.flatten(0, 1),
            batch.target_output.flatten(),
            ignore_index=0,
            label_smoothing=settings.label_smoothing,
            reduction="sum",
        )
    loss = total / sum(batch.targets for batch in micro)
    loss.backward()
    clip = math.inf if settings.clip is None else settings.clip
    norm = torch.nn.utils.clip_grad_norm_(trained.parameters(), clip)
    optimizer.step()
    return float(loss.detach()), float(norm)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "settings",
    [
        config(clip=0.5, label_smoothing=0.1, weight_decay=0.0),
        config(clip=None, label_smoothing=0.0, weight_decay=0.3),
    ],
    ids=["clipped and smoothed", "decayed"],
)
def test_update_is_a_plain_adamw_step(settings, threads):
    ours, theirs = model(), model()
    learning = learner(ours, settings, threads=threads)
    matrices = [p for p in theirs.parameters() if p.ndim == 2]
    others = [p for p in theirs.parameters() if p.ndim == 1]  # norms and biases do not decay
    optimizer = torch.optim.AdamW(
        [
            {"params": matrices, "weight_decay": settings.weight_decay},
            {"params": others, "weight_decay": 0.0},
        ],
        lr=RATE,
        betas=settings.betas,
    )
    for step in range(1, 5):
        update = learning.update(batches(step), step, RATE)
        loss, norm = plain_update(theirs, optimizer, batches(step), settings)
        assert update.loss == pytest.approx(loss, abs=1e-4)
        assert update.gradient_norm == pytest.approx(norm, rel=1e-3)
        assert not update.skipped
    if settings.clip is not None:
        assert norm > settings.clip  # or nothing was clipped
    expected = weights(theirs)
    for name, weight in learning.weights().items():
        if not name.endswith("key.bias"):
            # AdamW's steps are about RATE long, however small a gradient: 3 % of one
            torch.testing.assert_close(weight, expected[name], atol=0.03 * RATE, rtol=0, msg=name)


def test_update_counts_real_tokens_and_their_loss():
    """A model whose logits are all 0 gives log 31 nats a token, whatever the padding."""
    even = model(tied="none")
    torch.nn.init.zeros_(even.decoder.output.weight)
    micro = [collate(*pairs(5)), collate([[4]], [[5, 6]])]
    update = learner(even, config()).update(micro, 1, RATE)
    assert update.tokens == sum(len(target) + 1 for target in pairs(5)[1]) + 3
    assert update.source_tokens == sum(len(source) + 1 for source in pairs(5)[0]) + 2
    assert update.loss == pytest.approx(math.log(31), abs=1e-5)


@every_precision
def test_update_repeats_bit_by_bit(precision):
    ends = []
    for _ in range(2):
        learning = learner(model(**DROPPED), config("ema"), precision, threads=2)
        run(learning, 1, 3)
        ends.append(saved(learning))
    assert_same_bits(*ends)


def test_masks_are_new_for_every_seed_step_and_micro_batch_and_for_nothing_else():
    """At a learning rate of zero, nothing but the dropout masks can change a loss."""
    [batch] = batches(1, micro=1)

    def loss(seed: int, step: int, copies: int = 1) -> float:
        learning = Learner(model(**DROPPED), translation, config(), seed, torch.float32)
        learning.update([batch], 1, 0.0)
        return learning.update([batch] * copies, step, 0.0).loss

    losses = [loss(5, 2), loss(5, 3), loss(6, 2), loss(5, 2, copies=2)]
    assert len(set(losses)) == 4
    assert loss(5, 2) == losses[0]


def test_two_threads_learn_what_one_does_dropout_too():
    one = learner(model(**DROPPED), config(), threads=1)
    two = learner(model(**DROPPED), config(), threads=2)
    for alone, together in zip(run(one, 1, 3), run(two, 1, 3), strict=True):
        assert together.loss == pytest.approx(alone.loss, abs=1e-5)
        assert together.gradient_norm == pytest.approx(alone.gradient_norm, rel=1e-4)
    assert_close(one, two, 0.03 * RATE)


def test_a_process_with_a_large_share_has_a_small_one_too():
    sized = [10, 40, 30, 20]
    assert balance_micro_batches(sized, 4) == [
        [1],
        [2],
        [0],
        [3],
    ]  # shares 0 and 2, and 1 and 3: 50 each
    assert balance_micro_batches(sized, 2) == [[1, 0], [2, 3]]
    assert balance_micro_batches(sized, 1) == [[1, 2, 3, 0]]


def test_more_shares_than_batches_do_no_harm():
    one, four = learner(model(), config()), learner(model(), config(), shares=4)
    for learning in (one, four):
        learning.update(batches(1, micro=1), 1, RATE)
    assert_close(one, four, 0.03 * RATE)


@every_precision
@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_the_shares_decide_the_bits_and_threads_do_not(precision, optimizer):
    ends = []
    for threads in (1, 2, 3, 4):
        settings = config("ema", optimizer=optimizer)
        learning = learner(model(**DROPPED), settings, precision, threads, shares=4)
        updates = run(learning, 1, 4)
        ends.append((saved(learning), updates))
    for state, updates in ends[1:]:
        assert_same_bits(ends[0][0], state)
        assert updates == ends[0][1]


def test_micro_batches_learn_what_one_big_batch_does():
    sources, targets = pairs(13)
    big = learner(model(), config())
    small = learner(model(), config())
    whole = big.update([collate(sources, targets)], 1, RATE)
    parts = [collate(sources[i : i + 5], targets[i : i + 5]) for i in (0, 5, 10)]
    in_parts = small.update(parts, 1, RATE)
    assert in_parts.loss == pytest.approx(whole.loss, abs=1e-5)
    assert in_parts.gradient_norm == pytest.approx(whole.gradient_norm, rel=1e-4)
    assert_close(big, small, 0.03 * RATE)


def test_learning_makes_the_loss_small_in_bfloat16_too():
    for precision in (torch.float32, torch.bfloat16):
        learning = learner(model(), config(label_smoothing=0.0), precision)
        losses = [learning.update(batches(1), step, RATE).loss for step in range(1, 13)]
        assert losses[0] > 3
        assert losses[-1] < 0.75 * losses[0]


def test_model_itself_is_trained_in_place():
    trained = model()
    before = weights(trained)
    learning = learner(trained, config())
    run(learning, 1, 1)
    for name, tensor in learning.weights().items():
        assert torch.equal(trained.get_parameter(name), tensor)
    moved = [name for name in before if not torch.equal(before[name], trained.get_parameter(name))]
    assert set(moved) >= {name for name in before if not name.endswith("key.bias")}


@every_precision
@pytest.mark.parametrize("average", ["ema", "last", "none"])
@pytest.mark.parametrize("threads", [1, 2])
def test_resumed_learner_goes_on_bit_by_bit(precision, average, threads):
    def fresh() -> Learner:
        return learner(model(**DROPPED), config(average, weight_decay=0.1), precision, threads)

    def finish(learning: Learner) -> dict[str, torch.Tensor]:
        learning.snapshot()
        run(learning, 4, 5)
        learning.snapshot()
        return {**saved(learning), **learning.weights()}

    never_stopped = fresh()
    run(never_stopped, 1, 2)
    never_stopped.snapshot()
    run(never_stopped, 3, 3)
    state = saved(never_stopped)
    resumed = fresh()
    run(resumed, 1, 1)  # what it did before must leave nothing behind
    resumed.load_state(state)
    assert_same_bits(saved(resumed), state)
    assert_same_bits(finish(resumed), finish(never_stopped))


class Sabotaged:
    """The objective, with something added to its loss when told so."""

    def __init__(self, amiss: float, into_gradient: bool) -> None:
        self.amiss, self.into_gradient, self.active = amiss, into_gradient, False

    def __call__(self, trained: torch.nn.Module, batch: Batch, smoothing: float) -> torch.Tensor:
        loss = translation(trained, batch, smoothing)
        if not self.active:
            return loss
        return loss * self.amiss if self.into_gradient else loss + self.amiss


@pytest.mark.parametrize("amiss", [math.nan, math.inf])
@pytest.mark.parametrize("into_gradient", [False, True])
@every_precision
def test_update_that_is_not_finite_is_skipped_and_forgotten(amiss, into_gradient, precision):
    objective = Sabotaged(amiss, into_gradient)
    trained = model()
    learning = Learner(trained, objective, config("ema"), 5, precision)
    run(learning, 1, 2)
    before, computed = saved(learning), weights(trained)
    objective.active = True
    [update] = run(learning, 3, 3)
    assert update.skipped
    assert not math.isfinite(update.loss)
    assert_same_bits(saved(learning), before)
    assert_same_bits(weights(trained), computed)
    objective.active = False
    [update] = run(learning, 4, 4)
    assert not update.skipped
    untouched = learner(model(), config("ema"), precision)
    run(untouched, 1, 2)
    run(untouched, 4, 4)
    assert_same_bits(saved(untouched), saved(learning))


@pytest.mark.parametrize(
    "name",
    ["encoder.blocks.0.feedforward.inner.weight", "decoder.blocks.1.self_attention.query.bias"],
)
def test_weight_that_is_not_a_number_is_noticed(name):
    """No kernel may turn a NaN into a number."""
    broken = model()
    with torch.no_grad():
        broken.get_parameter(name)[0] = math.nan
    [update] = run(learner(broken, config()), 1, 1)
    assert update.skipped


@every_precision
def test_averaged_model_is_a_copy_that_disturbs_nothing(precision):
    watched = learner(model(**DROPPED), config("ema"), precision)
    left_alone = learner(model(**DROPPED), config("ema"), precision)
    run(watched, 1, 2)
    copied = watched.averaged()
    expected = copy.deepcopy(watched.weights())
    assert not copied.training
    assert not any(p.requires_grad for p in copied.parameters())
    [batch] = batches(7, micro=1)
    with torch.inference_mode():
        loss = float(translation(copied, batch, 0.0))
    run(watched, 3, 4)
    run(left_alone, 1, 4)
    assert_same_bits(saved(watched), saved(left_alone))
    for name, tensor in expected.items():
        assert copied.get_parameter(name).dtype == torch.float32
        assert torch.equal(copied.get_parameter(name), tensor)
    with torch.inference_mode():
        assert float(translation(copied, batch, 0.0)) == loss


def test_averaged_model_has_the_averaged_weights():
    """Last-2: the mean of the two latest snapshots."""
    learning = learner(model(), config("last"))
    seen = []
    for step in (1, 2, 3):
        run(learning, step, step)
        seen.append(copy.deepcopy(learning.state()["master"]))
        learning.snapshot()
    name = "decoder.blocks.1.feedforward.inner.weight"
    latest = learner(model(), config())
    means = {}
    for master in seen[1:]:
        latest.load_state(latest.state() | {"master": master})
        means[name] = means.get(name, 0) + latest.weights()[name] / 2
    torch.testing.assert_close(learning.averaged().get_parameter(name), means[name])
