"""The whole model against Hugging Face's Marian on the same random weights."""

import pytest
import torch
from transformers import MarianMTModel

from jumok.decoding.limits import Limits
from jumok.decoding.rank import Ranker, power_length_penalty
from jumok.models.encoder_decoder import Transformer
from tests.decoding.searches import beam_search, greedy
from tests.parity.marian import END, PAD, START, random_marian, same_weights

ALLOWED = torch.arange(11) < torch.tensor([[11], [7], [3], [9], [2]])
SOURCE = (torch.arange(55).view(5, 11) * 17 % 37 + 5).masked_fill(~ALLOWED, PAD)
TARGET = torch.cat([torch.full((5, 1), START), torch.arange(30).view(5, 6) * 13 % 37 + 5], 1)
MOST = 13

MODELS = {
    "torch": (30, 5, "relu"),
    "kernels": (48, 3, "relu"),
    "gelu": (48, 3, "gelu"),
}


@pytest.fixture(scope="module", params=MODELS)
def models(request) -> tuple[MarianMTModel, Transformer]:
    marian = random_marian(*MODELS[request.param])
    return marian, same_weights(marian)


@torch.no_grad()
def test_memory_is_marians(models):
    marian, ours = models
    expected = marian.model.encoder(SOURCE, ALLOWED.long()).last_hidden_state
    found = ours.encode(SOURCE, ALLOWED).states
    dim = found.shape[2]
    by_halves = torch.cat([found[..., 0::2], found[..., 1::2]], -1)
    torch.testing.assert_close(by_halves[ALLOWED], expected[ALLOWED], atol=1e-5, rtol=0)
    assert dim == marian.config.d_model


@torch.no_grad()
def test_logits_are_marians(models):
    marian, ours = models
    expected = marian(SOURCE, attention_mask=ALLOWED.long(), decoder_input_ids=TARGET).logits
    found = ours.decoder(ours.encode(SOURCE, ALLOWED), TARGET)
    assert float(expected.std()) > 0.5  # logits of zero would agree as well
    limit = 1e-5 * max(1.0, float(expected.abs().max()))
    torch.testing.assert_close(found, expected, atol=limit, rtol=0)


def test_gradients_are_marians(models):
    marian, ours = models
    marian.zero_grad()
    ours.zero_grad()
    labels = torch.cat([TARGET[:, 1:], torch.full((5, 1), END)], 1)
    theirs = marian(SOURCE, attention_mask=ALLOWED.long(), decoder_input_ids=TARGET, labels=labels)
    theirs.loss.backward()
    logits = ours.decoder(ours.encode(SOURCE, ALLOWED), TARGET)
    torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten()).backward()
    expected = marian.model.shared.weight.grad.norm()
    torch.testing.assert_close(
        ours.decoder.embedding.table.grad.norm(), expected, rtol=1e-4, atol=0
    )
    first = marian.model.encoder.layers[0].self_attn.v_proj.bias.grad
    mine = ours.encoder.blocks[0].self_attention.value.bias.grad
    torch.testing.assert_close(mine, first, rtol=0, atol=1e-5)


def written(sequence: list[int]) -> tuple[int, ...]:
    """Without START, END and what follows."""
    return tuple(sequence[1 : sequence.index(END) if END in sequence else MOST + 1])


def generate(marian: MarianMTModel, **options: object) -> torch.Tensor:
    return marian.generate(
        SOURCE,
        attention_mask=ALLOWED.long(),
        max_length=MOST + 2,
        bad_words_ids=[[PAD], [START]],
        do_sample=False,
        return_dict_in_generate=True,
        output_scores=True,
        **options,
    )


def test_greedy_decoding_is_marians(models):
    marian, ours = models
    with torch.inference_mode():
        memory = ours.encode(SOURCE, ALLOWED)
        found = greedy(ours.decoder, memory, Limits(maximum_length=MOST))
    expected = generate(marian, num_beams=1).sequences.tolist()
    assert [hypothesis.tokens for hypothesis in found] == [written(row) for row in expected]
    assert len({hypothesis.tokens for hypothesis in found}) > 2


@pytest.mark.parametrize("beam", [2, 5])
def test_beam_search_is_marians(models, beam):
    """Where all hypotheses end: Hugging Face ranks those cut at the maximum with the rest."""
    marian, ours = models
    theirs = generate(
        marian, num_beams=beam, num_return_sequences=beam, length_penalty=1.0, early_stopping=True
    )
    with torch.inference_mode():
        memory = ours.encode(SOURCE, ALLOWED)
        ranker = Ranker(power_length_penalty(1.0))
        limits = Limits(maximum_length=MOST)
        found = beam_search(ours.decoder, memory, beam, limits, ranker, nbest=beam)
    compared = 0
    for row, hypotheses in enumerate(found):
        if not all(hypothesis.finished for hypothesis in hypotheses):
            continue
        compared += 1
        rows = range(row * beam, (row + 1) * beam)
        expected = [written(theirs.sequences[i].tolist()) for i in rows]
        assert [hypothesis.tokens for hypothesis in hypotheses] == expected
        scores = [float(theirs.sequences_scores[i]) for i in rows]
        assert [hypothesis.score for hypothesis in hypotheses] == pytest.approx(scores, abs=1e-4)
    assert compared
