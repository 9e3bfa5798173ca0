"""What mattered, put together: against each measure redone alone, and by hand where words are."""

from functools import partial

import numpy as np
import pytest
import torch

import jumok
from jumok.alignment.norms import contribution_norms
from jumok.data.tokenizer import END, START
from jumok.inspection.attribution import attributions_of, mean_ranks, token_groups
from jumok.inspection.gradients_and_occlusion import gradients, occlude_words, written_from
from jumok.inspection.heads.ranks import rank_correlations, ranks, spearman
from jumok.inspection.rollout import LayerWeights, decoder_flow, decoder_rollout
from jumok.inspection.sites import of_writers
from jumok.inspection.trace import Axis
from tests.inspection.traces import recorded_sites

NAMES = ["weights", "norms", "rollout", "flow", "product", "slope", "blank"]

# Three source words of pieces 0, 1-2 and 3; two words written, of pieces 1 and 2-3.
SOURCE = Axis(("▁the", "▁c", "at", "▁sat", "</s>"), (0, 1, 1, 2, None), ("the", "cat", "sat"))
TARGET = Axis(("<s>", "▁die", "▁Kat", "ze"), (None, 0, 1, 1), ("die", "Katze"))
READ, TOLD = torch.tensor([[5, 6, 7, 8, END]]), torch.tensor([[START, 9, 10, 11]])
WRITTEN = torch.tensor([9, 10, 11, END])


def read_all(model) -> torch.Tensor:
    return model.decoder(model.encode(READ), TOLD)


@pytest.fixture(scope="module")
def parts(tiny_bundle):
    model = jumok.load(tiny_bundle, device="cpu").models[0]
    sites, _ = recorded_sites(model, partial(read_all, model), of_writers())
    text = written_from(model, READ, TOLD, WRITTEN)
    return text, sites, attributions_of(text, sites, {"source": SOURCE, "target": TARGET})


def test_pieces_are_measured_one_by_one(parts):
    text, sites, found = parts
    measures = found["pieces"].measures
    assert list(measures) == NAMES
    cross = [site for site in sites if site.part == "cross"][-1]
    assert cross.layer == 2
    np.testing.assert_allclose(measures["weights"]["source"], cross.weights.mean(0), rtol=1e-5)
    np.testing.assert_allclose(measures["norms"]["source"], cross.norms, rtol=1e-5)
    layers = LayerWeights.of(sites, {})
    for name, follow in (("rollout", decoder_rollout), ("flow", decoder_flow)):
        read, known = follow(layers)
        np.testing.assert_allclose(measures[name]["source"], read)
        np.testing.assert_allclose(measures[name]["target"], known)
    for axis, each in gradients(text).items():
        np.testing.assert_allclose(measures["product"][axis], each.product, atol=1e-5)
        np.testing.assert_allclose(measures["slope"][axis], each.length, atol=1e-5)
    alone = occlude_words(
        text, {"source": [[i] for i in range(5)], "target": [[i] for i in range(4)]}
    )
    for axis, each in alone.items():
        np.testing.assert_allclose(measures["blank"][axis], each, atol=1e-5)


def test_a_word_is_its_pieces_together_and_is_written_by_their_mean(parts):
    """cat is pieces 1 and 2; Katze is written by steps 1 and 2, which read die and Kat."""
    text, _, found = parts
    pieces, words = found["pieces"].measures, found["words"].measures
    for name in NAMES[:-1]:
        matrix = pieces[name]["source"]
        assert words[name]["source"].shape == (2, 3)
        expected = (matrix[1, 1] + matrix[1, 2] + matrix[2, 1] + matrix[2, 2]) / 2
        assert words[name]["source"][1, 1] == pytest.approx(expected), name
        assert words[name]["source"][0, 2] == pytest.approx(matrix[0, 3]), name
    prefix = pieces["product"]["target"]
    assert words["product"]["target"][1, 0] == pytest.approx((prefix[1, 1] + prefix[2, 1]) / 2)
    gone = occlude_words(text, {"source": [[1, 2]]})["source"]
    assert words["blank"]["source"][1, 1] == pytest.approx(float(gone[1:3].mean()), abs=1e-5)


def test_groups_are_words_and_then_what_belongs_to_none():
    assert token_groups(SOURCE) == [[0], [1, 2], [3], [4]]
    assert token_groups(TARGET) == [[1], [2, 3], [0]]


@pytest.mark.parametrize("unit", ["pieces", "words"])
def test_ranks_are_of_what_is_shown(parts, unit):
    found = parts[2][unit]
    row = 1
    table = found.ranks[row]
    for i, first in enumerate(NAMES):
        for j, second in enumerate(NAMES):
            a, b = (np.abs(found.measures[each]["source"][row]) for each in (first, second))
            assert table[i, j] == pytest.approx(spearman(a, b))
    np.testing.assert_allclose(found.mean_ranks, np.mean(found.ranks, axis=0))


def test_a_measure_that_finds_all_alike_is_left_out_of_the_mean():
    tables = np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([[1.0, np.nan], [np.nan, np.nan]])
    np.testing.assert_allclose(mean_ranks(tables), [[1.0, 0.5], [0.5, 1.0]])


@pytest.mark.parametrize("name", ["product", "slope", "blank"])
def test_the_share_of_the_source_is_of_all_that_was_read(parts, name):
    found = parts[2]["pieces"]
    source, prefix = (np.abs(found.measures[name][axis]) for axis in ("source", "target"))
    for step in range(4):
        expected = source[step].sum() / (source[step].sum() + prefix[step, : step + 1].sum())
        assert found.shares[name][step] == pytest.approx(expected)
    assert set(found.shares) == {"product", "slope", "blank"}


def test_an_rnn_has_no_layers_to_be_followed(tiny_bundle):
    from jumok.config.recurrent import RecurrentConfig
    from jumok.models.recurrent import RecurrentModel

    torch.manual_seed(3)
    model = RecurrentModel(RecurrentConfig(dim=16, embedding=12), 31).eval()
    sites, _ = recorded_sites(model, partial(read_all, model), of_writers())
    text = written_from(model, READ, TOLD, WRITTEN)
    found = attributions_of(text, sites, {"source": SOURCE, "target": TARGET})["words"]
    assert list(found.measures) == ["weights", "norms", "product", "slope", "blank"]
    (site,) = sites
    norms = contribution_norms(torch.from_numpy(site.weights), torch.from_numpy(site.value), None)
    expected = norms[1:3, 1:3].sum() / 2
    assert found.measures["norms"]["source"][1, 1] == pytest.approx(float(expected), rel=1e-4)


def test_a_language_model_is_compared_on_what_it_has_read():
    """Its first word was written with nothing but START before it: there is nothing to rank."""
    from jumok.config.causal import CausalConfig
    from jumok.inspection.gradients_and_occlusion import written_alone
    from jumok.models.causal import CausalLanguageModel
    from jumok.tracing.adapters import AT_WHAT_WAS_WRITTEN

    torch.manual_seed(5)
    config = CausalConfig(dim=16, heads=2, layers=2, feedforward=11)
    model = CausalLanguageModel(config, 31).eval().requires_grad_(False)
    tokens = [START, 7, 9, 11, 12]
    read = torch.tensor([tokens])
    sites, _ = recorded_sites(model, lambda: model.hidden(read), AT_WHAT_WAS_WRITTEN)
    axis = Axis(("<s>", "▁die", "▁Kat", "ze", "▁ist"), (None, 0, 1, 1, 2), ("die", "Katze", "ist"))
    text = written_alone(model.decoder, model.hidden, tokens)
    found = attributions_of(text, sites, {"text": axis})
    words, pieces = found["words"], found["pieces"]
    assert (words.read, words.own, words.shares) == ("text", "text", {})
    assert list(words.measures) == NAMES
    assert words.measures["blank"]["text"].shape == (3, 3)
    assert pieces.measures["rollout"]["text"].shape == (4, 5)
    assert np.isnan(words.ranks[0]).all()
    first, second = pieces.measures["weights"]["text"][3], pieces.measures["slope"]["text"][3]
    assert pieces.ranks[3][0, 5] == pytest.approx(spearman(first[:4], second[:4]))
    before = words.measures["blank"]["text"]
    assert before[0].tolist() == [0.0, 0.0, 0.0]
    assert before[2, 1] == pytest.approx(
        float(occlude_words(text, {"text": [[2, 3]]})["text"][3, 0]), abs=1e-5
    )


def test_ranks_of_equal_values_are_their_mean():
    np.testing.assert_array_equal(ranks(np.array([0.3, 0.1, 0.3, 0.9, 0.3])), [3, 1, 3, 5, 3])


def test_spearman_is_that_of_the_formula():
    """Without ties 1 - 6 sum d^2 / n (n^2 - 1)."""
    first, second = np.array([1.0, 2.0, 3.0, 4.0, 5.0]), np.array([20.0, 10.0, 50.0, 30.0, 40.0])
    # places 2 1 5 3 4: differences 1 1 2 1 1
    assert spearman(first, second) == pytest.approx(1 - 6 * (1 + 1 + 4 + 1 + 1) / (5 * 24))
    assert spearman(first, first**3) == pytest.approx(1.0)
    assert spearman(first, -first) == pytest.approx(-1.0)


def test_a_side_without_any_order_has_no_correlation():
    assert np.isnan(spearman(np.array([1.0, 1.0, 1.0]), np.array([1.0, 2.0, 3.0])))
    assert np.isnan(spearman(np.array([1.0]), np.array([1.0])))
    assert np.isnan(spearman(np.array([]), np.array([])))


def test_spearman_is_that_of_scipy():
    stats = pytest.importorskip("scipy.stats", reason="needs SciPy")
    random = np.random.default_rng(5)
    for _ in range(20):
        first, second = random.integers(0, 6, size=(2, 11)).astype(float)
        assert spearman(first, second) == pytest.approx(stats.spearmanr(first, second).statistic)


def test_each_measure_is_compared_with_each():
    measures = [np.array([1.0, 2.0, 3.0]), np.array([3.0, 2.0, 1.0]), np.array([1.0, 3.0, 2.0])]
    expected = [[1, -1, 0.5], [-1, 1, -0.5], [0.5, -0.5, 1]]
    np.testing.assert_allclose(rank_correlations(measures), expected)
