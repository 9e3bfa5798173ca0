"""What is captured is what the model did."""

import numpy as np
import pytest
import torch

import jumok
from jumok.alignment.norms import batched_contribution_norms, contribution_norms
from jumok.config.recurrent import RecurrentConfig
from jumok.data.tokenizer import END, START
from jumok.inspection.sites import of_writers
from jumok.models.catalog import DataSizes, build
from tests.inspection.traces import recorded_sites


def test_norm_is_the_length_of_what_was_given_by_hand():
    """Weight .5 on value (3, 4) through the identity gives a vector of length 2.5."""
    weights = torch.tensor([[[0.5, 0.5]]])
    value = torch.tensor([[[3.0, 4.0], [0.0, 0.0]]])
    expected = torch.tensor([[2.5, 0.0]])
    torch.testing.assert_close(contribution_norms(weights, value, torch.eye(2)), expected)
    torch.testing.assert_close(contribution_norms(weights, value, None), expected)


def test_heads_that_say_the_opposite_give_nothing_together():
    weights = torch.ones(2, 1, 1)
    value = torch.tensor([[[1.0]], [[-1.0]]])
    assert contribution_norms(weights, value, torch.ones(1, 2)).item() == 0.0


def looked(model, source, target):
    """The sites of one parallel pass, and its log-probabilities."""

    def run():
        return model.decoder(model.encode(source), target)[0].log_softmax(-1)

    return recorded_sites(model, run, of_writers())


@pytest.fixture(scope="module")
def translator(tiny_bundle):
    return jumok.load(tiny_bundle)


def test_weights_follow_from_the_vectors_that_were_kept(translator):
    trace = jumok.trace(translator, "the cat sat", "개가 짖었다")
    for site in trace.sites:
        scores = site.query @ site.key.transpose(0, 2, 1) * site.scale
        if site.part == "decoder":
            scores = np.where(np.tri(*scores.shape[1:], dtype=bool), scores, -np.inf)
        expected = torch.from_numpy(scores).softmax(-1).numpy()
        np.testing.assert_allclose(site.weights, expected, atol=1e-5)


@pytest.mark.parametrize("attention", ["dot", "scaled-dot", "bilinear", "additive"])
def test_weights_of_an_rnn_follow_from_its_vectors(attention):
    torch.manual_seed(2)
    config = RecurrentConfig(dim=16, embedding=12, attention=attention)
    model = build(config, DataSizes(vocabulary=31)).eval()
    source, target = torch.tensor([[5, 6, 7, END]]), torch.tensor([[START, 8, 9]])
    (site,), _ = looked(model, source, target)
    assert (site.kind, site.weights.shape) == (attention, (1, 3, 4))
    if site.energy is None:
        scores = site.query @ site.key.transpose(0, 2, 1) * site.scale
    else:
        scores = np.tanh(site.query[:, :, None] + site.key[:, None]) @ site.energy
    np.testing.assert_allclose(site.weights, torch.from_numpy(scores).softmax(-1), atol=1e-5)
    given = np.linalg.norm(site.weights[0, :, :, None] * site.value[0], axis=-1)
    np.testing.assert_allclose(site.norms, given, atol=1e-5)  # nothing projects what was found


def test_norms_follow_from_weights_values_and_the_stored_projection(translator, tiny_bundle):
    """The projection is laid out anew for inference; the stored weights are read from the file."""
    from safetensors.torch import load_file

    from jumok.bundle.reading import WEIGHTS

    stored = load_file(tiny_bundle / WEIGHTS)
    trace = jumok.trace(translator, "the cat sat", "개가 짖었다")
    for site in trace.sites:
        output = stored[f"{site.name}.output.weight"].numpy()
        heads, _, dim = site.value.shape
        given = np.einsum("hkv,dhv->hkd", site.value, output.reshape(-1, heads, dim))
        expected = np.linalg.norm(np.einsum("hqk,hkd->qkd", site.weights, given), axis=-1)
        np.testing.assert_allclose(site.norms, expected, atol=1e-4)


def test_watching_changes_no_output(translator):
    model = translator.models[0]
    source, target = torch.tensor([[5, 6, 7, END]]), torch.tensor([[START, 8, 9]])
    _, watched = looked(model, source, target)
    with torch.inference_mode():
        plain = model.decoder(model.encode(source), target)[0].log_softmax(-1)
    torch.testing.assert_close(watched, plain, atol=1e-5, rtol=0)


def test_steps_are_the_scores_of_the_translation(translator):
    trace = jumok.trace(translator, "the cat sat", "개가 짖었다")
    (scored,) = translator.score(["the cat sat"], ["개가 짖었다"])
    found = [step.log_probability for step in trace.steps]
    assert found == pytest.approx(scored.token_log_probabilities, abs=1e-4)
    best = trace.steps[0].best
    assert best == tuple(sorted(best, key=lambda pair: -pair[1]))


def test_rows_and_columns_are_named(translator):
    trace = jumok.trace(translator, "the cat sat", "개가 짖었다")
    assert trace.axes["source"].texts == ("the", "cat", "sat")
    assert trace.axes["target"].texts == ("개가", "짖었다")
    assert trace.axes["source"].tokens[-1] == "</s>"
    assert trace.axes["target"].tokens[0] == "<s>"
    assert trace.axes["target"].words[0] is None
    assert trace.sites[0].weights.sum(-1) == pytest.approx(1.0, abs=1e-5)


def test_pieces_can_be_given_as_they_are(translator):
    trace = jumok.trace(translator, "the cat sat", [5, 9])
    assert trace.findings.written == (5, 9)
    with pytest.raises(jumok.JumokError, match="no such token"):
        jumok.trace(translator, "the cat sat", [5, 350])


@pytest.mark.parametrize("text", ["", "   "])
def test_a_text_that_cannot_be_looked_at_is_refused(translator, text):
    with pytest.raises(jumok.JumokError, match="cannot be traced in one pass"):
        jumok.trace(translator, text)


@pytest.mark.parametrize("projected", [True, False])
def test_norms_of_a_batch_are_those_of_its_sentences(projected):
    """The products of the heads give the lengths that the vectors themselves have."""
    torch.manual_seed(13)
    weights, value = torch.rand(2, 3, 5, 7), torch.randn(2, 3, 7, 11)
    output = torch.randn(13, 33) if projected else None
    together, apart = batched_contribution_norms(weights, value, output)
    for row in range(2):
        torch.testing.assert_close(
            together[row], contribution_norms(weights[row], value[row], output)
        )
        for head in range(3):
            only = torch.zeros(3)
            only[head] = 1.0
            alone = contribution_norms(weights[row] * only[:, None, None], value[row], output)
            torch.testing.assert_close(apart[row, head], alone)
