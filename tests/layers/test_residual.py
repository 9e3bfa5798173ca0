"""The two orders of residual and norm, by their formulas."""

import torch
import torch.nn.functional as F

from jumok.kernels.noise import Noise
from jumok.layers.dropout import Dropout
from jumok.layers.residual import PostNorm, PreNorm
from tests.parity.torch_weights import roughen


def parts(kind: type[PreNorm], p: float = 0.0) -> tuple[PreNorm, torch.Tensor, torch.Tensor]:
    torch.manual_seed(1)
    part = roughen(kind(torch.nn.LayerNorm(13), Dropout(p, Noise())))
    return part, torch.randn(2, 5, 13), torch.randn(2, 5, 13)


def test_pre_norm_keeps_the_stream_free_of_norms():
    part, stream, update = parts(PreNorm)
    total, normed = part(stream, update)
    assert torch.equal(total, stream + update)
    expected = F.layer_norm(stream + update, (13,), part.norm.weight, part.norm.bias)
    torch.testing.assert_close(normed, expected)


def test_post_norm_normalises_the_stream_itself():
    """Lecture 000: z = LayerNorm(x + SelfAttention(x))."""
    part, stream, update = parts(PostNorm)
    total, normed = part(stream, update)
    assert total is normed
    expected = F.layer_norm(stream + update, (13,), part.norm.weight, part.norm.bias)
    torch.testing.assert_close(normed, expected)


def test_dropout_falls_on_the_update_alone_and_in_training_alone():
    part, stream, update = parts(PreNorm, p=0.5)
    total, _ = part.train()(stream, update)
    share = ((total - stream) / update).round(decimals=3)
    assert set(share.abs().unique().tolist()) == {0.0, 2.0}
    assert torch.equal(part.eval()(stream, update)[0], stream + update)
