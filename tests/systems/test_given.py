"""One text, or something that is no text, where a list of texts is expected."""

from collections.abc import Callable
from typing import Any

import jaxtyping
import pytest

import jumok
from jumok.errors import DataError
from tests.systems.lm import write_lm
from tests.systems.pictures import write_captioner
from tests.systems.untrained import write_classifier, write_masked, write_text_classifier

VERBS: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "translate": ("translation", lambda system, given: system.translate(given)),
    "score sources": ("translation", lambda system, given: system.score(given, ["a"])),
    "score targets": ("translation", lambda system, given: system.score(["a"], given)),
    "vectors": ("translation", lambda system, given: system.sentence_vectors(given)),
    "score": ("lm", lambda system, given: system.score(given)),
    "fill": ("masked", lambda system, given: system.fill(given)),
    "vectors of masked": ("masked", lambda system, given: system.sentence_vectors(given)),
    "classify": ("texts", lambda system, given: system.classify(given)),
    "probabilities": ("texts", lambda system, given: system.probabilities(given)),
    "captions": ("captions", lambda system, given: system.look([], given)),
}


@pytest.fixture(autouse=True)
def types_are_not_executed():
    """As for a user: in the tests the wrong types would be refused by their annotations."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture(scope="module")
def systems(tmp_path_factory, tiny_bundle) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("given")
    return {
        "translation": jumok.load(tiny_bundle, device="cpu"),
        "lm": jumok.load(write_lm(folder / "lm"), device="cpu"),
        "masked": jumok.load(write_masked(folder / "masked"), device="cpu"),
        "texts": jumok.load(write_text_classifier(folder / "texts"), device="cpu"),
        "captions": jumok.load(write_captioner(folder / "captions"), device="cpu"),
        "pictures": jumok.load(write_classifier(folder / "pictures"), device="cpu"),
    }


@pytest.mark.parametrize("given", ["The cat saw a dog.", b"The cat saw a dog."])
@pytest.mark.parametrize("verb", VERBS)
def test_one_text_is_not_a_list_of_its_letters(systems, verb, given):
    system, call = VERBS[verb]
    with pytest.raises(DataError) as caught:
        call(systems[system], given)
    assert "one text was given where a list of" in str(caught.value)
    assert f"[{given!r}]" in str(caught.value)
    assert "put it into a list" in str(caught.value)


@pytest.mark.parametrize("item", [None, 7, b"cat", ["the cat"]])
@pytest.mark.parametrize("verb", VERBS)
def test_what_is_no_text_is_named(systems, verb, item):
    system, call = VERBS[verb]
    with pytest.raises(DataError) as caught:
        call(systems[system], ["a", item])
    assert "number 2 of the" in str(caught.value)
    assert repr(item) in str(caught.value)


@pytest.mark.parametrize("given", [None, 7, ["the cat"], b"cat"])
def test_a_prompt_and_a_sentence_are_texts(systems, given):
    with pytest.raises(DataError, match="the prompt is not a text"):
        systems["lm"].generate(given)
    with pytest.raises(DataError, match="the source is not a text"):
        systems["translation"].attention(given, "a")
    with pytest.raises(DataError, match="the text is not a text"):
        systems["masked"].word_vectors(given)


def test_one_picture_is_not_a_list(systems, tmp_path):
    for given in ("cat.png", tmp_path / "cat.png"):
        for call in (systems["captions"].caption, systems["pictures"].classify):
            with pytest.raises(DataError, match="one image was given"):
                call(given)


def test_an_iterator_of_texts_will_do(systems):
    system = systems["translation"]
    texts = ["the cat sat", "a student"]
    assert system.translate(iter(texts)) == system.translate(texts)
