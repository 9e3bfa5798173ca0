"""The convolutional classifier, with and without attention."""

import pytest
import torch
from pydantic import ValidationError
from torch import nn

from jumok.attention.convolution import PixelAttention
from jumok.attention.observe import observe
from jumok.config.pictures import ImageClassifierConfig
from jumok.kernels.noise import Noise
from jumok.models.catalog import DataSizes, build
from jumok.models.image_classifier import PixelMixing

SMALL = {"height": 9, "width": 11, "colours": 3, "channels": (8, 12), "attention_heads": 2}


def model(**options):
    torch.manual_seed(1)
    return build(ImageClassifierConfig.model_validate(SMALL | options), DataSizes(labels=5)).eval()


def pictures(count: int = 3) -> torch.Tensor:
    generator = torch.Generator().manual_seed(2)
    return torch.randint(0, 256, (count, 3, 9, 11), dtype=torch.uint8, generator=generator)


def test_a_picture_gets_a_logit_for_each_label():
    logits = model()(pictures())
    assert logits.shape == (3, 5)
    assert torch.allclose(model().probabilities(pictures()).sum(1), torch.ones(3))


def test_pictures_do_not_see_each_other():
    several = model(attention_after=(1, 2))
    for part in several.modules():
        if isinstance(part, PixelAttention):
            nn.init.ones_(part.residual_gate)
    together = several(pictures())
    alone = torch.cat([several(one[None]) for one in pictures()])
    assert torch.allclose(together, alone, atol=1e-5)


def test_attention_stands_after_the_stages_that_are_named():
    watched = model(attention_after=(1, 2))
    seen = {}
    with observe(watched, seen.__setitem__):
        watched(pictures())
    shapes = [attention.weights.shape for attention in seen.values()]
    assert shapes == [(3, 2, 99, 99), (3, 2, 30, 30)]  # 9 x 11 pixels, then 5 x 6


def test_with_and_without_attention_are_of_one_size_and_begin_alike():
    """Closed gates: before training both are the network that has neither block."""
    attending, mixing = model(attention_after=(2,)), model(mixing_after=(2,))
    count = [sum(each.numel() for each in one.parameters()) for one in (attending, mixing)]
    assert count[0] == count[1]
    assert sum(isinstance(part, PixelMixing) for part in mixing.modules()) == 1
    plain = model()
    for one in (attending, mixing):
        one.load_state_dict(plain.state_dict(), strict=False)
        assert torch.equal(one(pictures()), plain(pictures()))


def test_nothing_but_parameters_is_learnt():
    assert list(model(attention_after=(2,)).buffers()) == []


def test_dropout_comes_from_the_models_noise():
    training = model(dropout=0.5, attention_dropout=0.5, attention_after=(2,)).train()
    nn.init.ones_(next(p for n, p in training.named_parameters() if n.endswith("gate")))
    outputs = []
    for key in (1, 2, 1):
        training.noise.rekey(key)
        outputs.append(training(pictures()))
    assert torch.equal(outputs[0], outputs[2])
    assert not torch.equal(outputs[0], outputs[1])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"attention_after": (3,)}, "attention_after = 3, but there are only 2 stages"),
        ({"mixing_after": (7,)}, "mixing_after = 7, but there are only 2 stages"),
        ({"attention_after": (1,), "attention_heads": 3}, "cannot be split among"),
        ({"colours": 2}, "Input should be 1 or 3"),
        ({"channels": ()}, "at least 1 item"),
    ],
)
def test_impossible_networks_are_refused(options, said):
    with pytest.raises(ValidationError, match=said):
        ImageClassifierConfig.model_validate(SMALL | options)


def test_the_summary_says_where_attention_stands():
    config = ImageClassifierConfig.model_validate(SMALL | {"attention_after": (2,)})
    assert config.summary == "2 stages of 8, 12 channels; attention after stage 2"


def test_a_mixing_block_has_exactly_the_parameters_of_attention():
    def size(layer):
        return sum(parameter.numel() for parameter in layer.parameters())

    for channels, heads in ((12, 3), (64, 4), (7, 1)):
        dim = channels // heads
        attention = PixelAttention(channels, heads, dim, dim, Noise())
        assert size(PixelMixing(channels)) == size(attention) == 4 * channels**2 + 3 * channels + 1


def test_a_pixel_hears_nothing_of_the_others():
    layer = PixelMixing(5)
    with torch.no_grad():
        layer.residual_gate.fill_(1.0)
    before = torch.randn(2, 5, 3, 7)
    after = before.clone()
    after[:, :, 1, 4] += 1.0
    changed = (layer(after) - layer(before)).abs().sum(1) > 0
    assert changed[:, 1, 4].all()
    assert changed.sum() == 2
