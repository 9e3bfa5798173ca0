"""Head cards: the nearest rule, the page, and pruning in the order of importance."""

import json
from dataclasses import replace

import pytest
import torch

from jumok.attention.observe import sites
from jumok.config import TransformerConfig
from jumok.inspection.heads.pruning import pruning_curves, pruning_order
from jumok.inspection.page.cards_page import cards_page, cards_payload
from jumok.models.encoder_decoder import Transformer
from tests.inspection.test_measures import QUIET


def test_the_nearest_rule_is_named_with_its_measure_and_its_bound():
    assert QUIET.role == "no clear role"
    assert QUIET.nearest is None, "half way to none"
    cross = replace(QUIET, part="cross", confidence=0.71)
    assert cross.nearest == ("aligned", 0.71, 0.8)
    assert cross.facts()["nearest"] == ["aligned", 0.71, 0.8]
    assert replace(QUIET, most_previous=0.8).nearest == ("previous", 0.8, 0.9)
    assert replace(QUIET, confidence_with_end=0.125).nearest == ("broad", 0.125, 0.1)
    assert replace(QUIET, previous=0.6).nearest is None, "it has a role"
    assert replace(QUIET, part="cross", most_previous=0.8).nearest == ("aligned", 0.5, 0.8)


def test_page_has_every_measure_of_every_model():
    late = replace(QUIET, entropy=0.5, most_next=0.9)
    found = cards_payload({"early": [QUIET], "late": [late]}, "dev.en", 7)
    assert (found["data"], found["count"], found["unit"]) == ("dev.en", 7, "sentences")
    assert found["furthest"] == 8
    early, after = (each["heads"][0] for each in found["models"])
    assert (early["entropy"], early["role"]) == (1.0, "no clear role")
    assert (after["entropy"], after["role"]) == (0.5, "next")
    assert (after["layer"], after["head"]) == (1, 1), "people count from 1"
    text = cards_page({"early": [QUIET], "late": [late]}, "dev.en", 7)
    inside = text.split('id="data">')[1].split("</script>")[0]
    assert json.loads(inside) == json.loads(json.dumps(found))
    assert "default-src 'none'" in text
    assert "connect-src" not in text


@pytest.fixture(scope="module")
def model() -> Transformer:
    config = TransformerConfig(dim=20, heads=5, encoder_layers=1, decoder_layers=1, feedforward=7)
    return Transformer(config, 11).eval()


def cards_of(model):
    parts = {"encoder.blocks.0.self_attention": "encoder"}
    parts["decoder.blocks.0.self_attention"] = "decoder"
    parts["decoder.blocks.0.cross_attention"] = "cross"
    return [
        replace(QUIET, site=site, part=part, head=head, importance=(head * 3 % 5) / 5)
        for site, part in parts.items()
        for head in range(5)
    ]


def test_least_important_heads_come_first(model):
    order = pruning_order(cards_of(model), "cross")
    assert [card.head for card in order] == [0, 2, 4, 1, 3]  # 0, 1/5, 2/5, 3/5, 4/5
    assert len(pruning_order(cards_of(model), "together")) == 15


def test_every_point_is_the_score_without_so_many_heads(model):
    asked: list[int] = []

    def open_gates() -> float:
        gates = [site.gate for site in sites(model).values()]
        asked.append(1)
        return float(sum(torch.ones(5).sum() if gate is None else gate.sum() for gate in gates))

    curves = pruning_curves(model, cards_of(model), open_gates)
    assert list(curves) == ["encoder", "decoder", "cross", "together"]
    for part, points in curves.items():
        heads = 15 if part == "together" else 5
        assert [point.percent for point in points] == list(range(0, 101, 10))
        assert points[-1].heads == heads
        assert all(point.score == 15 - point.heads for point in points)
    # 5 of 15 alone are no more than 5 points: none is asked for twice
    assert len(asked) == 1 + 3 * 5 + 10
    assert all(site.gate is None for site in sites(model).values())


def test_a_part_without_heads_has_no_curve(model):
    cards = [card for card in cards_of(model) if card.part == "cross"]
    assert list(pruning_curves(model, cards, lambda: 0.0)) == ["cross", "together"]
