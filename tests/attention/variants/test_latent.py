"""Latent attention against Hugging Face's DeepSeek-V2, its two forms, and its cache."""

import pytest
import torch
from transformers import DeepseekV2Config
from transformers.models.deepseek_v2.modeling_deepseek_v2 import (
    DeepseekV2Attention,
    DeepseekV2RotaryEmbedding,
)

from jumok.attention.interfaces import HeadParts
from jumok.attention.masks import AttentionMask
from jumok.attention.observe import Attention, observe
from jumok.attention.role import Role
from jumok.attention.variants.latent import LatentAttention
from jumok.config.causal import CausalConfig
from jumok.errors import ConfigError
from jumok.kernels.noise import Noise
from jumok.models.causal import CausalLanguageModel
from jumok.positions.rotary import RotaryPositions
from jumok.specs import AttentionSizes
from tests.kernels.twins import assert_same_gradients
from tests.parity.torch_weights import roughen

DIM, HEADS, FIXED, TURNED, VALUE, LATENT = 18, 3, 10, 6, 7, 12
every_compression = pytest.mark.parametrize("compressed", [0, 5])


@torch.no_grad()
def both(compressed: int) -> tuple[LatentAttention, DeepseekV2Attention, DeepseekV2Config]:
    torch.manual_seed(1)
    config = DeepseekV2Config(
        hidden_size=DIM,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        q_lora_rank=compressed or None,
        kv_lora_rank=LATENT,
        qk_nope_head_dim=FIXED,
        qk_rope_head_dim=TURNED,
        v_head_dim=VALUE,
        rope_theta=500.0,
        attn_implementation="eager",
    )
    theirs = roughen(DeepseekV2Attention(config, 0)).eval()
    sizes = AttentionSizes(
        DIM, HEADS, HEADS, FIXED + TURNED, VALUE, False, 1e-6, LATENT, compressed, TURNED
    )
    turn = [RotaryPositions(TURNED, 500.0)]
    parts = HeadParts(process_queries=turn, process_keys=turn)
    ours = LatentAttention.of(sizes, parts, Noise(), 0.0, Role("decoder")).eval()
    if compressed:
        ours.compress_query[0].weight.copy_(theirs.q_a_proj.weight)
        ours.compress_query[1].weight.copy_(theirs.q_a_layernorm.weight)
        ours.query.weight.copy_(theirs.q_b_proj.weight)
    else:
        ours.query.weight.copy_(theirs.q_proj.weight)
    ours.compress.weight.copy_(theirs.kv_a_proj_with_mqa.weight)
    ours.norm.weight.copy_(theirs.kv_a_layernorm.weight)
    made = theirs.kv_b_proj.weight.unflatten(0, (HEADS, FIXED + VALUE))
    ours.key.weight.copy_(made[:, :FIXED].flatten(0, 1))
    ours.value.weight.copy_(made[:, FIXED:].flatten(0, 1))
    ours.output.weight.copy_(theirs.o_proj.weight)
    return ours, theirs, config


@every_compression
def test_outputs_and_weights_are_those_of_deepseek(compressed):
    ours, theirs, config = both(compressed)
    states, heard = torch.randn(2, 7, DIM), []
    turns = DeepseekV2RotaryEmbedding(config)(states, torch.arange(7)[None])
    allowed = AttentionMask(causal=True)
    drawn = allowed.draw(7, 7, states.device)
    hidden = torch.zeros(1, 1, 7, 7).masked_fill(~drawn, -torch.inf)
    expected, weights = theirs(states, hidden, position_embeddings=turns)
    torch.testing.assert_close(ours(states, states, allowed), expected, atol=1e-5, rtol=0)
    with observe(ours, lambda _, attention: heard.append(attention)):
        ours(states, states, allowed)
    torch.testing.assert_close(heard[0].weights, weights, atol=1e-6, rtol=0)
    recomputed = (heard[0].query @ heard[0].key.transpose(2, 3) * heard[0].scale).masked_fill(
        ~drawn, -torch.inf
    )
    torch.testing.assert_close(recomputed.softmax(-1), weights, atol=1e-6, rtol=0)


@every_compression
def test_the_absorbed_form_agrees_with_the_expanded_one_gradients_too(compressed):
    ours, _, _ = both(compressed)
    states = torch.randn(2, 7, DIM).requires_grad_()
    query = ours.query(ours.compress_query(states)).unflatten(2, (HEADS, -1)).transpose(1, 2)
    given = *query.split((FIXED, TURNED), dim=-1), *ours.keys_values(states)
    allowed = AttentionMask(causal=True)
    one, other = (form(*given, allowed, 0) for form in (ours.absorbed, ours.expanded))
    torch.testing.assert_close(one, other, atol=1e-5, rtol=0)
    assert_same_gradients(one, other, [states, ours.key.weight, ours.value.weight], atol=1e-4)


def test_steps_read_a_cache_of_latents_and_write_what_all_positions_at_once_do():
    torch.manual_seed(1)
    config = CausalConfig(
        dim=18, heads=3, head_dim=16, attention_kind="latent", latent_dim=11, rotary_dim=6,
        layers=2, feedforward=17, dropout=0.0,
    )  # fmt: skip
    model = roughen(CausalLanguageModel(config, 23)).eval()
    tokens, heard = torch.arange(14).view(2, 7), []
    expected = model.decoder.logits(model.hidden(tokens))
    state, found = model.decoder.start(model.nothing(2)), []
    with torch.inference_mode():
        for column in tokens.T:
            logits, state = model.decoder.step(column, state)
            found.append(logits)
    torch.testing.assert_close(torch.stack(found, 1), expected, atol=1e-5, rtol=0)
    past = state.blocks[0].past
    assert past._key.shape[1:] == (2, 1, 11)
    assert past._value.shape[1:] == (2, 1, 6)
    with observe(model, lambda _, attention: heard.append(attention)), torch.inference_mode():
        logits, _ = model.decoder.step(torch.tensor([3, 5]), state)
    assert isinstance(heard[0], Attention)
    assert heard[0].weights.shape == (2, 3, 1, 8)


def test_what_it_cannot_be_combined_with_is_said():
    for keys, said in (
        ({"kv_heads": 2}, 'attention_kind = "latent" has no kv_heads: leave it out'),
        ({"rotary_dim": 64}, "rotary_dim = 64 is part of head_dim: choose a smaller one"),
    ):
        with pytest.raises(ValueError, match=said):
            CausalConfig(attention_kind="latent", **keys)
    with pytest.raises(ValueError, match='latent_dim belongs to attention_kind = "latent"'):
        CausalConfig(latent_dim=32)
    sizes, turn = AttentionSizes(8, 2, 2, 4, 4, latent_dim=3), RotaryPositions(4)
    with pytest.raises(ConfigError, match="no part is set aside for it"):
        LatentAttention.of(sizes, HeadParts(process_keys=[turn]), Noise(), 0.0, Role("decoder"))
