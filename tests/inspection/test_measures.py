"""Head cards by hand, against captured weights, and importance against finite differences."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from math import log

import pytest
import torch

from jumok.attention.observe import observe, sites
from jumok.config import TransformerConfig
from jumok.config.recurrent import RecurrentConfig
from jumok.data.pairs.batches import Batch, collate
from jumok.data.tokenizer import END, PAD, START, Tokenizer
from jumok.inspection.heads.cards import OFFSETS, HeadCard
from jumok.inspection.heads.measures import (
    HeadMeter,
    Importance,
    Pieces,
    SiteMeter,
    translation_losses,
)
from jumok.inspection.hooks.intervene import switched_off
from jumok.models.encoder_decoder import Transformer
from jumok.models.memory import SequenceToSequence
from jumok.models.recurrent import RecurrentModel

NONE = "no clear role"
QUIET = HeadCard(
    site="encoder.blocks.0.self_attention",
    part="encoder",
    layer=0,
    head=0,
    entropy=1.0,
    uniform_share=0.5,
    confidence=0.5,
    confidence_with_end=0.5,
    first=0.1,
    last=0.1,
    previous=0.1,
    same=0.1,
    next=0.1,
    start=0.1,
    end=0.1,
    punctuation=0.1,
    rarest=0.1,
    most_previous=0.1,
    most_same=0.1,
    most_next=0.1,
    offsets=(1 / 19,) * 19,
    importance=0.5,
    raw_importance=0.1,
)


PLACES = {
    "encoder.blocks.0.self_attention": ("encoder", 0),
    "encoder.blocks.1.self_attention": ("encoder", 1),
    "decoder.blocks.0.self_attention": ("decoder", 0),
    "decoder.blocks.0.cross_attention": ("cross", 0),
    "decoder.blocks.1.self_attention": ("decoder", 1),
    "decoder.blocks.1.cross_attention": ("cross", 1),
}


def looked(
    weights: torch.Tensor, keys: list[list[int]], part: str = "encoder", known: Pieces | None = None
) -> SiteMeter:
    meter = SiteMeter(part, known)
    pieces = torch.tensor(keys)
    meter.look(weights, torch.arange(weights.shape[2]), pieces, pieces)
    return meter


def test_measures_of_three_words_are_those_by_hand():
    rows = [[0.25, 0.75, 0.0], [1.0, 0.0, 0.0], [0.125, 0.25, 0.625]]
    meter = looked(torch.tensor([[rows]]), [[5, 6, END]])
    entropy = 0.25 * log(4) + 0.75 * log(4 / 3)
    entropy += 0.125 * log(8) + 0.25 * log(4) + 0.625 * log(1.6)
    expected = {
        "entropy": entropy / 3,
        "uniform": log(3),
        "confidence_with_end": (0.75 + 1.0 + 0.625) / 3,
        "confidence": (0.75 + 1.0) / 2,
        "first": (0.25 + 1.0 + 0.125) / 3,
        "last": 0.625 / 3,
        "previous": (1.0 + 0.25) / 2,
        "same": (0.25 + 0.0 + 0.625) / 3,
        "next": (0.75 + 0.0) / 2,
        "start": 0.0,
        "end": 0.625 / 3,
        "punctuation": 0.0,
        "rarest": 0.0,
        # the largest: one after, one before, the same
        "most_next": 1 / 2,
        "most_previous": 1 / 2,
        "most_same": 1 / 3,
        1: 1 / 3,
        -1: 1 / 3,
        0: 1 / 3,
        2: 0.0,
        "before": 0.0,
        "after": 0.0,
    }
    assert {name: meter.mean(name, 0) for name in expected} == pytest.approx(expected)


def test_end_counts_for_nothing_in_confidence():
    rows = [[0.1, 0.9], [0.3, 0.7]]
    assert looked(torch.tensor([[rows]]), [[5, END]]).mean("confidence", 0) == pytest.approx(0.1)


def pieces(size: int, punctuation: list[int], counts: list[int]) -> Pieces:
    signs = torch.zeros(size, dtype=torch.bool)
    signs[punctuation] = True
    return Pieces(signs, torch.tensor(counts), torch.zeros(size, dtype=torch.long))


def test_kinds_of_pieces_are_counted_by_hand():
    """Of START, five pieces and END: 8 is a sign; 7 is the rarest, and nobody counts END so."""
    rows = torch.zeros(1, 1, 7, 7)
    keys = [START, 5, 6, 7, 5, 8, END]
    for query, key in enumerate((0, 6, 3, 3, 5, 1, 3)):
        rows[0, 0, query, key] = 0.75
        rows[0, 0, query, 5] += 0.25
    meter = looked(rows, [keys], known=pieces(9, [8], [0, 0, 0, 0, 0, 9, 4, 1, 2]))
    found = {name: meter.mean(name, 0) for name in ("start", "end", "punctuation", "rarest")}
    expected = {"start": 0.75 / 7, "end": 0.75 / 7, "punctuation": (0.75 + 7 * 0.25) / 7}
    assert found == pytest.approx(expected | {"rarest": 3 / 7})


def test_rarest_pieces_are_asked_for_in_long_sentences_alone():
    rows = torch.full((1, 1, 3, 3), 1 / 3)
    known = pieces(8, [], [0, 0, 0, 0, 0, 1, 1, 1])
    assert looked(rows, [[5, 6, 7]], known=known).means["rarest"].count == 0


def test_a_decoder_sees_the_rarest_of_what_it_has_read():
    """Position i sees 5, 6, ... up to its own; the rarest of all stands last, at 10."""
    rows = torch.eye(6)[None, None]
    known = Pieces(
        torch.zeros(11, dtype=torch.bool),
        torch.zeros(11, dtype=torch.long),
        torch.tensor([0, 0, 0, 0, 0, 9, 8, 7, 6, 5, 4]),
    )
    meter = looked(rows, [[5, 6, 7, 8, 9, 10]], "decoder", known)
    assert (meter.means["rarest"].count, meter.mean("rarest", 0)) == (2, 1.0)


def test_offsets_beyond_eight_are_counted_together():
    rows = torch.eye(12)[[11, 9, 8, 2, 4, 5, 6, 7, 8, 0, 0, 11]][None, None]
    meter = looked(rows, [[5] * 12])
    # 11 after, 8 after, 6 after, 1 before, 9 and 10 before, and the rest where they are
    found = {name: meter.mean(name, 0) * 12 for name in ("before", "after", 8, 6, -1, 0)}
    assert found == pytest.approx({"before": 2, "after": 1, 8: 1, 6: 1, -1: 1, 0: 6})


def test_pieces_of_signs_alone_are_punctuation():
    tokenizer = Tokenizer.train(["a cat, a dog. (no!)", "a, b."], "char", 40, byte_fallback=False)
    known = Pieces.of(tokenizer, [([5, 5], [6]), ([7], [])])
    signs = {tokenizer.pieces([place])[0] for place in known.punctuation.nonzero()[:, 0].tolist()}
    assert signs == {",", ".", "(", ")", "!"}
    assert (known.source[5], known.source[7], known.target[6]) == (2, 1, 1)
    assert known.counts("decoder") is known.target
    assert known.counts("cross") is known.source


def test_positions_that_see_back_alone_are_uniform_over_these():
    rows = torch.ones(4, 4).tril()
    meter = looked((rows / rows.sum(1, keepdim=True))[None, None], [[2, 5, 6, 7]], "decoder")
    assert meter.mean("entropy", 0) == pytest.approx((log(2) + log(3) + log(4)) / 4)
    assert meter.mean("uniform", 0) == pytest.approx(meter.mean("entropy", 0))
    assert (
        meter.mean("last", 0)
        == meter.mean("same", 0)
        == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4)
    )
    assert meter.mean("next", 0) == 0.0


def test_filling_counts_for_nothing():
    torch.manual_seed(3)
    long, short = torch.rand(1, 2, 4, 4).softmax(3), torch.rand(1, 2, 2, 2).softmax(3)
    apart = looked(long, [[5, 6, 7, END]])
    apart.look(short, torch.arange(2), *(torch.tensor([[8, END]]),) * 2)
    padded = torch.full((1, 2, 4, 4), 0.25)
    padded[:, :, :2] = 0.0
    padded[:, :, :2, :2] = short
    both = looked(torch.cat([long, padded]), [[5, 6, 7, END], [8, END, PAD, PAD]])
    for name in both.means:
        for head in range(2):
            assert both.mean(name, head) == pytest.approx(apart.mean(name, head)), name


@pytest.mark.parametrize(
    ("changes", "role"),
    [
        ({}, NONE),
        ({"most_previous": 0.9}, "previous"),
        ({"most_next": 0.9}, "next"),
        ({"most_next": 0.89}, NONE),
        ({"most_same": 0.9}, NONE),
        ({"part": "cross", "most_same": 0.9}, "diagonal"),
        ({"part": "cross", "most_same": 0.89}, NONE),
        ({"part": "cross", "most_previous": 0.9}, NONE),
        ({"punctuation": 0.51}, "punctuation"),
        ({"punctuation": 0.5}, NONE),
        ({"rarest": 0.51}, "rare words"),
        ({"rarest": 0.5}, NONE),
        ({"previous": 0.51}, "previous"),
        ({"next": 0.51}, "next"),
        ({"same": 0.51}, "same"),
        ({"part": "decoder", "same": 0.51, "last": 0.51}, "same"),
        ({"part": "cross", "same": 0.51}, NONE),
        ({"first": 0.51}, "first"),
        ({"last": 0.51}, "last"),
        ({"confidence_with_end": 0.1}, "broad"),
        ({"confidence": 0.81}, NONE),
        ({"part": "cross", "confidence": 0.81}, "aligned"),
        ({"part": "cross", "precision": 0.51}, "aligned"),
        ({"part": "cross", "precision": 0.5}, NONE),
        ({"part": "cross", "confidence": 0.8}, NONE),
        ({"part": "cross", "previous": 0.9, "confidence": 0.9}, "aligned"),
        ({"part": "cross", "last": 0.9, "confidence": 0.9}, "last"),
    ],
)
def test_roles_have_the_thresholds_of_the_papers(changes, role):
    assert replace(QUIET, **changes).role == role


@pytest.fixture(scope="module")
def model() -> Transformer:
    torch.manual_seed(3)
    config = TransformerConfig(dim=24, heads=3, encoder_layers=1, decoder_layers=2, feedforward=17)
    return Transformer(config, 31).eval()


PAIRS = [[5, 6, 7, 8], [9, 10]], [[11, 12], [13, 14, 15]]


def head_cards(model: SequenceToSequence, batches: Iterable[Batch]) -> list[HeadCard]:
    meter = HeadMeter(model)
    for batch in batches:
        meter.add(batch)
    return meter.cards()


def take(importance: Importance, model: SequenceToSequence, batch: Batch) -> None:
    importance.take(len(batch.source), partial(translation_losses, model, batch))


def test_cards_are_those_of_the_weights_that_were_looked_with(model):
    cards = head_cards(model, [collate(*PAIRS)])
    assert [(card.site, card.head) for card in cards] == [
        (site, head) for site in sites(model) for head in range(3)
    ]
    assert len(cards[0].offsets) == len(OFFSETS) + 2 == 19
    assert all(sum(card.offsets) == pytest.approx(1.0) for card in cards)
    rows: dict[tuple[str, int], list[float]] = {}

    def keep(site, attention):
        for head, weights in enumerate(attention.weights[0]):
            entropies = torch.special.entr(weights.double()).sum(1)
            rows.setdefault((site, head), []).extend(entropies.tolist())

    for source, target in zip(*PAIRS, strict=True):
        alone = collate([source], [target])
        with observe(model, keep), torch.no_grad():
            model.decoder(model.encode(alone.source), alone.target_input)
    for card in cards:
        entropies = rows[card.site, card.head]
        assert card.entropy == pytest.approx(sum(entropies) / len(entropies), abs=1e-5)
        assert (card.part, card.layer) == PLACES[card.site]


def test_batches_add_up(model):
    apart = [collate([source], [target]) for source, target in zip(*PAIRS, strict=True)]
    for whole, parts in zip(
        head_cards(model, [collate(*PAIRS)]), head_cards(model, apart), strict=True
    ):
        assert whole.confidence == pytest.approx(parts.confidence, abs=1e-5)
        assert whole.offsets == parts.offsets
        assert whole.raw_importance == pytest.approx(parts.raw_importance, abs=1e-6)


def loss_of(model: Transformer, batch: Batch) -> float:
    with torch.no_grad():
        logits = model.decoder(model.encode(batch.source), batch.target_input)
    chosen = logits[0].log_softmax(1).gather(1, batch.target_output[0][:, None])
    return -float(chosen.mean())


def test_importance_is_the_slope_that_small_steps_of_the_gate_show(model):
    exact = Transformer(
        TransformerConfig(dim=24, heads=3, encoder_layers=1, decoder_layers=2, feedforward=17), 31
    )
    exact.load_state_dict(model.state_dict())
    exact = exact.double().eval()
    importance = Importance(exact)
    take(importance, exact, collate(*PAIRS))
    found = importance.raw()
    for name, module in sites(exact).items():
        for head in range(3):
            slopes = []
            for source, target in zip(*PAIRS, strict=True):
                batch, losses = collate([source], [target]), []
                for step in (-1e-4, 1e-4):
                    module.gate = torch.ones(3, dtype=torch.float64)
                    module.gate[head] += step
                    losses.append(loss_of(exact, batch))
                    module.gate = None
                slopes.append(abs(losses[1] - losses[0]) / 2e-4)
            assert float(found[name][head]) == pytest.approx(sum(slopes) / 2, rel=1e-4, abs=1e-9)


def test_importance_is_what_switching_off_costs_where_heads_say_little(model):
    """The loss is then a straight line in the gate: its slope is the way from 0 to 1."""
    config = TransformerConfig(dim=24, heads=3, encoder_layers=1, decoder_layers=2, feedforward=17)
    quiet = Transformer(config, 31)
    quiet.load_state_dict(model.state_dict())
    quiet = quiet.double().eval()
    with torch.no_grad():
        for module in sites(quiet).values():
            module.output.weight *= 1e-4
    batches = [collate([source], [target]) for source, target in zip(*PAIRS, strict=True)]
    importance, count = Importance(quiet), dict.fromkeys(sites(quiet), 3)
    for batch in batches:
        take(importance, quiet, batch)
    found = importance.raw()
    for site in count:
        for head in range(3):
            costs = []
            for batch in batches:
                whole = loss_of(quiet, batch)
                with switched_off(quiet, {site: [head]}, count):
                    costs.append(abs(loss_of(quiet, batch) - whole))
            assert float(found[site][head]) == pytest.approx(sum(costs) / 2, rel=5e-3), site


def test_importances_of_a_layer_have_the_length_one(model):
    cards = head_cards(model, [collate(*PAIRS)])
    for name in sites(model):
        of_site = [card for card in cards if card.site == name]
        assert sum(card.importance**2 for card in of_site) == pytest.approx(1.0)
        ratios = {round(card.raw_importance / card.importance, 7) for card in of_site}
        assert max(ratios) == pytest.approx(min(ratios), rel=1e-4)


def test_gates_are_gone_after_a_fault(model):
    batch = collate(*PAIRS)
    wrong = replace(batch, target_output=batch.target_output + 1_000)
    with pytest.raises((IndexError, RuntimeError)):
        take(Importance(model), model, wrong)
    assert all(module.gate is None for module in sites(model).values())


def test_rnn_that_looks_step_by_step_has_a_card_too():
    torch.manual_seed(5)
    config = RecurrentConfig(embedding=6, dim=8, attention="additive")
    model = RecurrentModel(config, 31).eval()
    whole, parts = collate(*PAIRS), [collate([s], [t]) for s, t in zip(*PAIRS, strict=True)]
    (card,), (same,) = head_cards(model, [whole]), head_cards(model, parts)
    assert (card.part, card.layer, card.head) == ("cross", 0, 0)
    assert card.importance == pytest.approx(1.0)
    assert card.raw_importance == pytest.approx(same.raw_importance, rel=1e-4)
    assert card.entropy == pytest.approx(same.entropy, rel=1e-5)
    rows = []
    for batch in parts:
        with observe(model, lambda _, each: rows.append(each.weights[0, 0])), torch.no_grad():
            model.decoder(model.encode(batch.source), batch.target_input)
    entropies = torch.cat([torch.special.entr(each).sum(1) for each in rows])
    assert len(entropies) == 3 + 4  # START and pieces
    assert card.entropy == pytest.approx(float(entropies.mean()), rel=1e-5)
