"""What every layer would say, and how far words have moved, redone from the stored weights."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file

from jumok.bundle.reading import WEIGHTS
from jumok.config import TransformerConfig
from jumok.config.causal import CausalConfig
from jumok.inspection.hooks.listening import record_pass
from jumok.inspection.lens import (
    last_norm,
    layer_facts,
    lens_predictions,
    moved,
    output_layer_of,
)
from jumok.models.catalog import DataSizes, build
from jumok.tracing.catalog import load_family
from jumok.tracing.request import NOTHING, Analyses

ONLY_LAYERS = Analyses(ablation=False, attribution=False, search_tree=False)


@pytest.fixture(scope="module")
def trace(tiny_bundle):
    family = load_family(tiny_bundle, device="cpu")
    return family.trace("the cat sat", "개가 짖었다", level="full", extras=ONLY_LAYERS)


def test_after_the_last_layer_the_prediction_is_the_models_own(trace):
    stack = trace.findings.layers.stacks["decoder"]
    for step, best, written in zip(trace.steps, stack.best[-1], stack.written[-1], strict=True):
        assert [piece for piece, _ in best] == [piece for piece, _ in step.best]
        expected = np.exp([value for _, value in step.best])
        np.testing.assert_allclose([value for _, value in best], expected, atol=2e-5)
        assert written == pytest.approx(np.exp(step.log_probability), abs=2e-5)


def test_every_layer_is_read_by_the_last_norm_and_the_output_matrix(trace, tiny_bundle):
    stored = load_file(tiny_bundle / WEIGHTS)
    last = "decoder.blocks.2.after_feedforward.norm"
    table = stored["encoder.embedding.table"]  # tied: the output matrix, too
    stream = torch.from_numpy(trace.streams["decoder"])
    normed = F.layer_norm(stream, (24,), stored[f"{last}.weight"], stored[f"{last}.bias"])
    expected = (normed @ table.T).softmax(-1)
    stack = trace.findings.layers.stacks["decoder"]
    assert stack.read == "pre"
    assert np.array(stack.written).shape == (4, len(trace.steps))
    for layer in range(4):
        for place, token in enumerate([*trace.findings.written, 3]):
            assert stack.written[layer][place] == pytest.approx(
                float(expected[layer, place, token]), abs=2e-5
            )
            values = [value for _, value in stack.best[layer][place]]
            np.testing.assert_allclose(values, expected[layer, place].topk(5).values, atol=2e-5)


def test_words_are_compared_with_their_own_row_of_the_table(trace, tiny_bundle):
    stored = load_file(tiny_bundle / WEIGHTS)
    ids = load_family(tiny_bundle, device="cpu").trace.args[0].tokenizer.encode("the cat sat")
    rows = stored["encoder.embedding.table"][[*ids, 3]]
    expected = F.cosine_similarity(torch.from_numpy(trace.streams["encoder"]), rows[None], dim=-1)
    found = trace.findings.layers.stacks["encoder"].moved
    np.testing.assert_allclose(found, expected, atol=2e-5)


def test_a_post_norm_model_is_read_without_another_norm():
    """Its last layer has been through its own; the output matrix reads that."""
    torch.manual_seed(5)
    config = CausalConfig(dim=12, heads=2, layers=2, feedforward=17, max_length=19, norm="post")
    model = build(config, DataSizes(vocabulary=23)).eval()
    tokens = torch.tensor([[2, 5, 7, 11]])
    recorded, hidden = record_pass(model, lambda: model.hidden(tokens), "full")
    with torch.inference_mode():
        logits = model.decoder.logits(hidden)[0]
    streams = recorded.decoder[0].streams_of(0, 4)
    facts = layer_facts(model, recorded, streams, [5, 7, 11], lambda ids: list(map(str, ids)))
    assert facts["decoder"].read == "post"
    expected = logits.softmax(-1)[range(3), [5, 7, 11]]
    np.testing.assert_allclose(facts["decoder"].written[-1], expected, atol=2e-5)
    assert facts["decoder"].best[-1][0][0][0] == str(int(logits[0].argmax()))


def test_an_encoder_predicts_nothing():
    torch.manual_seed(5)
    sizes = TransformerConfig(
        dim=12, heads=2, encoder_layers=1, decoder_layers=1, feedforward=17, max_length=19
    )
    model = build(sizes, DataSizes(vocabulary=23))
    assert output_layer_of(model, "encoder") is None
    assert output_layer_of(model, "decoder") is not None
    assert last_norm(model, "decoder") is model.decoder.blocks[0].after_feedforward.norm


def test_guesses_by_hand():
    """Two tokens, the identity as output: the softmax of (1, 0) is .731, .269."""
    stream = torch.tensor([[[1.0, 0.0]], [[0.0, 1.0]]])
    found = lens_predictions(lambda states: states, torch.nn.Identity(), stream, [0])
    assert found.tokens.tolist() == [[[0, 1]], [[1, 0]]]
    torch.testing.assert_close(found.written, torch.tensor([[0.731059], [0.268941]]))
    torch.testing.assert_close(found.probabilities[0, 0], torch.tensor([0.731059, 0.268941]))


def test_moved_is_the_cosine_by_hand():
    stream = torch.tensor([[[3.0, 4.0]], [[0.0, 2.0]]])
    torch.testing.assert_close(
        moved(stream, torch.tensor([[1.0, 0.0]])), torch.tensor([[0.6], [0.0]])
    )


def test_nobody_who_does_not_ask_pays(tiny_bundle):
    family = load_family(tiny_bundle, device="cpu")
    bare = family.trace("the cat sat", "개가", extras=NOTHING)
    assert bare.findings.layers is None
    assert not bare.streams
    asked = family.trace("the cat sat", "개가", level="weights", extras=ONLY_LAYERS)
    assert not asked.streams
    assert all(site.query is None for site in asked.sites)
