"""The labs about vectors: against the notes' numbers and closed forms, and each of them once."""

import math
import os
from pathlib import Path

import pytest
import torch

from jumok.positions.sinusoidal import sinusoids
from jumok_lectures.findings import Setting
from jumok_lectures.vectors import analogy, distribution, mix, position_wise, rotation, similarity
from jumok_lectures.vectors.reading import is_named, read_back

SEEDS = (1, 2, 3)


def test_the_notes_scores_of_14_and_12_give_88_and_12_percent() -> None:
    # 112 and 96 divided by √64, as a figure of Alammar 2018 has them: 1 / (1 + e^-2).
    weights = torch.tensor([112.0, 96.0]).div(math.sqrt(64.0)).softmax(-1)
    assert float(weights[0]) == pytest.approx(1.0 / (1.0 + math.exp(-2.0)))
    assert [round(float(weight), 2) for weight in weights] == [mix.WEIGHT, 0.12]


def test_what_is_there_is_read_back_and_what_is_not_is_not() -> None:
    generator = torch.Generator().manual_seed(1)
    first, second = torch.randn(2, 4000, 8, generator=generator)
    assert read_back(3.0 * first, first) == pytest.approx(1.0)
    assert abs(read_back(second, first)) < 0.02
    assert is_named(torch.eye(3), torch.eye(3), torch.tensor([0, 1, 0])) == pytest.approx(2 / 3)


def test_a_mix_keeps_the_squares_of_its_weights(tmp_path) -> None:
    assert mix.expected(0.88) == pytest.approx(0.7744 / (0.7744 + 0.0144))
    found = mix.shares(0.88, 1.0, (1,))
    assert found.first[0] == pytest.approx(mix.expected(0.88), abs=0.005)
    assert found.second[0] == pytest.approx(1.0 - mix.expected(0.88), abs=0.005)
    assert mix.run(Setting(SEEDS, False, tmp_path)).outcome == "partly"


def test_small_shares_vanish_unless_they_are_alike(tmp_path) -> None:
    found = distribution.run(Setting(SEEDS, False, tmp_path))
    assert found.outcome == "partly"
    # 500 different words of 0.001 beside 0.5: 500e-6 / (500e-6 + 0.25), and a little for chance.
    assert found.figures["different"][0] == pytest.approx(0.002, abs=0.002)
    assert found.figures["alike"] == [pytest.approx(0.5)] * 3


def test_a_shift_of_sin_and_cos_is_a_rotation(tmp_path) -> None:
    code = rotation.codes("both")
    torch.testing.assert_close(
        code.float(), sinusoids(rotation.LENGTH, rotation.WIDTH), atol=1e-4, rtol=0.0
    )
    turn = rotation.rotation(7, rotation.WIDTH // 2)
    torch.testing.assert_close(turn @ turn.T, torch.eye(rotation.WIDTH, dtype=torch.float64))
    torch.testing.assert_close(code[3] @ turn.T, code[10])
    found = rotation.run(Setting((1,), False, tmp_path))
    assert found.outcome == "holds"
    assert max(found.figures["both"]["missed"]) < 1e-12


def test_the_product_of_vectors_of_one_length_is_their_nearness(tmp_path) -> None:
    assert similarity.compare(0.0, 1) == (pytest.approx(1.0), 1.0)
    assert similarity.rank_correlation(
        torch.tensor([[1.0, 2.0, 3.0]]), torch.tensor([[9.0, 5.0, 1.0]])
    ) == pytest.approx(-1.0)
    found = similarity.run(Setting((1,), False, tmp_path), steps=150)
    assert found.figures["note"] == {"[2, 3]·[4, 5]": 23, "[2, 3]·[-5, 2]": -4}
    assert found.outcome == "partly"
    assert found.figures["taught"]["unrelated"]["trained"][0] > 0.8
    assert found.figures["taught"]["opposite"]["words"][0] < -0.5


def test_a_partner_is_always_in_its_sentence() -> None:
    generator = torch.Generator().manual_seed(1)
    task = similarity.PartnerTask.of("opposite", generator)
    asks, sentence, place = task.draw(50, generator)
    found = sentence.gather(1, place[:, None])[:, 0]
    torch.testing.assert_close(task.vectors[found], -task.vectors[asks])
    assert all(row.unique().numel() == similarity.LENGTH for row in sentence)


def test_a_feed_forward_layer_reaches_its_own_position_alone(tmp_path) -> None:
    own, others, permuted = position_wise.reach(lambda states: 2.0 * states, 1)
    assert own > 0.5
    assert (others, permuted) == (0.0, 0.0)
    shifting = position_wise.reach(lambda states: states.roll(1, dims=1), 1)
    assert min(shifting[1:]) > 0.5
    found = position_wise.run(Setting((1,), False, tmp_path), steps=60)
    assert found.figures["layers"]["plain, relu"]["others"] == [0.0]
    assert found.figures["layers"]["self-attention"]["others"][0] > 0.01
    assert found.figures["learned"]["alone"][0] > 0.9
    assert abs(found.figures["learned"]["alone, linear"][0]) < 0.1


def test_the_analogies_are_the_published_ones_without_those_of_the_bound() -> None:
    file = Path(os.environ.get("JUMOK_DATA", ""), "embed_eval", "questions-words.txt")
    if not file.is_file():
        pytest.skip(f"needs {file}")
    sections: dict[str, set[str]] = {}
    for line in file.read_text("utf-8").lower().splitlines():
        first, second, *rest = line.split()
        if first == ":":
            own = sections.setdefault(second, set())
        else:
            own |= {f"{first} {second}", " ".join(rest)}
    seen = {pair for pairs in analogy.SMALL.values() for pair in pairs}
    names = {"family": "family", "plural": "gram8-plural", "past": "gram7-past-tense"}
    for kind, pairs in analogy.PUBLISHED.items():
        assert sorted(pairs) == sorted(sections[names[kind]] - seen)


def test_an_analogy_is_solved_where_the_vectors_have_it(tmp_path) -> None:
    words = ["man", "woman", "king", "queen", "apple"]
    vectors = torch.tensor([[1.0, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1], [-1, 0, 0]])
    space = analogy.Space(words, vectors / vectors.norm(dim=-1, keepdim=True))
    offset, _, _, count = analogy.solve(space, ("man woman", "king queen", "no word"))
    assert (offset, count) == (1.0, 2)
    found = analogy.run(Setting((1,), False, tmp_path), sentences=3000)
    assert found.outcome is None  # nothing that people wrote is there
    assert found.figures["king - man + woman"] == []
    assert found.figures["solved"]["chance, past"]["offset"][0] < 0.05
