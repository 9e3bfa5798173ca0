"""Attention rollout over the patches of an imported ViT, beside the authors' own computation."""

from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from PIL import Image

import jumok
from tests.interop.folders_captioners import write_captioner
from tests.interop.folders_images import CLASSIFIERS
from tests.interop.test_images import PIXELS
from tests.systems.pictures import write_noise
from tests.systems.untrained import write_classifier


@pytest.fixture(scope="module")
def photo(tmp_path_factory) -> Path:
    file = tmp_path_factory.mktemp("photo") / "photo.png"
    Image.fromarray(PIXELS[0]).save(file)
    return file


def joint_attention(layers: np.ndarray) -> np.ndarray:
    """`compute_joint_attention(add_residual=True)` of Abnar and Zuidema's repository, from
    (layers query key)."""
    augmented = layers + np.eye(layers.shape[1])[None]
    augmented = augmented / augmented.sum(axis=-1)[..., None]
    joint = np.zeros(augmented.shape)
    joint[0] = augmented[0]
    for i in range(1, len(layers)):
        joint[i] = augmented[i].dot(joint[i - 1])
    return joint[-1]


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize("heads", ["mean", "max", "min"])
def test_rollout_is_that_of_the_attention_of_transformers(tmp_path, photo, kind, heads):
    folder = CLASSIFIERS[kind](tmp_path / "theirs")
    theirs = transformers.AutoModelForImageClassification.from_pretrained(
        folder, attn_implementation="eager"
    ).eval()
    reads = transformers.AutoImageProcessor.from_pretrained(folder)
    with torch.no_grad():
        output = theirs(**reads(PIXELS[0], return_tensors="pt"), output_attentions=True)
    layers = np.stack([getattr(each[0].double().numpy(), heads)(0) for each in output.attentions])
    expected = joint_attention(layers / layers.sum(-1, keepdims=True))
    trace = jumok.trace(jumok.load(folder), photo)
    ours = jumok.rollout(trace, heads)
    np.testing.assert_allclose(ours["picture"], expected, atol=1e-5)
    given = jumok.trace_of(output.attentions, trace.axes["picture"])
    np.testing.assert_allclose(jumok.rollout(given, heads)["picture"], expected, atol=1e-5)
    if heads == "mean":
        facts = trace.findings.attribution
        np.testing.assert_allclose(
            facts["pieces"].measures["rollout"]["picture"], expected[:1], atol=1e-5
        )
        before = len(expected) - 9  # [CLS], and of a DeiT [DISTILLATION]
        np.testing.assert_allclose(
            facts["words"].measures["rollout"]["picture"], expected[:1, before:], atol=1e-5
        )


def test_a_convolutional_network_is_followed_to_its_finest_cells(tmp_path):
    """Attention over 8 x 10 cells, and then over 4 x 5, each the mean of four: by hand."""
    file = write_noise(tmp_path / "noise.png")
    folder = write_classifier(tmp_path / "m", attention_after=(1, 2))
    trace = jumok.trace(jumok.load(folder), file)
    first, second = (site.weights.mean(0, dtype=np.float64) for site in trace.sites)
    assert (len(first), len(second)) == (80, 20)
    pool = np.zeros((20, 80))
    for row, column in np.ndindex(8, 10):
        pool[row // 2 * 5 + column // 2, row * 10 + column] = 1 / 4
    through = (np.eye(20) + second) / 2 @ pool @ (np.eye(80) + first) / 2
    measures = trace.findings.attribution["words"].measures
    assert list(measures) == ["weights", "rollout", "flow", "patch"]
    (rollout,) = measures["rollout"]["grid 8x10"]
    np.testing.assert_allclose(rollout, through.mean(axis=0), atol=1e-7)
    (weights,) = measures["weights"]["grid 8x10"]
    np.testing.assert_allclose(weights, second.mean(axis=0) @ pool, atol=1e-7)


def test_the_layers_of_a_vision_transformer_are_followed_below_a_caption(tmp_path, photo):
    trace = jumok.trace(jumok.load(write_captioner(tmp_path / "theirs")), photo, "the cat")
    image = [site.weights.mean(0) for site in trace.sites if site.part == "image"]
    assert len(image) == 3
    memory = joint_attention(np.stack(image).astype(np.float64))
    own, cross = (
        [site.weights.mean(0) for site in trace.sites if site.part == part]
        for part in ("decoder", "cross")
    )
    read = np.zeros((len(own[0]), len(memory)))
    for seen, looked in zip(own, cross, strict=True):
        read = (read + seen @ read) / 2
        read = (read + looked @ memory) / 2
    facts = trace.findings.attribution["pieces"]
    rollout = facts.measures["rollout"]["picture"]
    np.testing.assert_allclose(rollout, read[: len(rollout)], atol=1e-6)
    assert facts.measures["patch"]["picture"].shape == facts.measures["blank"]["picture"].shape
