"""The causal language model against Hugging Face's GPT-2 with the same random weights."""

import math

import torch
from transformers import GPT2Config, GPT2LMHeadModel

from jumok.config.causal import CausalConfig
from jumok.decoding import DecodingOptions, decode
from jumok.models.causal import CausalLanguageModel
from tests.parity.torch_weights import copy_linear, residuals, roughen

VOCABULARY, DIM, HEADS, LAYERS, CONTEXT, INNER = 37, 24, 3, 2, 19, 53


def theirs() -> GPT2LMHeadModel:
    torch.manual_seed(1)
    config = GPT2Config(
        vocab_size=VOCABULARY,
        n_positions=CONTEXT,
        n_embd=DIM,
        n_layer=LAYERS,
        n_head=HEADS,
        n_inner=INNER,
        activation_function="gelu",
        bos_token_id=2,
        eos_token_id=3,
        pad_token_id=0,
    )
    return roughen(GPT2LMHeadModel(config)).eval()


@torch.no_grad()
def ours_from(gpt2: GPT2LMHeadModel) -> CausalLanguageModel:
    """GPT-2 does not scale its embedding: the tied table shrinks by sqrt(dim), and so that the
    logits stay what they are, the last norm grows by it."""
    config = CausalConfig(
        dim=DIM,
        heads=HEADS,
        layers=LAYERS,
        feedforward=INNER,
        positions="learned",
        max_length=CONTEXT,
        dropout=0.0,
    )
    model = CausalLanguageModel(config, VOCABULARY).eval()
    decoder, body = model.decoder, gpt2.transformer
    decoder.embedding.table.copy_(body.wte.weight / math.sqrt(DIM))
    decoder.embedding.positions.encoding.table.copy_(body.wpe.weight)
    norms = []
    for block, layer in zip(decoder.blocks, body.h, strict=True):
        attention = block.self_attention
        weights = layer.attn.c_attn.weight.t().chunk(3)
        biases = layer.attn.c_attn.bias.chunk(3)
        parts = (attention.query, attention.key, attention.value)
        for part, weight, bias in zip(parts, weights, biases, strict=True):
            part.weight.copy_(weight)
            part.bias.copy_(bias)
        for part, conv in (
            (attention.output, layer.attn.c_proj),
            (block.feedforward.inner, layer.mlp.c_fc),
            (block.feedforward.outer, layer.mlp.c_proj),
        ):
            part.weight.copy_(conv.weight.t())
            part.bias.copy_(conv.bias)
        norms += [layer.ln_1, layer.ln_2]
    places = [decoder.first_norm, *(after.norm for after in residuals(decoder.blocks))]
    for place, norm in zip(places, [*norms, body.ln_f], strict=True):
        copy_linear(place, norm)
    places[-1].weight.mul_(math.sqrt(DIM))
    places[-1].bias.mul_(math.sqrt(DIM))
    return model


@torch.inference_mode()
def test_logits_are_those_of_gpt2():
    gpt2 = theirs()
    model = ours_from(gpt2)
    tokens = torch.randint(0, VOCABULARY, (5, CONTEXT))
    expected = gpt2(tokens).logits
    found = model.decoder.logits(model.hidden(tokens))
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=0)


@torch.inference_mode()
def test_greedy_text_is_that_of_gpt2():
    gpt2 = theirs()
    model = ours_from(gpt2)
    prompt = [7, 11, 13]
    options = DecodingOptions(beam=1, maximum_length=CONTEXT - 2)
    found = decode(model.decoder, model.nothing(), options, [prompt])[0][0]
    expected = gpt2.generate(
        torch.tensor([[2, *prompt]]),
        max_length=CONTEXT - 1,
        do_sample=False,
        suppress_tokens=[0, 2],
    )[0].tolist()
    assert [2, *found.tokens] == expected[: len(found.tokens) + 1]
    assert len(found.tokens) > len(prompt)
