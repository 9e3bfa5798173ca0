"""A convolutional network with and without attention over its pixels.

The pictures are drawn here: four frames on a noisy ground, each with a core of some colour, and one
more frame in the corner, whose core is black. What colour is the core of the frame of the same
colour? The answer is computed from the cells in the corner, and the norms are those of single
cells, so that nothing but the layers compared carries anything from afar: with norms over the whole
picture 1x1 convolutions answered every question, too, in the one run that was made. A cell that
attends to all others can look for its partner and fetch the colour of its core. The network without
attention has 1x1 convolutions of exactly as many parameters in its place, or a tower of dilated 3x3
convolutions whose field is the whole picture, with more than twice the parameters; a fourth has
nothing there. On handwritten digits, where JUMOK_DATA has them, nothing has to be fetched from
afar: attention and its stand-in are compared there, too, in networks as jumok trains them.

Source: lecture 004, last figure; Zhang et al. 2019.
"""

import colorsys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from jumok.attention.observe import Attention, observe
from jumok.config import TrainingConfig
from jumok.config.pictures import ImageClassifierConfig
from jumok.data.pictures.batches import Augmentation, PictureStream, validation_pictures
from jumok.data.pictures.corpus import read_idx
from jumok.data.pictures.store import PictureStore
from jumok.models.catalog import DataSizes, build
from jumok.models.image_classifier import ImageClassifier
from jumok.shapes import Float, Tensor
from jumok.training.objectives import picture_classification
from jumok.training.precision import one_thread
from jumok_lectures.findings import Findings, Series, Setting
from jumok_lectures.fitting import alone, curve, learn, short
from jumok_lectures.judging import cells, differences, mean
from jumok_lectures.texts import Texts

T = Texts("convolution")

TRAINING, UNSEEN = 8_000, 1_000
STEPS, LONGER, BATCH = 400, 2, 64
DIGITS, DIGIT_STEPS = (4_000, 2_000), 150  # to train on, and unseen

NAMES = T.named("names")
AFTER = {
    "attention": {"attention_after": (1,)},
    "mixing": {"mixing_after": (1,)},
    "tower": {},
    "neither": {},
}
CHANNELS = 32
DILATIONS = (1, 2, 4, 8)  # together 15 cells to each side; the picture is 12 cells wide

COLOURS = 4  # of frames, and of cores: 16 pairs
THINGS = 5  # the first, in the top left corner, asks; the second is its partner
PLACES, STEP, SIDE = 4, 6, 4  # 4 x 4 places, 6 pixels apart; things of 4 x 4 pixels
PATCH = 2  # pixels a side of a cell
CELLS = PLACES * STEP // PATCH

Corners = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Drawn:
    """Pictures and their answers.

    Attributes:
        corners: (picture thing 2), the top left pixel of each thing.
    """

    store: PictureStore
    corners: Corners


def draw(pictures: int, seed: int) -> Drawn:
    """Frames of different colours; the cores' colours may be alike."""
    random = np.random.default_rng(seed)
    hues = [colorsys.hsv_to_rgb(hue / COLOURS, 0.9, 0.95) for hue in range(COLOURS)]
    palette = (255 * np.array(hues)).astype(np.uint8)
    side = PLACES * STEP
    pixels = random.integers(90, 160, (pictures, side, side, 3), dtype=np.uint8)
    answers = np.empty(pictures, dtype=np.int64)
    corners = np.empty((pictures, THINGS, 2), dtype=np.int64)
    for index in range(pictures):
        places = np.append(0, 1 + random.permutation(PLACES**2 - 1)[: THINGS - 1])
        corners[index] = np.stack(np.divmod(places, PLACES), axis=1) * STEP
        frames = palette[random.permutation(COLOURS)[: THINGS - 1]]
        cores = random.integers(0, COLOURS, THINGS - 1)
        answers[index] = cores[0]
        black = np.zeros(3, dtype=np.uint8)
        things = [(frames[0], black), *zip(frames, palette[cores], strict=True)]
        for (frame, core), (row, column) in zip(things, corners[index], strict=True):
            pixels[index, row : row + SIDE, column : column + SIDE] = frame
            pixels[index, row + 1 : row + SIDE - 1, column + 1 : column + SIDE - 1] = core
    labels = tuple(f"colour {colour}" for colour in range(COLOURS))
    return Drawn(PictureStore(f"things {seed}", pixels, answers, labels), corners)


def cells_of(corner: npt.NDArray[np.int64]) -> list[int]:
    """The cells that a thing lies on, numbered row by row."""
    row, column = corner // PATCH
    span = range(SIDE // PATCH)
    return [int((row + down) * CELLS + column + right) for down in span for right in span]


@dataclass(frozen=True)
class Run:
    """One network, trained.

    Attributes:
        accuracy: percent of the unseen pictures.
        curve: (step, mean loss of the 20 steps up to it), nats a picture.
    """

    model: ImageClassifier
    accuracy: float
    curve: list[tuple[float, float]]


class Tower(nn.Module):
    """x + gate * (3x3 convolutions, one after another, each reaching twice as far)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList(
            nn.Conv2d(channels, channels, 3, padding=reach, dilation=reach) for reach in DILATIONS
        )
        self.residual_gate = nn.Parameter(torch.zeros(1))

    def forward(
        self, features: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch channels height width"]:
        """The features, and what was made of all of them."""
        inner = features
        for convolution in self.convolutions:
            inner = inner + torch.relu(convolution(inner))
        return features + self.residual_gate * inner


class CellNorm(nn.LayerNorm):
    """A norm of each cell by itself, where the usual one adds up the cells of the whole picture."""

    def forward(
        self, features: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch channels height width"]:
        """Every cell with mean 0 and variance 1."""
        return super().forward(features.movedim(1, -1)).movedim(-1, 1)


class Corner(nn.Module):
    """The cells in the top left corner, where the frame is that asks."""

    def forward(
        self, features: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch channels rows columns"]:
        """These cells alone."""
        cells = SIDE // PATCH
        return features[:, :, :cells, :cells]


def train(name: str, drawn: Drawn, unseen: Drawn, steps: int, seed: int) -> Run:
    """The network of this name, trained as `jumok train` does; it answers from the corner."""
    return fitted(name, drawn.store, unseen.store, steps, seed, corner=True)


def fitted(
    name: str,
    store: PictureStore,
    unseen: PictureStore,
    steps: int,
    seed: int,
    *,
    corner: bool = False,
) -> Run:
    """The same for any pictures.

    Args:
        corner: the answer is computed from the cells in the corner; False: from the mean of all.
    """
    height, width = store.pixels.shape[1:3]
    sizes = {"height": height, "width": width, "patch": PATCH, "channels": (CHANNELS,)}
    colours = store.pixels.shape[3] if store.pixels.ndim == 4 else 1
    config = ImageClassifierConfig.model_validate(
        {**sizes, "colours": colours, "attention_heads": 1, **AFTER[name]}
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = build(config, DataSizes(labels=len(store.labels)))
        assert isinstance(model, ImageClassifier)
        stage = model.stack.stages[0]
        assert isinstance(stage, nn.Sequential)
        if name == "tower":
            stage.append(Tower(CHANNELS))
        if corner:
            stage.append(Corner())
            for part in list(model.modules()):
                for place, norm in part.named_children():
                    if isinstance(norm, nn.GroupNorm):
                        setattr(part, place, CellNorm(norm.num_channels))
    training = short(TrainingConfig, steps, 2e-2, optimizer="muon")
    updates = PictureStream(store, BATCH, BATCH, Augmentation(), seed)
    trained, losses = learn(model, picture_classification, training, updates, seed)
    with one_thread():
        right = sum(
            int((trained.probabilities(batch.pixels).argmax(1) == batch.labels).sum())
            for batch in validation_pictures(unseen, 200)
        )
    return Run(alone(trained), 100.0 * right / len(unseen), curve(losses))


def looks(model: ImageClassifier, drawn: Drawn) -> tuple[float, float]:
    """The shares of the fifth frame's attention on its partner, and on the three others."""
    rows = np.arange(min(200, len(drawn.store)))
    seen: list[Attention] = []
    with observe(model, lambda _, attention: seen.append(attention)), one_thread():
        for batch in validation_pictures(drawn.store.only(rows), len(rows)):
            model.probabilities(batch.pixels)
    weights = seen[0].weights[:, 0].numpy()  # picture query key
    shares = []
    for picture, corners in zip(weights, drawn.corners[rows], strict=True):
        asking, *frames = (cells_of(corner) for corner in corners)
        shares.append([float(picture[np.ix_(asking, frame)].sum(1).mean()) for frame in frames])
    partner, *others = np.mean(shares, axis=0).tolist()
    return partner, sum(others)


def trained_on_drawings(name: str, seed: int, steps: int) -> tuple[Run, tuple[float, float]]:
    """A network on the drawn pictures, and what its frames attend to."""
    drawn, unseen = draw(TRAINING, 1), draw(UNSEEN, 2)
    made = train(name, drawn, unseen, steps, seed)
    return made, looks(made.model, unseen) if name == "attention" else (0.0, 0.0)


def trained_on_digits(name: str, seed: int, folder: Path) -> float:
    """Percent right on unseen handwritten digits of this folder."""
    known, unseen = (
        digits(folder, split, count) for split, count in zip(("train", "t10k"), DIGITS, strict=True)
    )
    return fitted(name, known, unseen, DIGIT_STEPS, seed).accuracy


def digits(folder: Path, split: str, count: int) -> PictureStore:
    """The first so many of MNIST's."""
    pixels = read_idx(folder / f"{split}-images-idx3-ubyte.gz", 3)[:count, :, :, None].copy()
    numbers = read_idx(folder / f"{split}-labels-idx1-ubyte.gz", 1)[:count].astype(np.int64)
    return PictureStore(f"digits {split}", pixels, numbers, tuple("0123456789"))


def run(setting: Setting) -> Findings:
    """Trains all with every seed; two of them on digits, too, where there are any."""
    steps = STEPS * (LONGER if setting.full else 1)
    setting.say(f"training: {', '.join(name.en for name in NAMES.values())}")
    runs = setting.every_seed(trained_on_drawings, NAMES, steps)
    folder = setting.data / "mnist" if setting.data else None
    on_digits: dict[str, list[float]] = {}
    if folder is not None and folder.is_dir():
        setting.say("training on digits")
        on_digits = setting.every_seed(trained_on_digits, ("attention", "mixing"), folder)
    return report(runs, on_digits)


def report(
    runs: dict[str, list[tuple[Run, tuple[float, float]]]], on_digits: dict[str, list[float]]
) -> Findings:
    """Right answers of each network, and what the fifth frames attend to.

    Args:
        on_digits: percent right with attention and with its stand-in; empty: there are no digits.
    """
    right = {name: [each.accuracy for each, _ in own] for name, own in runs.items()}
    partner, others = (
        mean(shares) for shares in zip(*(looked for _, looked in runs["attention"]), strict=True)
    )
    sizes = {
        name: sum(parameter.numel() for parameter in own[0][0].model.parameters())
        for name, own in runs.items()
    }
    conditions = [
        T.condition(
            "points_above_name", differences(right["attention"], right[name]), name=NAMES[name]
        )
        for name in ("mixing", "tower")
    ]
    digits = T("no_digits")
    if on_digits:
        gains = differences(on_digits["attention"], on_digits["mixing"])
        conditions.append(T.condition("digits_points_above_1x1", gains))
        digits = T("on_digits", right=on_digits)
    return T.findings(
        rows=[
            [
                name,
                sizes[key],
                *cells(right[key]),
                *(cells(on_digits[key]) if key in on_digits else (None, None)),
            ]
            for key, name in NAMES.items()
        ],
        figures={
            "accuracy": right,
            "digits": on_digits,
            "parameters": sizes,
            "attention_on": {"partner": partner, "others": others},
        },
        conditions=conditions,
        panels=[
            T.bars(
                [(NAMES[name], values) for name, values in right.items()],
                x=T("bars_x", colours=100 / COLOURS),
                form=".1f",
            ),
            T.chart(
                [Series(NAMES[name], own[0][0].curve) for name, own in runs.items()], least=0.0
            ),
        ],
        right=right,
        partner=partner,
        others=others,
        digits=digits,
    )
