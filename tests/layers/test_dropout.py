import torch

from jumok.kernels.noise import Noise
from jumok.layers.dropout import Dropout


def test_dropout_takes_the_next_mask_of_its_noise():
    noise = Noise()
    layer = Dropout(0.3, noise).train()
    noise.rekey(7)
    expected = [noise.mask(0.3).apply(torch.ones(5, 16)) for _ in range(2)]
    noise.rekey(7)
    assert torch.equal(layer(torch.ones(5, 16)), expected[0])
    assert torch.equal(layer(torch.ones(5, 16)), expected[1])


def test_dropout_draws_nothing_in_evaluation_or_at_zero():
    states = torch.randn(5, 16)
    assert Dropout(0.3, Noise()).eval()(states) is states
    assert Dropout(0.0, Noise()).train()(states) is states
