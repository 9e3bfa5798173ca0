"""Captions, and what each word attends to.

A convolutional network writes a grid of cells; the decoder either reads all of it as one vector,
or attends to the grid again before every word. Tried on small drawn pictures of two or three
coloured shapes, which lie across the cells' borders, described in reading order: how many captions
are wholly right, and whether a noun's and a colour's attention is in the box of what they name.

Source: Xu et al. 2015; Zhang et al. 2016 (the pointing game); lecture 004.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

import numpy as np
import torch

from jumok.attention.observe import Attention, observe
from jumok.config import TrainingConfig
from jumok.config.captioner import CaptionerConfig
from jumok.data.captions.batches import CaptionBatch
from jumok.data.tokenizer import END, PAD, START
from jumok.decoding import DecodingOptions, decode
from jumok.evaluation.pointing import NounAttention, score_pointing
from jumok.models.captioner import CaptionerModel
from jumok.shapes import Float, Tensor, UInt8
from jumok.training.objectives import captioning
from jumok.training.precision import choose_precision, one_thread
from jumok_lectures.findings import Findings, Grid, Setting
from jumok_lectures.fitting import learn, short
from jumok_lectures.judging import cells, differences, mean
from jumok_lectures.texts import Texts

T = Texts("looking")

SIDE, CELL, CELLS = 32, 4, 8  # pixels of a picture and of a cell; cells of a row
COLOURS = {"red": (220, 50, 40), "green": (40, 170, 70), "blue": (50, 80, 220)}
SHAPES = ("square", "disc", "cross")
WORDS = ("and", *COLOURS, *SHAPES)
FIRST = END + 1  # the token of WORDS[0]
THING, SLOT, SLOTS = 8, 10, 3  # pixels of a thing and of a slot that it moves in; slots of a row
STEPS, BATCH, TESTED, LONGER = 1_200, 32, 200, 3

NAMES = T.named("names")


@dataclass(frozen=True)
class DrawnScene:
    """A drawn picture: its pixels, and the things on it in reading order: corner, colour, shape.

    A corner is (left, top), in pixels.
    """

    pixels: UInt8[np.ndarray, "3 height width"]
    things: tuple[tuple[tuple[int, int], str, str], ...]

    @property
    def words(self) -> list[str]:
        """ "red disc and blue square"."""
        phrases = [[colour, shape] for _, colour, shape in self.things]
        return [word for phrase in phrases for word in ("and", *phrase)][1:]


def draw(random: Random) -> DrawnScene:
    """Two or three things, each somewhere in a slot of its own; slots are not the grid's cells."""
    pixels = np.full((3, SIDE, SIDE), random.randrange(200, 250), dtype=np.uint8)
    slots = sorted(random.sample(range(SLOTS * SLOTS), random.choice((2, 3))))
    things = tuple(
        (_corner(random, slot), random.choice(list(COLOURS)), random.choice(SHAPES))
        for slot in slots
    )
    for (left, top), colour, shape in things:
        inside = pixels[:, top : top + THING, left : left + THING]
        inside[:, stencil(shape)] = np.array(COLOURS[colour], dtype=np.uint8)[:, None]
    return DrawnScene(pixels, things)


def _corner(random: Random, slot: int) -> tuple[int, int]:
    down, right = divmod(slot, SLOTS)
    left, top = (1 + SLOT * place + random.randint(0, SLOT - THING) for place in (right, down))
    return left, top


def stencil(shape: str) -> "np.ndarray":
    """Which of a thing's pixels the shape covers."""
    y, x = np.mgrid[:THING, :THING] - (THING - 1) / 2
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
    """A small network and a GRU, which reads one vector or attends to 8 x 8 cells."""
    encoder = {"kind": "cnn", "size": SIDE, "patch": 4, "channels": (64,), "blocks": 1}
    decoder = {"kind": "rnn", "dim": 64, "embedding": 64, "dropout": 0.0}
    config = CaptionerConfig.model_validate(
        {"encoder": encoder, "memory": memory, "decoder": decoder}
    )
    return CaptionerModel(config, FIRST + len(WORDS))


def train(memory: str, seed: int, steps: int) -> CaptionerModel:
    """A captioner after this number of batches of new pictures."""
    training = short(TrainingConfig, steps, 4e-3)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = build(memory)
    precision = choose_precision("auto", torch.device("cpu")).dtype
    random = Random(f"pictures {seed}")
    batches = ([batch_of([draw(random) for _ in range(BATCH)])] for _ in range(steps))
    return learn(model, captioning, training, batches, seed, precision)[0]


@torch.no_grad()
def captions(model: CaptionerModel, pictures: list[DrawnScene]) -> list[list[str]]:
    """What the model writes, word by word from its own words."""
    memory = model.encode(batch_of(pictures).pictures)
    lines = decode(model.decoder, memory, DecodingOptions(beam=1, maximum_length=12))
    return [[WORDS[token - FIRST] for token in best[0].tokens if token >= FIRST] for best in lines]


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


def named(
    picture: DrawnScene, words: list[str], weights: Float[Tensor, "word cell"], colours: bool
) -> Iterator[NounAttention]:
    """Every noun of a caption, or every colour, with the boxes of what it names."""
    for place, word in enumerate(words):
        phrase = words[place : place + 2] if colours else words[max(0, place - 1) : place + 1]
        if word in (COLOURS if colours else SHAPES):
            boxes = [_box(corner) for corner, *thing in picture.things if thing == phrase]
            grid = weights[place].view(CELLS, CELLS).double().numpy()
            yield NounAttention(grid, boxes, SIDE, SIDE)


def _box(corner: tuple[int, int]) -> tuple[int, int, int, int]:
    left, top = corner
    return left, top, left + THING, top + THING


@dataclass(frozen=True)
class CaptionScores:
    """How it went.

    Attributes:
        right: percent of the captions, word for word.
        pointing: of nouns: pointing accuracy, attention in the box, and the same of even attention.
        colours: pointing accuracy of colours.
        grid: the first picture.
    """

    right: float
    pointing: tuple[float, ...] = ()
    colours: float = 0.0
    grid: Grid | None = None


def evaluated(memory: str, seed: int, steps: int) -> CaptionScores:
    """Trains one captioner, and evaluates it on unseen pictures."""
    model, random = train(memory, seed, steps), Random(f"test {seed}")
    pictures = [draw(random) for _ in range(TESTED)]
    with one_thread():
        written = captions(model, pictures)
        pairs = list(zip(pictures, written, strict=True))
        right = 100.0 * mean([float(words == picture.words) for picture, words in pairs])
        if memory == "one":
            return CaptionScores(right)
        seen = [looks(model, picture, words) for picture, words in pairs]
    nouns, colours = (
        scored([n for (p, w), a in zip(pairs, seen, strict=True) for n in named(p, w, a, colours)])
        for colours in (False, True)
    )
    return CaptionScores(right, nouns, colours[0], _grid(*pairs[0], seen[0]))


def scored(every: list[NounAttention]) -> tuple[float, ...]:
    """Pointing accuracy, attention in the box, and the box's share of even attention, percent."""
    return tuple(score.value for score in score_pointing(every)) if every else (0.0, 0.0, 0.0)


def _grid(picture: DrawnScene, words: list[str], weights: Float[Tensor, "word cell"]) -> Grid:
    numbers = [f"{cell // CELLS + 1},{cell % CELLS + 1}" for cell in range(CELLS * CELLS)]
    framed = [
        (row, cell)
        for row, word in enumerate(words)
        for corner, *thing in picture.things
        for cell in _cells(corner)
        if word in SHAPES and row and thing == [words[row - 1], word]
    ]
    return T.grid(words, numbers, weights.tolist(), framed=framed)


def _cells(corner: tuple[int, int]) -> list[int]:
    """The cells that a thing lies on."""
    across, down = (
        range(edge // CELL, (edge + THING - 1) // CELL + 1) for edge in (corner[0], corner[1])
    )
    return [row * CELLS + column for row in down for column in across]


def run(setting: Setting) -> Findings:
    """Trains both with every seed, and evaluates both on unseen pictures."""
    steps = STEPS * (LONGER if setting.full else 1)
    setting.say(f"training: {', '.join(name.en for name in NAMES.values())}")
    return report(**setting.every_seed(evaluated, NAMES, steps))


def report(one: list[CaptionScores], grid: list[CaptionScores]) -> Findings:
    """Right captions with and without attention, and where nouns and colours point."""
    right = {"one": [each.right for each in one], "grid": [each.right for each in grid]}
    nouns, inside, even = (list(each) for each in zip(*(run.pointing for run in grid), strict=True))
    colours = [each.colours for each in grid]
    shown = grid[0].grid
    assert shown is not None
    pointing = [*cells(nouns), mean(colours), mean(inside)]
    return T.findings(
        rows=[
            [NAMES["one"], *cells(right["one"]), None, None, None, None],
            [NAMES["grid"], *cells(right["grid"]), *pointing],
        ],
        figures={
            "right": right,
            "pointing_accuracy": nouns,
            "colours": colours,
            "attention_in_box": inside,
            "even_attention_in_box": even,
        },
        conditions=[
            T.condition("nouns_point_into_the", nouns),
            T.condition("more_captions_right_than", differences(right["grid"], right["one"])),
        ],
        panels=[shown, T.bars([(NAMES[name], right[name]) for name in NAMES], form=".0f")],
        right=right,
        nouns=nouns,
        colours=colours,
        inside=mean(inside),
        even=mean(even),
    )
