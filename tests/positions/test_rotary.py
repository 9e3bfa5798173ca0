"""Rotations: lengths stay, and a score knows the distance alone."""

import math

import pytest
import torch
from pydantic import TypeAdapter
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from jumok.config.causal import CausalConfig
from jumok.config.stack import RotaryScaling
from jumok.positions.rotary import RotaryPositions
from jumok.positions.tables import rotations


def test_pair_is_turned_by_its_angle():
    """Pair (2i, 2i+1) at position t turns by t / 10000^(2i/dim): (1, 0) becomes (cos, sin)."""
    states = torch.tensor([1.0, 0, 1, 0, 1, 0]).expand(1, 1, 4, 6)
    turned = RotaryPositions(6)(states, position=5)[0, 0]
    for row, t in enumerate((5, 6, 7, 8)):
        for i in range(3):
            angle = t / 10000 ** (2 * i / 6)
            expected = [math.cos(angle), math.sin(angle)]
            assert turned[row, 2 * i : 2 * i + 2].tolist() == pytest.approx(expected, abs=1e-6)


def test_first_position_stays_as_it_is():
    states = torch.arange(12.0).view(1, 2, 1, 6)
    assert torch.equal(RotaryPositions(6)(states, 0), states)


def test_scores_depend_on_the_distance_alone():
    torch.manual_seed(1)
    rotate = RotaryPositions(6)
    query, key = torch.randn(2, 1, 1, 1, 6)

    def score(m: int, n: int) -> float:
        return float((rotate(query, m) * rotate(key, n)).sum())

    for m, n in [(3, 1), (103, 101), (1031, 1029)]:
        assert score(m, n) == pytest.approx(score(2, 0), abs=1e-4)
    assert abs(score(3, 0) - score(2, 0)) > 1e-2
    assert abs(score(0, 2) - score(2, 0)) > 1e-2


def test_turning_keeps_lengths():
    states = torch.arange(2.0 * 3 * 5 * 6).view(2, 3, 5, 6)
    turned = RotaryPositions(6)(states, 7)
    torch.testing.assert_close(turned.norm(dim=-1), states.norm(dim=-1))


def test_far_positions_are_exact_in_bfloat16_too():
    """A position of 1031 rounded to 8 bits would be 1032."""
    states = torch.ones(1, 1, 1, 6)
    rotate = RotaryPositions(6)
    low = rotate.to(torch.bfloat16)(states.bfloat16(), 1031).float()
    torch.testing.assert_close(low, RotaryPositions(6)(states, 1031), atol=2e-2, rtol=0)


def test_rotary_has_nothing_to_save():
    assert not RotaryPositions(6).state_dict()


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ({"rope_type": "linear"}, {"kind": "linear"}),
        (
            {"rope_type": "llama3", "low_freq_factor": 1.3, "high_freq_factor": 5.0},
            {"kind": "llama3", "slow": 1.3, "fast": 5.0},
        ),
        ({"rope_type": "yarn"}, {"kind": "yarn"}),
        (
            {"rope_type": "yarn", "beta_fast": 20, "beta_slow": 2, "attention_factor": 1.25},
            {"kind": "yarn", "fast": 20, "slow": 2, "size": 1.25},
        ),
    ],
)
def test_longer_texts_turn_as_in_transformers(theirs, ours):
    scaling = {"factor": 7.0, "rope_theta": 5e3}
    length = {} if ours["kind"] == "linear" else {"original_length": 300}
    config = LlamaConfig(
        hidden_size=44, num_attention_heads=1, max_position_embeddings=2100,
        rope_parameters=scaling | theirs | {"original_max_position_embeddings": 300},
    )  # fmt: skip
    frequency, size = ROPE_INIT_FUNCTIONS[theirs["rope_type"]](config, torch.device("cpu"))
    given = TypeAdapter(RotaryScaling).validate_python({"factor": 7.0} | length | ours)
    found, factor = rotations(44, 5e3, given)
    torch.testing.assert_close(torch.from_numpy(found), frequency, atol=0, rtol=1e-5)
    assert factor == pytest.approx(size)
    states = torch.randn(1, 1, 9, 44)
    turned = RotaryPositions(44, 5e3, given)(states, 3)
    lengths = turned.norm(dim=-1) / states.norm(dim=-1)
    torch.testing.assert_close(lengths, torch.full_like(lengths, size))


def test_a_part_of_the_head_is_turned():
    states = torch.randn(2, 3, 5, 16)
    turned = RotaryPositions(6)(states, 7)
    assert torch.equal(turned[..., 6:], states[..., 6:])
    assert torch.equal(turned[..., :6], RotaryPositions(6)(states[..., :6].contiguous(), 7))


@pytest.mark.parametrize(
    ("keys", "what"),
    [
        ({"rotary_dim": 64}, "rotary_dim = 64 is part of head_dim: choose a smaller one"),
        ({"rotary_dim": 4, "attention_kind": "linear"}, 'attention_kind = "heads" and "latent"'),
        ({"rotary_scaling": {"kind": "dynamic", "factor": 2.0}}, "dynamic"),
        (
            {"rotary_scaling": {"kind": "yarn", "factor": 2.0, "original_length": 9, "slow": 99}},
            "has to be less than fast",
        ),
        ({"parallel": True, "norm": "post"}, 'give norm = "pre"'),
    ],
)
def test_what_does_not_fit_is_named(keys, what):
    with pytest.raises(ValueError, match=what):
        CausalConfig.model_validate(keys)
