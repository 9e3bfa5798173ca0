"""Several attentions side by side, against torch's and by one head at a time."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from jumok.attention.core import split_heads
from jumok.attention.interfaces import HeadParts
from jumok.attention.masks import AttentionMask, mask_of_keys
from jumok.attention.multihead import MultiHeadAttention
from jumok.attention.observe import observe
from jumok.attention.scores import AdditiveScore
from jumok.kernels.noise import Noise
from jumok.positions.alibi import AlibiPositions
from jumok.positions.rotary import RotaryPositions
from tests.parity.torch_weights import copy_attention, roughen


def of_sizes(dim: int, heads: int, head_dim: int, value_dim: int, **parts) -> MultiHeadAttention:
    torch.manual_seed(1)
    return roughen(MultiHeadAttention(dim, heads, head_dim, value_dim, Noise(), **parts))


def states(dim: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Queries, a memory, and which of its positions are real."""
    torch.manual_seed(2)
    return (
        torch.randn(2, 5, dim),
        torch.randn(2, 7, dim),
        torch.arange(7) < torch.tensor([[7], [4]]),
    )


@pytest.mark.parametrize(("dim", "heads"), [(15, 3), (48, 3)])  # in torch, and in C
@pytest.mark.parametrize("masked", [False, True])
def test_multihead_is_torchs_on_the_same_weights(dim, heads, masked):
    theirs = nn.MultiheadAttention(dim, heads, batch_first=True)
    ours = of_sizes(dim, heads, dim // heads, dim // heads)
    copy_attention(ours, roughen(theirs))
    queries, memory, real = states(dim)
    hidden = ~real if masked else None  # torch's mask says what is hidden, ours what is allowed
    expected, _ = theirs(queries, memory, memory, key_padding_mask=hidden)
    found = ours(queries, memory, mask_of_keys(real) if masked else None)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize(("head_dim", "value_dim"), [(7, 11), (13, 13), (16, 32)])
def test_heads_may_have_sizes_of_their_own(head_dim, value_dim):
    """head_i = attend(X W_i^Q, Y W_i^K, Y W_i^V), one head after the other."""
    attention = of_sizes(13, 3, head_dim, value_dim)
    queries, memory, real = states(13)
    heads = []
    for i in range(3):
        look, find = (
            slice(i * head_dim, (i + 1) * head_dim),
            slice(i * value_dim, (i + 1) * value_dim),
        )
        query = F.linear(queries, attention.query.weight[look], attention.query.bias[look])
        key = F.linear(memory, attention.key.weight[look], attention.key.bias[look])
        value = F.linear(memory, attention.value.weight[find], attention.value.bias[find])
        heads.append(F.scaled_dot_product_attention(query, key, value, real[:, None]))
    expected = F.linear(torch.cat(heads, -1), attention.output.weight, attention.output.bias)
    found = attention(queries, memory, mask_of_keys(real))
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)


def test_look_at_prepared_keys_and_values_is_forward():
    attention = of_sizes(13, 3, 7, 11)
    queries, memory, _ = states(13)
    found = attention.attend(queries, *attention.keys_values(memory))
    assert torch.equal(found, attention(queries, memory))


def test_rotary_look_depends_on_the_distance_alone():
    turn = RotaryPositions(8)
    attention = of_sizes(13, 3, 8, 11, parts=HeadParts(process_queries=[turn], process_keys=[turn]))
    queries, memory, _ = states(13)
    here = attention.attend(queries, *attention.keys_values(memory, 0), position=2)
    there = attention.attend(queries, *attention.keys_values(memory, 29), position=31)
    elsewhere = attention.attend(queries, *attention.keys_values(memory, 29), position=37)
    torch.testing.assert_close(here, there, atol=1e-5, rtol=0)
    assert not torch.allclose(here, elsewhere, atol=1e-2)


def test_bias_is_added_to_the_scores_of_each_head():
    """softmax(Q K^T / sqrt(d) + bias) V, one head after the other; head 2 of 3 sees near."""
    attention = of_sizes(13, 3, 8, 11, parts=HeadParts(bias=AlibiPositions(3)))
    queries, memory, real = states(13)
    (key, value), seen = attention.keys_values(memory), []
    query = split_heads(attention.query(queries), 3)
    for head, (back, ahead) in enumerate([(1 / 16, 1 / 4), (1 / 256, 1 / 256), (1 / 4, 1 / 16)]):
        bias = torch.tensor(
            [[-back * (2 + i - j) if j <= 2 + i else -ahead * (j - 2 - i) for j in range(7)]
             for i in range(5)]
        )  # fmt: skip
        scores = query[:, head] @ key[:, head].transpose(1, 2) / 8**0.5 + bias
        scores = scores.masked_fill(~real[:, None], -torch.inf)
        seen.append(scores.softmax(-1) @ value[:, head])
    expected = attention.output(torch.cat(seen, -1))
    found = attention.attend(queries, key, value, mask_of_keys(real), position=2)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)


def test_bias_is_there_while_somebody_watches():
    attention = of_sizes(13, 3, 8, 11, parts=HeadParts(bias=AlibiPositions(3)))
    queries, memory, _ = states(13)
    expected, seen = attention(queries, memory), []
    with observe(attention, lambda _, found: seen.append(found)):
        torch.testing.assert_close(attention(queries, memory), expected, atol=1e-6, rtol=0)
    assert len(seen) == 1


def test_dropout_of_weights_is_for_training_alone():
    attention = of_sizes(13, 3, 7, 11, dropout=0.5)
    queries, memory, _ = states(13)
    attention.train()
    dropped = attention(queries, memory)
    assert not torch.equal(attention(queries, memory), dropped)  # the next mask
    attention.noise.rekey()
    attention.eval()
    whole = attention(queries, memory)
    assert torch.equal(attention(queries, memory), whole)
    assert not torch.equal(whole, dropped)


@pytest.mark.parametrize("kv_heads", [1, 2])
@pytest.mark.parametrize("sizes", [(13, 4, 7, 11), (32, 4, 16, 32)])  # in torch, and in C
def test_shared_keys_are_those_of_an_attention_with_repeated_weights(sizes, kv_heads):
    shared, whole = of_sizes(*sizes, kv_heads=kv_heads), of_sizes(*sizes)
    with torch.no_grad():
        for name in ("query", "output"):
            getattr(whole, name).load_state_dict(getattr(shared, name).state_dict())
        for name, width in (("key", sizes[2]), ("value", sizes[3])):
            ours, theirs = getattr(shared, name), getattr(whole, name)
            assert ours.weight.shape == (kv_heads * width, sizes[0])
            for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
                heads = mine.unflatten(0, (kv_heads, width))
                other.copy_(heads.repeat_interleave(4 // kv_heads, 0).flatten(0, 1))
    queries, memory, real = states(sizes[0])
    seen = []
    for attention in (shared, whole):
        found = attention(queries, memory, mask_of_keys(real))
        with observe(attention, lambda _, heard: seen.append(heard)):
            watched = attention(queries, memory, mask_of_keys(real))
        torch.testing.assert_close(found, watched, atol=1e-5, rtol=0)
        seen.append(found)
    ours, found, theirs, expected = seen
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)
    for name in ("query", "key", "value", "weights"):  # observers see a key for each query's head
        torch.testing.assert_close(getattr(ours, name), getattr(theirs, name), atol=1e-5, rtol=0)
    assert [each.shape[1] for each in shared.keys_values(memory)] == [kv_heads, kv_heads]


def test_additive_heads_are_watched_as_such():
    score = AdditiveScore(8, 8, 3)
    attention = of_sizes(13, 3, 8, 11, parts=HeadParts(score=score, bias=AlibiPositions(3)))
    queries, memory, _ = states(13)
    expected, seen = attention(queries, memory), []
    with observe(attention, lambda _, found: seen.append(found)):
        torch.testing.assert_close(attention(queries, memory), expected, atol=1e-6, rtol=0)
    (heard,) = seen
    sums = heard.query[:, :, :, None] + heard.key[:, :, None]
    scores = sums.tanh() @ heard.energy * heard.scale + heard.bias
    torch.testing.assert_close(heard.weights, scores.softmax(-1), atol=1e-5, rtol=0)
    assert heard.kind == "additive"


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("sizes", [(13, 3, 7, 11), (48, 3, 16, 16)])  # in torch, and in C
def test_a_window_is_attention_to_the_nearest_positions_alone(sizes, causal):
    """softmax(q_i K^T / sqrt(d)) V over the keys that are nearer than 3, query by query."""
    attention = of_sizes(*sizes, parts=HeadParts(window=3))
    states = torch.randn(2, 9, sizes[0])
    key, value = attention.keys_values(states)
    query, rows = split_heads(attention.query(states), 3), []
    for i in range(9):
        near = slice(max(0, i - 2), i + 1 if causal else i + 3)
        scores = query[:, :, i : i + 1] @ key[:, :, near].transpose(2, 3) / sizes[2] ** 0.5
        rows.append(scores.softmax(-1) @ value[:, :, near])
    expected = attention.output(torch.cat(rows, 2).transpose(1, 2).flatten(2))
    mask, seen = AttentionMask(causal=True) if causal else None, []
    torch.testing.assert_close(attention(states, states, mask), expected, atol=1e-5, rtol=0)
    with observe(attention, lambda _, found: seen.append(found)):
        torch.testing.assert_close(attention(states, states, mask), expected, atol=1e-5, rtol=0)
    far = (torch.arange(9)[:, None] - torch.arange(9)).abs() > 2
    assert not seen[0].weights[..., far].any()
    assert not seen[0].allowed[..., far].any()
    torch.testing.assert_close(seen[0].weights.sum(-1), torch.ones(2, 3, 9))
