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

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn

from jumok.attention.observe import Attention, observe
from jumok.config import AverageConfig, ScheduleConfig, TrainingConfig
from jumok.config.pictures import ImageClassifierConfig
from jumok.data.pictures.batches import Augmentation, PictureStream, in_order
from jumok.data.pictures.idx import read_idx
from jumok.data.pictures.store import PictureStore
from jumok.models.catalog import DataSizes, build
from jumok.models.image_classifier import ImageClassifier
from jumok.shapes import Float, Tensor
from jumok.training.learner import Learner
from jumok.training.objectives import picture_classification
from jumok.training.optimization.schedule import learning_rate
from jumok.training.precision import one_thread
from jumok_lectures.experiments.frames import COLOURS, PATCH, SIDE, Drawn, cells_of, draw
from jumok_lectures.findings import Findings, Series, Setting
from jumok_lectures.judging import Condition, differences, half_width, mean, with_interval
from jumok_lectures.small import alone
from jumok_lectures.text import Text
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
    schedule = ScheduleConfig(warmup=steps // 10)
    training = TrainingConfig(
        steps=steps,
        optimizer="muon",
        learning_rate=2e-2,
        label_smoothing=0.0,
        schedule=schedule,
        average=AverageConfig(decay=0.98),
    )
    learner = Learner(model, picture_classification, training, seed, torch.float32)
    updates = PictureStream(store, BATCH, BATCH, Augmentation(), seed)
    losses = []
    for step in range(1, steps + 1):
        rate = learning_rate(schedule, training.learning_rate, step, step / steps)
        losses.append(learner.update(next(updates), step, rate).loss)
    trained = learner.averaged()
    assert isinstance(trained, ImageClassifier)
    with one_thread():
        right = sum(
            int((trained.probabilities(batch.pixels).argmax(1) == batch.labels).sum())
            for batch in in_order(unseen, 200)
        )
    curve = [(float(end), mean(losses[end - 20 : end])) for end in range(20, steps + 1, 20)]
    return Run(alone(trained), 100.0 * right / len(unseen), curve)


def looks(model: ImageClassifier, drawn: Drawn) -> tuple[float, float]:
    """The shares of the fifth frame's attention on its partner, and on the three others."""
    rows = np.arange(min(200, len(drawn.store)))
    seen: list[Attention] = []
    with observe(model, lambda _, attention: seen.append(attention)), one_thread():
        for batch in in_order(drawn.store.only(rows), len(rows)):
            model.probabilities(batch.pixels)
    weights = seen[0].weights[:, 0].numpy()  # picture query key
    shares = []
    for picture, corners in zip(weights, drawn.corners[rows], strict=True):
        asking, *frames = (cells_of(corner) for corner in corners)
        shares.append([float(picture[np.ix_(asking, frame)].sum(1).mean()) for frame in frames])
    partner, *others = np.mean(shares, axis=0).tolist()
    return partner, sum(others)


@dataclass(frozen=True)
class Network:
    """What one process trains."""

    name: str
    seed: int
    steps: int


def trained_on_drawings(job: Network) -> tuple[Run, tuple[float, float]]:
    """A network on the drawn pictures, and what its frames attend to."""
    drawn, unseen = draw(TRAINING, 1), draw(UNSEEN, 2)
    made = train(job.name, drawn, unseen, job.steps, job.seed)
    return made, looks(made.model, unseen) if job.name == "attention" else (0.0, 0.0)


@dataclass(frozen=True)
class DigitNetwork(Network):
    """The same on handwritten digits of this folder."""

    folder: Path


def trained_on_digits(job: DigitNetwork) -> float:
    """Percent right on unseen digits."""
    known, unseen = (
        digits(job.folder, split, count)
        for split, count in zip(("train", "t10k"), DIGITS, strict=True)
    )
    return fitted(job.name, known, unseen, job.steps, job.seed).accuracy


def digits(folder: Path, split: str, count: int) -> PictureStore:
    """The first so many of MNIST's."""
    pixels = read_idx(folder / f"{split}-images-idx3-ubyte.gz", 3)[:count, :, :, None].copy()
    numbers = read_idx(folder / f"{split}-labels-idx1-ubyte.gz", 1)[:count].astype(np.int64)
    return PictureStore(f"digits {split}", pixels, numbers, tuple("0123456789"))


def run(setting: Setting) -> Findings:
    """Trains all with every seed; two of them on digits, too, where there are any."""
    steps = STEPS * (LONGER if setting.full else 1)
    many = len(setting.seeds)
    setting.say(f"training: {', '.join(name.en for name in NAMES.values())}")
    jobs = [Network(name, seed, steps) for name in NAMES for seed in setting.seeds]
    made = setting.workers.map(trained_on_drawings, jobs)
    runs = {name: made[many * place : many * (place + 1)] for place, name in enumerate(NAMES)}
    folder = setting.data / "mnist" if setting.data else None
    on_digits: dict[str, list[float]] = {}
    if folder is not None and folder.is_dir():
        setting.say("training on digits")
        compared = ("attention", "mixing")
        found = setting.workers.map(
            trained_on_digits,
            [
                DigitNetwork(name, seed, DIGIT_STEPS, folder)
                for name in compared
                for seed in setting.seeds
            ],
        )
        on_digits = {
            name: found[many * place : many * (place + 1)] for place, name in enumerate(compared)
        }
    return report(runs, on_digits)


COLUMNS = T.columns


def report(
    runs: dict[str, list[tuple[Run, tuple[float, float]]]], on_digits: dict[str, list[float]]
) -> Findings:
    """Right answers of each network, and what the fifth frames attend to.

    Args:
        on_digits: percent right with attention and with its stand-in; empty: there are no digits.
    """
    accuracies = {name: [each.accuracy for each, _ in of_name] for name, of_name in runs.items()}
    partner, others = (
        mean(shares) for shares in zip(*(found for _, found in runs["attention"]), strict=True)
    )
    sizes = {
        name: sum(parameter.numel() for parameter in of_name[0][0].model.parameters())
        for name, of_name in runs.items()
    }
    return Findings(
        columns=COLUMNS,
        rows=[
            [
                words,
                sizes[name],
                mean(accuracies[name]),
                half_width(accuracies[name]),
                mean(on_digits[name]) if name in on_digits else None,
                half_width(on_digits[name]) if name in on_digits else None,
            ]
            for name, words in NAMES.items()
        ],
        figures={
            "accuracy": accuracies,
            "digits": on_digits,
            "parameters": sizes,
            "attention_on": {"partner": partner, "others": others},
        },
        conditions=_conditions(accuracies, on_digits),
        sentence=_sentence(accuracies, on_digits, partner, others),
        panels=(
            T.bars(
                [(NAMES[name], values) for name, values in accuracies.items()],
                x=T("bars_x", colours=100 / COLOURS),
                form=".1f",
            ),
            T.chart(
                [Series(NAMES[name], of_name[0][0].curve) for name, of_name in runs.items()],
                least=0.0,
            ),
        ),
    )


def _conditions(
    accuracies: dict[str, list[float]], on_digits: dict[str, list[float]]
) -> list[Condition]:
    found = [
        T.condition(
            "points_above_name",
            differences(accuracies["attention"], accuracies[name]),
            name=NAMES[name],
        )
        for name in ("mixing", "tower")
    ]
    if on_digits:
        found.append(
            T.condition(
                "digits_points_above_1x1", differences(on_digits["attention"], on_digits["mixing"])
            )
        )
    return found


def _sentence(
    accuracies: dict[str, list[float]],
    on_digits: dict[str, list[float]],
    partner: float,
    others: float,
) -> Text:
    attention, mixing, tower, neither = (with_interval(accuracies[name], ".1f") for name in NAMES)
    digits, digits_ko = (
        "Digits were not tried: JUMOK_DATA names no folder with them.",
        "숫자는 시험하지 못했습니다. JUMOK_DATA의 폴더에 없습니다.",
    )
    if on_digits:
        both = [with_interval(values, ".1f") for values in on_digits.values()]
        digits = f"On handwritten digits it is {both[0]}% with attention and {both[1]}% without."
        digits_ko = f"손글씨 숫자에서는 어텐션이 있으면 {both[0]}%, 없으면 {both[1]}%입니다."
    return T(
        "sentence",
        attention=attention,
        mixing=mixing,
        tower=tower,
        neither=neither,
        partner=partner,
        others=others,
        digits=digits,
        digits_ko=digits_ko,
    )
