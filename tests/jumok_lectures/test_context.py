"""Neighbours of words and of occurrences, by hand."""

from pathlib import Path

import pytest
import torch

from jumok.systems.catalog import load
from jumok_lectures.experiments import context, homonyms
from jumok_lectures.experiments.context import Encoded, Meanings
from jumok_lectures.experiments.homonyms import Use


def test_words_of_a_kind_are_near_where_their_vectors_are() -> None:
    one, other = torch.tensor([1.0, 0.1]), torch.tensor([1.0, -0.1])
    far, further = torch.tensor([-1.0, 0.2]), torch.tensor([-1.0, 0.3])
    assert context.near({"a": [one, other], "b": [far, further]}) == 1.0
    # far is nearer to one than to other, and further to other than to far: 2 of 8 comparisons.
    assert context.near({"a": [one, far], "b": [other, further]}) == 0.25


def use(verb: str, meaning: str) -> Use:
    return Use(f"Mina {verb} the bat again", "", "bat", 3, verb, meaning, homonym=True)


def test_the_nearest_use_with_another_verb_is_asked_for_its_meaning() -> None:
    own = [use("hunted", "박쥐"), use("tamed", "박쥐"), use("repaired", "방망이")]
    own.append(use("hunted", "박쥐"))
    cosines = torch.tensor(
        [
            [1.0, 0.5, 0.2, 0.9],  # nearest of all: the same verb, which does not count
            [0.5, 1.0, 0.8, 0.1],  # nearest: the other meaning
            [0.2, 0.8, 1.0, 0.3],  # its meaning has no other verb
            [0.9, 0.6, 0.3, 1.0],
        ]
    )
    right, chance = context.nearest_alike(own, cosines)
    # 박쥐: yes, no, yes; 방망이: no. By chance 1/2, 2/3, 1/2; 0.
    assert right == pytest.approx((2 / 3 + 0) / 2)
    assert chance == pytest.approx(((1 / 2 + 2 / 3 + 1 / 2) / 3 + 0) / 2)


def test_meanings_are_told_by_states(tiny_bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The state of the noun is here that of its meaning; its other words have one of their own."""
    vectors = {"hunted": (1.0, 0.1), "tamed": (1.0, 0.0), "oiled": (-1.0, 0.1), "sold": (-1.0, 0.0)}
    monkeypatch.setattr(
        context, "states", lambda _, text: [torch.tensor(vectors[text.split()[1]])] * 5
    )
    held = [
        use("hunted", "박쥐"),
        use("tamed", "박쥐"),
        use("oiled", "방망이"),
        use("sold", "방망이"),
    ]
    model = load(tiny_bundle, device="cpu", engine="torch")
    found = context.meanings(Encoded(model.models[0], model.tokenizer), held)
    assert found == Meanings(1.0, pytest.approx(1 / 3))


def test_homonyms_have_two_meanings_and_no_verb_has_both() -> None:
    train, held = homonyms.uses()
    assert not {each.text for each in train} & {each.text for each in held}
    by_word = {
        word: {each.meaning for each in train if each.noun == word} for word in homonyms.homonyms()
    }
    assert len(by_word) == 7
    assert all(len(meanings) == 2 for meanings in by_word.values())
    told = {(each.noun, each.verb): each.meaning for each in train if each.homonym}
    for each in held:
        assert each.text.split()[each.place] == each.noun
        if each.homonym:
            assert told[each.noun, each.verb] == each.meaning
            assert each.meaning in each.korean
    assert "우리 삼촌은 다시 두루미를 쫓았다" in {each.korean for each in train + held}


def test_states_are_one_a_word_and_depend_on_the_sentence(tiny_bundle: Path) -> None:
    model = load(tiny_bundle, device="cpu", engine="torch")
    encoded = Encoded(model.models[0].eval(), model.tokenizer)
    first, second = (context.states(encoded, text) for text in ("the cat sat", "the cat barked"))
    assert len(first) == 3
    assert not torch.allclose(first[1], second[1])


def test_the_claim_has_two_halves() -> None:
    apart = {"before": [0.2, 0.21], "after": [0.8, 0.81]}

    def found(alike: float) -> dict[str, list[Meanings]]:
        return {
            "before": [Meanings(0.5, 0.5), Meanings(0.501, 0.5)],
            "after": [Meanings(alike, 0.5), Meanings(alike + 0.001, 0.5)],
        }

    right = [1.0, 1.0]
    assert context.report(apart, found(0.8), right).outcome == "holds"
    assert context.report(apart, found(0.5), right).outcome == "partly"
    same = {"before": [0.2, 0.21], "after": [0.2, 0.21]}
    assert context.report(same, found(0.5), right).outcome == "fails"
