"""Captions, and what each word attends to.

A convolutional network writes a grid of cells; the decoder either reads all of it as one vector,
or attends to the grid again before every word. Tried on small drawn pictures of two or three
coloured shapes, described in reading order: how many captions are wholly right, and whether the
word "disc" looks into the disc.

Source: Xu et al. 2015; Zhang et al. 2016 (the pointing game); lecture 004.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

import numpy as np
import torch

from jumok.attention.observe import Attention, observe
from jumok.config import AverageConfig, ScheduleConfig, TrainingConfig
from jumok.config.captioner import CaptionerConfig
from jumok.data.captions.batches import CaptionBatch
from jumok.data.tokenizer import END, PAD, START
from jumok.decoding import DecodingOptions, decode
from jumok.evaluation.pointing import NounAttention, score_pointing
from jumok.lab.findings import Bars, Column, Findings, Grid, Setting
from jumok.lab.judging import Condition, mean
from jumok.lab.text import Text
from jumok.models.captioner import CaptionerModel
from jumok.shapes import Float, Tensor, UInt8
from jumok.training.learner import Learner
from jumok.training.objectives.captions import captioning
from jumok.training.optimization.schedule import learning_rate
from jumok.training.precision import choose, one_thread

SIDE, CELL, CELLS = 32, 8, 4  # pixels of a picture and of a cell; cells of a row
COLOURS = {"red": (220, 50, 40), "green": (40, 170, 70), "blue": (50, 80, 220)}
SHAPES = ("square", "disc", "cross")
WORDS = ("and", *COLOURS, *SHAPES)
FIRST = END + 1  # the token of WORDS[0]
STEPS, BATCH, TESTED, LONGER = 400, 32, 200, 3
POINTS, MORE = 90.0, 5.0  # the claim: pointing accuracy, and percent more right captions

NAMES = {
    "one": Text("one vector for the picture", "이미지 전체를 벡터 하나로"),
    "grid": Text("attention over the grid", "격자에 대한 어텐션"),
}


@dataclass(frozen=True)
class DrawnScene:
    """A drawn picture: its pixels, and the things on it in reading order: cell, colour, shape."""

    pixels: UInt8[np.ndarray, "3 height width"]
    things: tuple[tuple[int, str, str], ...]

    @property
    def words(self) -> list[str]:
        """ "red disc and blue square"."""
        phrases = [[colour, shape] for _, colour, shape in self.things]
        return [word for phrase in phrases for word in ("and", *phrase)][1:]


def draw(random: Random) -> DrawnScene:
    """Two or three things, each in a cell of its own."""
    pixels = np.full((3, SIDE, SIDE), random.randrange(200, 250), dtype=np.uint8)
    cells = sorted(random.sample(range(CELLS * CELLS), random.choice((2, 3))))
    things = tuple((cell, random.choice(list(COLOURS)), random.choice(SHAPES)) for cell in cells)
    for cell, colour, shape in things:
        top, left = (CELL * place for place in divmod(cell, CELLS))
        inside = pixels[:, top : top + CELL, left : left + CELL]
        inside[:, stencil(shape)] = np.array(COLOURS[colour], dtype=np.uint8)[:, None]
    return DrawnScene(pixels, things)


def stencil(shape: str) -> "np.ndarray":
    """Which of a cell's pixels the shape covers."""
    y, x = np.mgrid[:CELL, :CELL] - (CELL - 1) / 2
    if shape == "disc":
        return np.asarray(x**2 + y**2 <= 10.0)
    inner = (abs(x) < 3) & (abs(y) < 3)
    if shape == "square":
        return np.asarray(inner)
    return np.asarray(((abs(x) < 1) | (abs(y) < 1)) & (abs(x) < 4) & (abs(y) < 4))


def batch_of(pictures: list[DrawnScene]) -> CaptionBatch:
    """Pictures with their captions."""
    written = [[FIRST + WORDS.index(word) for word in picture.words] for picture in pictures]
    longest = max(map(len, written)) + 1
    inputs = [[START, *ids, *[PAD] * (longest - len(ids) - 1)] for ids in written]
    outputs = [[*ids, END, *[PAD] * (longest - len(ids) - 1)] for ids in written]
    return CaptionBatch(
        torch.from_numpy(np.stack([picture.pixels for picture in pictures])),
        torch.arange(len(pictures)),
        torch.tensor(inputs),
        torch.tensor(outputs),
        sum(map(len, written)) + len(written),
    )


def build(memory: str) -> CaptionerModel:
    """A small network and a GRU, which reads one vector or attends to 4 x 4 cells."""
    encoder = {"kind": "cnn", "size": SIDE, "patch": 4, "channels": (32, 64), "blocks": 1}
    decoder = {"kind": "rnn", "dim": 64, "embedding": 64, "dropout": 0.0}
    config = CaptionerConfig.model_validate(
        {"encoder": encoder, "memory": memory, "decoder": decoder}
    )
    return CaptionerModel(config, FIRST + len(WORDS))


def train(memory: str, seed: int, steps: int) -> CaptionerModel:
    """A captioner after this number of batches of new pictures."""
    training = TrainingConfig(
        steps=steps,
        schedule=ScheduleConfig(warmup=steps // 10),
        average=AverageConfig(decay=0.98),
        label_smoothing=0.0,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = build(memory)
    precision = choose("auto", torch.device("cpu")).dtype
    learner = Learner(model, captioning, training, seed, precision)
    random = Random(f"pictures {seed}")
    for step in range(1, steps + 1):
        batch = batch_of([draw(random) for _ in range(BATCH)])
        learner.update([batch], step, learning_rate(training.schedule, 4e-3, step, step / steps))
    trained = learner.averaged()
    assert isinstance(trained, CaptionerModel)
    return trained


@torch.no_grad()
def captions(model: CaptionerModel, pictures: list[DrawnScene]) -> list[list[str]]:
    """What the model writes, word by word from its own words."""
    memory = model.encode(batch_of(pictures).pictures)
    found = decode(model.decoder, memory, DecodingOptions(beam=1, maximum_length=12))
    return [[WORDS[token - FIRST] for token in best[0].tokens if token >= FIRST] for best in found]


@torch.no_grad()
def looks(
    model: CaptionerModel, picture: DrawnScene, words: list[str]
) -> Float[Tensor, "word cell"]:
    """How much each word attended to each cell at the step that wrote it."""
    seen: list[Tensor] = []

    def keep(_: str, attention: Attention) -> None:
        seen.append(attention.weights[0].mean(0))  # over the heads: (query cell)

    tokens = torch.tensor([[START, *(FIRST + WORDS.index(word) for word in words)]])
    memory = model.encode(torch.from_numpy(picture.pixels)[None])
    with observe(model, keep, model.cross_sites.__contains__):
        model.decoder.hidden(memory, tokens)
    return torch.cat(seen)[: len(words)]


def nouns(
    picture: DrawnScene, words: list[str], weights: Float[Tensor, "word cell"]
) -> Iterator[NounAttention]:
    """Every noun of a caption with the boxes of what it names, colour included."""
    for place, word in enumerate(words):
        if word in SHAPES:
            colour = words[place - 1] if place else ""
            boxes = [_box(cell) for cell, *named in picture.things if named == [colour, word]]
            grid = weights[place].view(CELLS, CELLS).double().numpy()
            yield NounAttention(grid, boxes, SIDE, SIDE)


def _box(cell: int) -> tuple[int, int, int, int]:
    top, left = (CELL * place for place in divmod(cell, CELLS))
    return left, top, left + CELL, top + CELL


def run(setting: Setting) -> Findings:
    """Trains both, and evaluates both on unseen images."""
    random = Random(f"test {setting.seed}")
    pictures = [draw(random) for _ in range(TESTED)]
    steps = STEPS * (LONGER if setting.full else 1)
    right: dict[str, list[float]] = {}
    pointing: list[list[float]] = []
    grid: Grid | None = None
    for name, title in NAMES.items():
        setting.say(f"training: {title.en}")
        right[name] = []
        for seed in setting.seeds:
            model = train(name, seed, steps)
            with one_thread():
                written = captions(model, pictures)
                right[name].append(_right(pictures, written))
                if name == "grid":
                    seen = [looks(model, p, w) for p, w in zip(pictures, written, strict=True)]
                    pointing.append(_pointing(pictures, written, seen))
                    grid = grid or _grid(pictures[0], written[0], seen[0])
    assert grid is not None
    return report(right, [mean(each) for each in zip(*pointing, strict=True)], grid)


def _right(pictures: list[DrawnScene], written: list[list[str]]) -> float:
    """Percent of the captions that are right word for word."""
    pairs = zip(pictures, written, strict=True)
    return 100.0 * mean([float(words == picture.words) for picture, words in pairs])


def _pointing(
    pictures: list[DrawnScene], written: list[list[str]], seen: list[Tensor]
) -> list[float]:
    """Pointing accuracy, attention in the box, and the box's share of uniform attention."""
    every = [
        look
        for picture, words, weights in zip(pictures, written, seen, strict=True)
        for look in nouns(picture, words, weights)
    ]
    return [score.value for score in score_pointing(every)] if every else [0.0, 0.0, 0.0]


def _grid(picture: DrawnScene, words: list[str], weights: Float[Tensor, "word cell"]) -> Grid:
    cells = [f"{cell // CELLS + 1},{cell % CELLS + 1}" for cell in range(CELLS * CELLS)]
    framed = [
        (row, cell)
        for row, word in enumerate(words)
        for cell, *named in picture.things
        if word in SHAPES and row and named == [words[row - 1], word]
    ]
    return Grid(
        Text("Attention of each word; named objects framed", "각 단어가 본 곳 (테두리: 정답)"),
        words,
        cells,
        weights.tolist(),
        Text("word", "단어"),
        Text("cell (row, column)", "칸 (행, 열)"),
        framed=framed,
    )


def report(right: dict[str, list[float]], pointing: list[float], grid: Grid) -> Findings:
    """Right captions with and without attention, and where nouns point."""
    accuracy, inside, even = pointing
    share = {name: mean(values) for name, values in right.items()}
    _points, _better = accuracy >= POINTS, share["grid"] > share["one"] + MORE
    return Findings(
        columns=(
            Column(Text("what the decoder reads", "디코더가 읽는 것")),
            Column(
                Text("captions correct word for word (%)", "정답과 완전히 같은 캡션 (%)"), ".1f"
            ),
            Column(Text("pointing accuracy (%)", "포인팅 게임 정확도 (%)"), ".1f"),
            Column(Text("attention in the box (%)", "상자 안의 어텐션 (%)"), ".1f"),
        ),
        rows=[
            [NAMES["one"], share["one"], None, None],
            [NAMES["grid"], share["grid"], accuracy, inside],
        ],
        figures={
            "right": right,
            "pointing_accuracy": accuracy,
            "attention_in_box": inside,
            "even_attention_in_box": even,
        },
        conditions=(
            Condition(Text("pointing", "포인팅"), [accuracy], POINTS),
            Condition(Text("more", "더"), [share["grid"] - share["one"]], MORE),
        ),
        sentence=Text(
            f"With attention {share['grid']:.0f}% of the captions are correct word for word, with "
            f"one vector {share['one']:.0f}%. In {accuracy:.0f}% of the cases a noun attends most "
            f"to a cell in the box of the object that it names; {inside:.0f}% of its attention is "
            f"in the box, compared with {even:.0f}% for uniform attention.",
            f"정답과 완전히 같은 캡션은 어텐션이 있으면 {share['grid']:.0f}%, 벡터 하나만 있으면 "
            f"{share['one']:.0f}%뿐입니다. 명사의 {accuracy:.0f}%는 자기가 가리키는 것의 상자 안을 "
            f"봅니다. 명사의 어텐션 가운데 {inside:.0f}%가 상자 안에 있습니다. 고르게 "
            f"보았다면 {even:.0f}%였을 것입니다.",
        ),
        panels=(
            grid,
            Bars(
                Text("Captions correct word for word", "정답과 완전히 같은 캡션"),
                Text("percent of unseen images", "처음 보는 이미지에서의 비율 (%)"),
                [(NAMES[name], share[name]) for name in NAMES],
                form=".0f",
            ),
        ),
    )
