"""States of many texts, and what a linear probe reads in them."""

from itertools import islice

import numpy as np
import pytest

import jumok
from jumok.errors import ModelError
from smallworld.corpus import pairs
from tests.systems.lm import write_lm
from tests.systems.pictures import write_captioner
from tests.systems.test_ordinary_module import recurrent, transformer
from tests.systems.untrained import write_masked, write_text_classifier

TEXTS = ["the cat sat on the mat", "the dog", "a cat and the dog barked at the cat"]


@pytest.fixture(scope="module")
def translator(tiny_bundle) -> jumok.Translator:
    return jumok.load(tiny_bundle, kind=jumok.Translator, device="cpu")


@pytest.mark.parametrize("layer", [0, 1])
def test_states_are_those_of_each_text_alone_in_their_order(translator, layer):
    states = jumok.states_of(translator, TEXTS, layer)
    wanted = [jumok.trace(translator, text, level="full") for text in TEXTS]
    vectors = np.concatenate([each.streams["encoder"][layer] for each in wanted])
    np.testing.assert_allclose(states.vectors, vectors, atol=1e-5)
    axes = [each.axes["source"] for each in wanted]
    assert states.tokens == [token for axis in axes for token in axis.tokens]
    assert states.text.tolist() == [i for i, axis in enumerate(axes) for _ in axis.tokens]
    assert states.position.tolist() == [i for axis in axes for i in range(len(axis.tokens))]
    words = [-1 if word is None else word for axis in axes for word in axis.words]
    assert states.word.tolist() == words


KINDS = {
    "masked": (write_masked, "encoder"),
    "texts": (write_text_classifier, "encoder"),
    "language model": (write_lm, "decoder"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_that_reads_texts_has_states(kind, tmp_path):
    write, stack = KINDS[kind]
    system = jumok.load(write(tmp_path / "model"), device="cpu")
    texts = ["the c", "dog", "a"]  # of 7 bytes at most, which the language model reads at once
    states = jumok.states_of(system, texts, 1, batch_size=2)
    for number, text in enumerate(texts):
        target = "" if stack == "decoder" else None
        trace = record(system, text) if target == "" else jumok.trace(system, text, level="full")
        rows = states.text == number
        wanted = trace.streams[stack][1]
        np.testing.assert_allclose(states.vectors[rows], wanted[: rows.sum()], atol=1e-5)
        tokens = [token for token, row in zip(states.tokens, rows, strict=True) if row]
        assert tokens == list(trace.axes["text"].tokens)[: len(tokens)]
        assert len(tokens) > len(text) - 2 if stack == "decoder" else tokens[-1] == "</s>"


def record(system: object, text: str) -> jumok.Trace:
    with jumok.record(system, level="full") as recording:
        system.score([text])
    trace = recording.trace
    return trace


def test_a_long_text_is_read_in_parts_that_keep_its_number(tmp_path):
    system = jumok.load(write_lm(tmp_path / "model"), device="cpu")
    states = jumok.states_of(system, ["a" * 20, "b"], 0)
    assert set(states.text.tolist()) == {0, 1}
    assert (np.diff(states.text) >= 0).all()
    assert states.position.max() < 8
    assert (states.word == -1).sum() == 2  # a START for each text


def test_a_linear_probe_reads_positions_that_tokens_do_not_tell(tmp_path):
    """On sentences of the small world: the states know the position, the tokens hardly."""
    system = jumok.load(transformer(tmp_path / "model", dim=96), kind=jumok.Translator)
    train, test = ([each.source for each in islice(pairs(of), 300)] for of in ("train", "test"))
    known, new = (jumok.states_of(system, texts, 1) for texts in (train, test))

    def explained(vectors: np.ndarray, others: np.ndarray, wanted: np.ndarray) -> float:
        """The share of the variance of unseen sentences' positions (R squared)."""
        probe, *_ = np.linalg.lstsq(np.c_[vectors, np.ones(len(vectors))], wanted, rcond=None)
        missed = np.c_[others, np.ones(len(others))] @ probe - new.position
        return 1 - (missed**2).mean() / new.position.var()

    assert explained(known.vectors, new.vectors, known.position) > 0.8
    table = system.models[0].encoder.embedding.table.detach().numpy()
    names = system.tokenizer.pieces(range(system.tokenizer.size))
    tokens = [table[list(map(names.index, each.tokens))] for each in (known, new)]
    assert explained(*tokens, known.position) < 0.5
    shuffled = np.random.default_rng(1).permutation(known.position)
    assert explained(known.vectors, new.vectors, shuffled) < 0.1


def test_what_has_no_states_is_refused(tmp_path):
    captioner = jumok.load(write_captioner(tmp_path / "captioner"), device="cpu")
    with pytest.raises(ModelError) as error:
        jumok.states_of(captioner, ["a"], 1)
    assert str(error.value) == (
        "this kind of model has no states of texts.\n"
        "  expected: a translator, a language model, a masked model or a text classifier\n"
        "  got:      Captioner"
    )
    rnn = jumok.load(recurrent(tmp_path / "rnn", attention="dot", order="luong"), device="cpu")
    with pytest.raises(ModelError, match="no residual stream"):
        jumok.states_of(rnn, ["a"], 1)


@pytest.mark.parametrize("layer", [-1, 2])
def test_a_layer_that_is_not_there_is_refused(translator, layer):
    told = rf"no such layer\.\n  expected: 0 \(the embedding\) to 1\n  got:      {layer}"
    with pytest.raises(ModelError, match=told):
        jumok.states_of(translator, ["a"], layer)


def test_no_texts_have_no_states(translator):
    for texts in ([], ["", " "]):
        states = jumok.states_of(translator, texts, 1)
        assert (len(states.vectors), states.tokens) == (0, [])
