"""The causal language model with the parts of Llama, against Hugging Face on the same weights."""

import math

import pytest
import torch
from torch import nn
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from jumok.config.causal import CausalConfig
from jumok.decoding import DecodingOptions, decode
from jumok.models.causal import CausalLanguageModel
from tests.parity.torch_weights import residuals, roughen

VOCABULARY, HEADS, LAYERS, CONTEXT, INNER, BASE, EPSILON = 37, 4, 3, 19, 53, 5e3, 1e-6
WINDOW = 5
SIZES = [(24, 6, 4), (24, 6, 2), (64, 16, 4), (64, 16, 1)]  # dim, head_dim, kv_heads
every_size = pytest.mark.parametrize(("dim", "head_dim", "kv_heads"), SIZES)


def shape(dim: int, head_dim: int, kv_heads: int) -> dict:
    return {
        "vocab_size": VOCABULARY,
        "hidden_size": dim,
        "intermediate_size": INNER,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": kv_heads,
        "head_dim": head_dim,
        "max_position_embeddings": CONTEXT,
        "rms_norm_eps": EPSILON,
        "rope_theta": BASE,
        "tie_word_embeddings": False,
        "bos_token_id": 2,
        "eos_token_id": 3,
        "pad_token_id": 0,
    }


def llama(dim: int, head_dim: int, kv_heads: int) -> LlamaForCausalLM:
    torch.manual_seed(1)
    return roughen(LlamaForCausalLM(LlamaConfig(**shape(dim, head_dim, kv_heads)))).eval()


def qwen(dim: int, head_dim: int, kv_heads: int) -> Qwen3ForCausalLM:
    """Llama with norms of queries and keys."""
    torch.manual_seed(1)
    return roughen(Qwen3ForCausalLM(Qwen3Config(**shape(dim, head_dim, kv_heads)))).eval()


def mistral(dim: int, head_dim: int, kv_heads: int) -> MistralForCausalLM:
    """Llama with a window."""
    torch.manual_seed(1)
    config = MistralConfig(**shape(dim, head_dim, kv_heads), sliding_window=WINDOW)
    return roughen(MistralForCausalLM(config)).eval()


def mixed(dim: int, head_dim: int, kv_heads: int) -> Qwen3ForCausalLM:
    """The last of three layers sees everything."""
    torch.manual_seed(1)
    layers = {"use_sliding_window": True, "sliding_window": WINDOW}
    kinds = {"layer_types": ["sliding_attention", "sliding_attention", "full_attention"]}
    config = Qwen3Config(**shape(dim, head_dim, kv_heads), **layers, **kinds)
    return roughen(Qwen3ForCausalLM(config)).eval()


def windows_of(theirs: nn.Module) -> dict:
    """The keys of our recipes for what their layers see."""
    size = getattr(theirs.config, "sliding_window", None)
    if size is None:
        return {}
    kinds = getattr(theirs.config, "layer_types", ["sliding_attention"])
    names = {"full_attention": "whole", "sliding_attention": "window"}
    return {"window": size, "window_layers": [names[kind] for kind in kinds]}


def pairs_together(rows: torch.Tensor, head_dim: int) -> torch.Tensor:
    """Theirs rotates element i of a head with i + head_dim / 2, ours with its neighbour."""
    halves = rows.unflatten(0, (-1, 2, head_dim // 2))
    return halves.transpose(1, 2).flatten(0, 2)


@torch.no_grad()
def ours_from(theirs: nn.Module, dim: int, head_dim: int, kv_heads: int) -> CausalLanguageModel:
    """Theirs does not scale the embedding: our table shrinks by sqrt(dim)."""
    normed = isinstance(theirs, Qwen3ForCausalLM)
    config = CausalConfig(
        dim=dim,
        heads=HEADS,
        head_dim=head_dim,
        kv_heads=kv_heads,
        layers=LAYERS,
        feedforward=INNER,
        feedforward_kind="gated",
        activation="silu",
        bias=False,
        norm_kind="rms",
        norm_epsilon=EPSILON,
        process_heads=("qk-norm",) if normed else (),
        positions="rotary",
        rotary_base=BASE,
        max_length=CONTEXT,
        dropout=0.0,
        tied=False,
        **windows_of(theirs),
    )
    model = CausalLanguageModel(config, VOCABULARY).eval()
    decoder, body, norms = model.decoder, theirs.model, []
    decoder.embedding.table.copy_(body.embed_tokens.weight / math.sqrt(dim))
    decoder.output.weight.copy_(theirs.lm_head.weight)
    for block, layer in zip(decoder.blocks, body.layers, strict=True):
        attention, looks = block.self_attention, layer.self_attn
        attention.query.weight.copy_(pairs_together(looks.q_proj.weight, head_dim))
        attention.key.weight.copy_(pairs_together(looks.k_proj.weight, head_dim))
        attention.value.weight.copy_(looks.v_proj.weight)
        attention.output.weight.copy_(looks.o_proj.weight)
        block.feedforward.gate.weight.copy_(layer.mlp.gate_proj.weight)
        block.feedforward.inner.weight.copy_(layer.mlp.up_proj.weight)
        block.feedforward.outer.weight.copy_(layer.mlp.down_proj.weight)
        norms += [layer.input_layernorm, layer.post_attention_layernorm]
        if normed:
            query, key = attention.process_queries[0], attention.process_keys[0]
            query.weight.copy_(pairs_together(looks.q_norm.weight, head_dim))
            key.weight.copy_(pairs_together(looks.k_norm.weight, head_dim))
    places = [decoder.first_norm, *(after.norm for after in residuals(decoder.blocks))]
    for place, norm in zip(places, [*norms, body.norm], strict=True):
        place.weight.copy_(norm.weight)
    assert sum(p.numel() for p in model.parameters()) == sum(p.numel() for p in theirs.parameters())
    return model


@every_size
@pytest.mark.parametrize("family", [llama, qwen, mistral, mixed])
@torch.inference_mode()
def test_logits_are_those_of_hugging_face(family, dim, head_dim, kv_heads):
    theirs = family(dim, head_dim, kv_heads)
    model = ours_from(theirs, dim, head_dim, kv_heads)
    tokens = torch.randint(0, VOCABULARY, (5, CONTEXT))
    found = model.decoder.logits(model.hidden(tokens))
    torch.testing.assert_close(found, theirs(tokens).logits, atol=1e-5, rtol=0)


@every_size
@pytest.mark.parametrize("family", [llama, qwen, mistral, mixed])
@torch.inference_mode()
def test_greedy_text_with_the_cache_is_that_of_hugging_face(family, dim, head_dim, kv_heads):
    theirs = family(dim, head_dim, kv_heads)
    model = ours_from(theirs, dim, head_dim, kv_heads)
    prompt = [7, 11, 13]
    options = DecodingOptions(beam=1, maximum_length=CONTEXT - 2)
    found = decode(model.decoder, model.nothing(), options, [prompt])[0][0]
    expected = theirs.generate(
        torch.tensor([[2, *prompt]]),
        max_length=CONTEXT - 1,
        do_sample=False,
        suppress_tokens=[0, 2],
    )[0].tolist()
    assert [2, *found.tokens] == expected[: len(found.tokens) + 1]
    assert len(found.tokens) > len(prompt)


@every_size
@torch.inference_mode()
def test_the_cache_holds_the_heads_of_keys_only(dim, head_dim, kv_heads):
    model = ours_from(llama(dim, head_dim, kv_heads), dim, head_dim, kv_heads)
    state = model.decoder.start(model.nothing(2))
    _, state = model.decoder.step(torch.tensor([5, 6]), state)
    key, value = (state.blocks[0].past._key, state.blocks[0].past._value)
    assert key.shape[1:] == value.shape[1:] == (2, kv_heads, head_dim)
