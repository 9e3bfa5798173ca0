"""Neighbours of words and of occurrences, by hand."""

from pathlib import Path

import pytest
import torch

from jumok.systems.catalog import load
from jumok_lectures.experiments import context
from jumok_lectures.experiments.context import Encoded, Senses
from smallworld import LinkedPair


def test_words_of_a_kind_are_near_where_their_vectors_are() -> None:
    one, other = torch.tensor([1.0, 0.1]), torch.tensor([1.0, -0.1])
    far, further = torch.tensor([-1.0, 0.2]), torch.tensor([-1.0, 0.3])
    assert context.near({"a": [one, other], "b": [far, further]}) == 1.0
    # far is nearer to one than to other, and further to other than to far: 2 of 8 comparisons.
    assert context.near({"a": [one, far], "b": [other, further]}) == 0.25


def test_senses_are_told_by_states_and_by_chance(
    tiny_bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "play" is 치다 or 하다; its states here are those of its sentence."""
    vectors = {"piano": torch.tensor([1.0, 0.0]), "soccer": torch.tensor([-1.0, 0.0])}
    monkeypatch.setattr(
        context, "states", lambda _, text: [vectors[word] for word in text.split()[1:] * 2]
    )
    straight = ((0, 0), (1, 1))
    pairs = [
        *[LinkedPair("play piano", "쳐요 피아노", straight, ())] * 2,
        LinkedPair("play piano", "치세요 피아노", straight, ()),  # the same verb in another form
        *[LinkedPair("play soccer", "해요 축구", straight, ())] * 3,
    ]
    model = load(tiny_bundle, device="cpu", engine="torch")
    found = context.senses(Encoded(model.models[0], model.tokenizer), pairs, uses_each=3)
    assert found.words == ("play",)
    assert found.alike == 1.0
    assert found.chance == pytest.approx(2 / 5)


def test_states_are_one_a_word_and_depend_on_the_sentence(tiny_bundle: Path) -> None:
    model = load(tiny_bundle, device="cpu", engine="torch")
    encoded = Encoded(model.models[0].eval(), model.tokenizer)
    first, second = (context.states(encoded, text) for text in ("the cat sat", "the cat barked"))
    assert len(first) == 3
    assert not torch.allclose(first[1], second[1])


def test_the_claim_has_two_halves() -> None:
    apart = {"before": [0.2, 0.21], "after": [0.8, 0.81]}
    good, poor = ([Senses(alike + x, 0.5, ("go",)) for x in (0.0, 0.001)] for alike in (0.8, 0.5))
    assert context.report(apart, {"after": good}).outcome == "holds"
    assert context.report(apart, {"after": poor}).outcome == "partly"
    same = {"before": [0.2, 0.21], "after": [0.2, 0.21]}
    assert context.report(same, {"after": poor}).outcome == "fails"
