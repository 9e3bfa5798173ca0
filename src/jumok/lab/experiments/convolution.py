"""A convolutional network with and without attention over its pixels.

The pictures are drawn here: four frames on a noisy ground, each with a core of some colour, and
one more frame, whose core is black. What colour is the core of the frame of the same colour? A
convolution sees its neighbourhood, and the two frames lie apart; a pixel that attends to all others
can look for its partner and fetch the colour of its core. The network without attention has 1x1
convolutions of exactly as many parameters in its place; a third has neither.

Source: lecture 004, last figure; Zhang et al. 2019.
"""

import colorsys
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from jumok.attention.observe import Attention, observe
from jumok.config import AverageConfig, ScheduleConfig, TrainingConfig
from jumok.config.pictures import ImageClassifierConfig
from jumok.data.pictures.batches import Augmentation, PictureStream, in_order
from jumok.data.pictures.store import PictureStore
from jumok.lab.findings import Bars, Chart, Column, Findings, Series, Setting
from jumok.lab.judging import Condition, mean, spread
from jumok.lab.text import Text
from jumok.models.catalog import DataSizes, build
from jumok.models.image_classifier import ImageClassifier
from jumok.training.learner import Learner
from jumok.training.objectives.pairs import picture_classification
from jumok.training.optimization.schedule import learning_rate
from jumok.training.precision import one_thread

COLOURS = 8  # of frames, and of cores: 64 pairs
THINGS = 5  # the first asks, the second is its partner
PLACES, STEP, SIDE = 5, 6, 4  # 5 x 5 places, 6 pixels apart; things of 4 x 4 pixels
TRAINING, UNSEEN = 8_000, 1_000
STEPS, LONGER, BATCH = 500, 2, 64
BETTER = 2.0  # the claim: attention is right more often by more than this many points
PATCH = 2  # pixels a side of a cell
CELLS = PLACES * STEP // PATCH

NAMES = {
    "attention": Text("with attention", "어텐션 있음"),
    "mixing": Text("1x1 convolutions instead", "어텐션 대신 1x1 합성곱"),
    "neither": Text("neither", "둘 다 없음"),
}
AFTER = {"attention": {"attention_after": (1,)}, "mixing": {"mixing_after": (1,)}, "neither": {}}

Corners = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Drawn:
    """Pictures and their answers.

    Attributes:
        corners: (picture thing 2), the top left pixel of each thing.
    """

    store: PictureStore
    corners: Corners


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
        places = random.permutation(PLACES**2)[:THINGS]
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


def train(name: str, drawn: Drawn, unseen: Drawn, steps: int, seed: int) -> Run:
    """The network of this name, trained as `jumok train` does."""
    side = PLACES * STEP
    sizes = {"height": side, "width": side, "patch": PATCH, "channels": (32,)}
    config = ImageClassifierConfig.model_validate({**sizes, "attention_heads": 1, **AFTER[name]})
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = build(config, DataSizes(labels=COLOURS))
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
    updates = PictureStream(drawn.store, BATCH, BATCH, Augmentation(), seed)
    losses = []
    for step in range(1, steps + 1):
        rate = learning_rate(schedule, training.learning_rate, step, step / steps)
        losses.append(learner.update(next(updates), step, rate).loss)
    trained = learner.averaged()
    assert isinstance(trained, ImageClassifier)
    with one_thread():
        right = sum(
            int((trained.probabilities(batch.pixels).argmax(1) == batch.labels).sum())
            for batch in in_order(unseen.store, 200)
        )
    curve = [(float(end), mean(losses[end - 20 : end])) for end in range(20, steps + 1, 20)]
    return Run(trained, 100.0 * right / len(unseen.store), curve)


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


def cells_of(corner: npt.NDArray[np.int64]) -> list[int]:
    """The cells that a thing lies on, numbered row by row."""
    row, column = corner // PATCH
    span = range(SIDE // PATCH)
    return [int((row + down) * CELLS + column + right) for down in span for right in span]


def run(setting: Setting) -> Findings:
    """Trains the three with every seed, and measures what the fifth frames attend to."""
    drawn, unseen = draw(TRAINING, 1), draw(UNSEEN, 2)
    steps = STEPS * (LONGER if setting.full else 1)
    runs: dict[str, list[Run]] = {}
    for name, words in NAMES.items():
        setting.say(f"training: {words.en}")
        runs[name] = [train(name, drawn, unseen, steps, seed) for seed in setting.seeds]
    accuracies = {name: [each.accuracy for each in of_name] for name, of_name in runs.items()}
    centre = {name: mean(values) for name, values in accuracies.items()}
    gain = centre["attention"] - centre["mixing"]
    found = [looks(each.model, unseen) for each in runs["attention"]]
    partner, others = (mean(shares) for shares in zip(*found, strict=True))
    sizes = {
        name: sum(parameter.numel() for parameter in of_name[0].model.parameters())
        for name, of_name in runs.items()
    }
    several = len(setting.seeds) > 1
    return Findings(
        columns=(
            Column(Text("network", "신경망")),
            Column(Text("parameters", "매개변수"), ",d"),
            Column(Text("right on unseen images, %", "처음 보는 이미지의 정답률 (%)"), ".1f"),
            Column(Text("± over seeds", "시드 간 ±"), ".1f"),
        ),
        rows=[
            [words, sizes[name], centre[name], spread(accuracies[name]) if several else None]
            for name, words in NAMES.items()
        ],
        figures={
            "accuracy": accuracies,
            "parameters": sizes,
            "gain": gain,
            "attention_on": {"partner": partner, "others": others},
        },
        conditions=(Condition(Text("gain", "차이"), [gain], BETTER),),
        sentence=_sentence(centre, gain, partner, others),
        panels=(
            Bars(
                Text("What colour is the partner's core?", "짝의 안쪽은 무슨 색인가?"),
                Text("right, % (13 by chance)", "정답률 (%), 우연: 13"),
                [(NAMES[name], centre[name]) for name in NAMES],
                spread=[spread(accuracies[name]) for name in NAMES],
                form=".1f",
            ),
            Chart(
                Text("Training", "학습"),
                Text("training step", "학습 단계"),
                Text("training loss (nats per image)", "학습 손실 (이미지당 nat)"),
                [Series(NAMES[name], runs[name][0].curve) for name in NAMES],
                least=0.0,
            ),
        ),
    )


def _sentence(centre: dict[str, float], gain: float, partner: float, others: float) -> Text:
    return Text(
        "Each image has four frames of different colours with coloured cores, and a fifth, whose "
        "core is black; the task is to name the core colour of its partner, the frame of the same "
        "colour. With equal numbers of parameters and steps, attention is right in "
        f"{centre['attention']:.1f}% and 1x1 convolutions in {centre['mixing']:.1f}% of unseen "
        f"images ({gain:+.1f} points; neither: {centre['neither']:.1f}%). The fifth frame gives "
        f"{partner:.0%} of its attention to its partner and {others:.0%} to the three others "
        "together.",
        "이미지마다 색이 서로 다르고 안쪽이 칠해진 사각 틀 네 개와, 안쪽이 검은 다섯째 틀이 "
        "있습니다. 다섯째 틀과 색이 같은 틀(짝)의 안쪽 색을 맞히는 문제입니다. 매개변수와 단계 "
        f"수가 같을 때 처음 보는 이미지에서 어텐션은 {centre['attention']:.1f}%, 1x1 합성곱은 "
        f"{centre['mixing']:.1f}%를 맞힙니다({gain:+.1f}%포인트, 둘 다 없으면 "
        f"{centre['neither']:.1f}%). 다섯째 틀은 어텐션의 {partner:.0%}를 짝에, "
        f"{others:.0%}를 나머지 세 틀에 줍니다.",
    )
