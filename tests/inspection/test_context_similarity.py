"""One word in two sentences: cosines by hand, and from the streams of a model."""

import numpy as np
import pytest

from jumok.inspection.trace import Axis
from jumok.tracing.catalog import load_family
from jumok.tracing.comparison import context_similarity, cosines_of, word_vectors
from jumok.tracing.request import NOTHING
from tests.systems.pictures import READER, write_captioner, write_noise


def test_the_vector_of_a_word_is_the_mean_of_its_pieces():
    axis = Axis(("<s>", "a", "b", "c"), (None, 0, 0, 1), ("ab", "c"))
    stream = np.array([[[9, 9], [1, 3], [3, 5], [7, 7]]], dtype=np.float32)
    np.testing.assert_array_equal(word_vectors(stream, axis), [[[2, 4], [7, 7]]])


def test_cosines_by_hand():
    one = np.array([[[3, 4], [0, 2]]], dtype=np.float32)
    other = np.array([[[1, 0]]], dtype=np.float32)
    np.testing.assert_allclose(cosines_of(one, other), [[[0.6], [0.0]]], atol=1e-6)


def test_the_same_word_is_the_same_before_the_first_layer_but_for_its_place(tiny_bundle):
    """In one sentence and itself every word is itself in every layer."""
    family = load_family(tiny_bundle, device="cpu")

    def traced(text):
        return family.trace(text, "개가", level="full", extras=NOTHING)

    one, other = traced("the cat sat"), traced("the cat sat on the mat")
    whole = context_similarity(one, one)["encoder"]
    assert whole.axis == "source"
    for layer in whole.cosines:
        np.testing.assert_allclose(np.diag(layer), 1.0, atol=1e-4)
    two = context_similarity(one, other)["encoder"]
    assert np.array(two.cosines).shape == (2, 3, 6)
    assert two.cosines[0][1][1] == pytest.approx(1.0, abs=1e-4), "cat, at the same place"
    assert two.cosines[0][0][4] < 0.999, "the, at another place"
    last = [word_vectors(each.streams["encoder"], each.axes["source"])[-1] for each in (one, other)]
    unequal = [
        float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))
        for a, text in zip(last[0], one.axes["source"].texts, strict=True)
        for b, again in zip(last[1], other.axes["source"].texts, strict=True)
        if text != again
    ]
    assert two.different[-1] == pytest.approx(np.mean(unequal), abs=1e-4)


def test_without_streams_there_is_nothing_to_compare(tiny_bundle):
    trace = load_family(tiny_bundle, device="cpu").trace("the cat", "개가", extras=NOTHING)
    assert context_similarity(trace, trace) == {}


def test_the_cells_of_an_image_are_not_compared_as_words(tmp_path):
    """The blocks that read cells have a residual stream, too."""
    family = load_family(write_captioner(tmp_path / "model", reader=READER), device="cpu")
    picture = str(write_noise(tmp_path / "noise.png"))
    trace = family.trace(picture, "the cat", level="full", extras=NOTHING)
    assert set(trace.streams) == {"reader", "decoder"}
    assert set(context_similarity(trace, trace)) == {"decoder"}
