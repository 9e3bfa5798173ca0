"""A plan by hand: time, exchange, memory, and what its warnings say to change."""

import pytest

from jumok.config import Config
from jumok.errors import ConfigError
from jumok.planning.advice import rounded_up, warnings_of
from jumok.planning.cards import CARDS, card_named
from jumok.planning.network import Cluster, exchange, seconds_of
from jumok.planning.plan import Assumptions, Plan, numbers_of, plan, usual_lengths, vocabulary_of
from jumok.planning.products import TextLengths
from tests.planning.models import recipe

BASE = {
    "dim": 512,
    "heads": 8,
    "feedforward": 2048,
    "encoder_layers": 6,
    "decoder_layers": 6,
    "dropout": 0.1,
}
H100 = card_named("h100")


def base(**training: object) -> Config:
    usual = {"tokens_per_batch": 500_000, "tokens_per_micro_batch": 4096, "precision": "bf16"}
    return recipe(BASE, tokenizer={"size": 32_000}, training=usual | training)


def assumed(**more: object) -> Assumptions:
    return Assumptions(share=0.35, lengths=TextLengths(25, 25), vocabulary=32_000, **more)


def on(cards: int, config: Config | None = None, name: str = "h100", **more: object) -> Plan:
    cluster = Cluster(card_named(name), max(1, cards // 8), min(8, cards))
    return plan(config or base(), cluster, assumed(**more))


@pytest.mark.parametrize(
    ("cards", "computing", "busy"), [(8, 66, 99), (64, 8.2, 92), (256, 2.1, 72), (1024, 0.5, 37)]
)
def test_base_model_on_many_cards_as_derived_by_hand(cards, computing, busy):
    """500,000 tokens of 365 MFLOP; gradients and weights in bfloat16, twice 121 MB in all."""
    planned = on(cards)
    assert 1e3 * planned.computing == pytest.approx(computing, rel=0.04)
    weights = 2 * 60_424_192
    inside, outside = 2 * weights * 7 / 8, 2 * weights * (1 / 8 - 1 / cards)
    sending = seconds_of(inside, outside, Cluster(H100, cards // 8, 8))
    share = planned.computing / (planned.computing + planned.optimizer + sending)
    assert 100 * share == pytest.approx(busy, abs=0.6)


@pytest.mark.parametrize(("cards", "busy"), [(8, 99), (64, 90), (256, 66), (1024, 30)])
def test_sums_in_float32_take_longer(cards, busy):
    """The table of docs/scale.md: gradients travel as their sums, but for the first half."""
    assert 100 * on(cards).busy == pytest.approx(busy, abs=0.6)


def test_base_model_has_the_published_size_and_flop():
    model = numbers_of(base(), 32_000, TextLengths(25, 25))
    by_hand = 32_000 * 512 + 6 * (4 * 512**2 + 2 * 512 * 2048) + 6 * (8 * 512**2 + 2 * 512 * 2048)
    assert model.parameters == by_hand
    attended = 18 * 4 * 25 * 512  # scores and sums of 18 attentions
    assert model.flop == 3 * (2 * by_hand + attended)
    assert model.flop == pytest.approx(365e6, rel=0.002)


def test_gpt2_has_the_usual_flop():
    sizes = {"kind": "causal-lm", "dim": 768, "heads": 12, "feedforward": 3072, "layers": 12}
    config = recipe(
        sizes | {"max_length": 1024, "positions": "learned"},
        training={"tokens_per_micro_batch": 1024},
    )
    model = numbers_of(config, 50_257, usual_lengths(config))
    assert model.parameters == pytest.approx(124.3e6, rel=0.002)  # 0.1 M more with biases, norms
    assert model.flop == pytest.approx(6 * 123.5e6 + 12 * 12 * 768 * 1024, rel=0.001)


def test_exchange_by_hand():
    """2^30 weights, two nodes of four cards.

    Each card sends half of its gradients in bfloat16, a quarter and an eighth as sums in float32,
    and an eighth, a quarter and a half of the weights in bfloat16.
    """
    sent = exchange(1 << 30, 2, 1, Cluster(H100, nodes=2, each=4))
    assert sent.inside == (1 << 30) * (2 / 2 + 4 / 4 + 2 / 2 + 2 / 4)
    assert sent.outside == (1 << 30) * (4 / 8 + 2 / 8)
    assert sent.seconds == pytest.approx(sent.outside / 50e9 + 2 * 20e-6)
    alone = exchange(1 << 30, 2, 1, Cluster(H100, 1, 1))
    assert (alone.inside, alone.outside, alone.seconds) == (0, 0, 0)
    apart = exchange(1 << 30, 2, 1, Cluster(H100, 2, 1))
    assert (apart.inside, apart.outside) == (0, 2 << 30)
    slow = exchange(1 << 30, 2, 1, Cluster(H100, 2, 4, network=1e9))
    assert slow.seconds == pytest.approx(sent.outside / 0.25e9, rel=0.001)
    # Two shares of a card are summed before they travel.
    two = exchange(1 << 30, 2, 2, Cluster(H100, 2, 4))
    assert two.inside - sent.inside == (1 << 30) * (4 - 2) / 2
    fast = exchange(1 << 30, 2, 1, Cluster(H100, 2, 4, network=1e12))
    assert fast.seconds == pytest.approx(sent.inside / (0.78 * 450e9) + 2 * 20e-6)
    # No run has twelve processes; sixteen send as much at least.
    assert exchange(1 << 20, 2, 1, Cluster(H100, 3, 4)).outside > 0


def test_memory_by_hand():
    """60.4 M weights, of which AdamW's state is shared by eight cards."""
    weights = 60_424_192
    one, eight = on(1).memory.state, on(8).memory.state
    assert one.weights == eight.weights == 2 * weights
    assert (one.gradients, eight.gradients) == (6 * weights, 2.5 * weights)
    assert (one.master, one.moments, one.average) == (4 * weights, 8 * weights, 4 * weights)
    assert eight.moments == weights
    muon = on(1, base(optimizer="muon", average={"kind": "none"})).memory.state
    assert (muon.moments, muon.average) == (4 * weights + 4 * 32_000 * 512, 0)


def test_loss_by_hand():
    """Chunks of 2,096 rows on a GPU, of 512 on processors; logits, gradients, softmax, weights."""
    vocabulary, weights = 32_000, 2 * 32_000 * 512
    assert on(1).memory.loss == 2096 * vocabulary * 8 + weights
    capped = recipe(
        BASE | {"logit_cap": 30.0}, tokenizer={"size": vocabulary}, training={"precision": "bf16"}
    )
    small = min(2096, capped.training.tokens_per_micro_batch)
    assert on(1, capped).memory.loss == small * vocabulary * 12 + weights
    twice = base(consistency=5.0)
    assert on(1, twice).memory.loss == 2096 * vocabulary * 28 + weights
    cores = plan(base(), Cluster(card_named("cpu"), 1, 1), assumed()).memory.loss
    assert cores == (512 * vocabulary * 8 + weights)


def test_experts_take_memory_by_their_number_and_time_by_their_use():
    model = {"experts": 8, "experts_used": 2}
    config = recipe(BASE | model, tokenizer={"size": 32_000})
    mixture, usual = (numbers_of(each, 32_000, TextLengths(25, 25)) for each in (config, base()))
    one, router = 2 * 512 * 2048, 8 * 512
    assert mixture.parameters == usual.parameters + 12 * (7 * one + router)
    assert mixture.flop == usual.flop + 12 * 6 * (one + router)


def test_micro_batch_that_is_named_fits():
    config = base(tokens_per_batch=4_000_000, tokens_per_micro_batch=1_000_000)
    planned = on(1, config, "l4")
    assert planned.memory.total > planned.capacity
    (first, *_) = warnings_of(config, *facts(config, "l4"))
    assert first.rule == "memory"
    fitting = int(planned.fits)
    assert f"--set training.tokens_per_micro_batch={fitting} or less" in first.text
    smaller = on(1, base(tokens_per_batch=4_000_000, tokens_per_micro_batch=fitting), "l4")
    assert 0.99 * smaller.capacity < smaller.memory.total <= smaller.capacity


def facts(config: Config, name: str = "h100", cards: int = 1) -> tuple:
    cluster = Cluster(card_named(name), max(1, cards // 8), min(8, cards))
    model = numbers_of(config, 32_000, TextLengths(25, 25))
    return model, cluster, plan(config, cluster, assumed())


def test_model_that_is_too_large_is_named():
    sizes = BASE | {"dim": 8192, "heads": 64, "feedforward": 32_768, "encoder_layers": 24}
    config = recipe(sizes, tokenizer={"size": 32_000})
    (first, *_) = warnings_of(config, *facts(config))
    assert first.rule == "memory"
    assert "more cards share them, or the model has to be" in first.text
    assert "times as small (model.dim by" in first.text


def test_weights_in_rows_are_not_planned():
    with pytest.raises(ConfigError, match="the memory and the exchange of slices") as error:
        on(8, base(sharding="full"))
    assert "--set training.sharding=slices; a card of N then needs an N-th" in str(error.value)


def test_batch_that_is_named_keeps_the_cards_busy():
    (first,) = (
        each for each in warnings_of(base(), *facts(base(), cards=256)) if each.rule == "waiting"
    )
    assert first.text.startswith("66% of the time is computing: 1,953 tokens a card and update.")
    assert "jumok sweep" in first.text
    batch = int(first.text.split("training.tokens_per_batch=")[1].split(",")[0])
    assert on(256, base(tokens_per_batch=batch)).busy == pytest.approx(0.9, abs=0.01)
    cards = int(first.text.split("at most ")[1].split(" ")[0])
    assert on(cards).busy >= 0.9


@pytest.mark.parametrize(
    ("config", "card", "cards", "rule", "text"),
    [
        (base(), "h100", 12, "processes", "1, 2, 4, 8, ... processes: take 8 or 16"),
        (base(), "h100", 1 << 20, "processes", "one run has at most"),
        (base(precision="auto"), "t4", 1, "bfloat16", "products are in float32, at 8 TFLOP/s"),
        (base(), "h100", 256, "micro_batches", "training.tokens_per_micro_batch=1953 or less"),
        (base(tokens_per_micro_batch=64), "h100", 8, "starting", "takes about 12 ms"),
    ],
)
def test_rules(config, card, cards, rule, text):
    if cards == 12:
        cluster = Cluster(card_named(card), 3, 4)
        model = numbers_of(config, 32_000, TextLengths(25, 25))
        warnings = warnings_of(config, model, cluster, plan(config, cluster, assumed()))
    else:
        warnings = warnings_of(config, *facts(config, card, cards))
    (one,) = (each for each in warnings if each.rule == rule)
    assert text in one.text


def test_good_plan_has_no_warning():
    config = base(tokens_per_micro_batch=16_384)
    assert warnings_of(config, *facts(config, cards=8)) == []


def test_cores_are_threads_of_one_process():
    config = recipe(BASE, tokenizer={"size": 32_000})
    planned = plan(config, Cluster(card_named("cpu"), 1, 4), assumed())
    assert planned.sent.seconds == 0
    tokens = config.training.tokens_per_batch
    assert planned.computing == pytest.approx(tokens * 365.31e6 / (4 * 0.35 * 206e9), rel=1e-3)
    # 4,096 tokens are four micro-batches, each with gradients of its own.
    assert planned.memory.state.gradients == (4 * 2 + 4) * 60_424_192
    two = plan(config, Cluster(card_named("cpu"), 2, 4), assumed())
    # Each has summed two gradients: half of the sums in float32, half of the weights in bfloat16.
    assert two.sent.inside == 0
    assert two.sent.outside == pytest.approx((4 / 2 + 2 / 2) * 60_424_192, rel=1e-3)


def test_cost_and_time_of_the_run():
    planned = on(8, base(steps=1000), price=2.5)
    assert planned.hours == pytest.approx(1000 * planned.update / 3600)
    assert planned.cost == pytest.approx(8 * 2.5 * planned.hours)
    timed = on(8, base(steps=10**9, minutes=60.0))
    assert timed.hours == pytest.approx(1)
    assert timed.steps == pytest.approx(3600 / timed.update)
    assert on(8, base(steps=10, minutes=60.0)).steps == 10


def test_vocabularies_of_recipes():
    assert vocabulary_of(base()) == 32_000
    assert vocabulary_of(recipe({"kind": "causal-lm"})) == 260
    assert vocabulary_of(recipe({"kind": "image-classifier"})) == 0


def test_every_card_says_where_its_figures_come_from():
    for card in CARDS.values():
        assert card.source
        assert card.because
        assert card.peak("fp32") <= card.peak("bf16")
    assert card_named("A100", memory=40e9).memory == 40e9
    with pytest.raises(ConfigError, match="did you mean h100"):
        card_named("h1000")


@pytest.mark.parametrize(("number", "up"), [(7812, 7900), (99, 99), (1, 1), (500_001, 510_000)])
def test_numbers_are_rounded_up(number, up):
    assert rounded_up(number) == up
