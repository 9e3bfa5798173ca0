"""Does a Transformer need more data than an RNN?

Attention knows nothing of order or nearness before it has learned it; the note takes this for the
reason why a Transformer is powerful, and why it needs very much data. Tried: two language models of
smallworld's English sentences, a Transformer and a GRU with about as many parameters, on 60 to
7,680 sentences. Each gets the same number of steps at two learning rates; the best of its checks on
validation sentences counts, so neither is judged after it has overfitted, and the loss is taken of
other sentences, which no training set contains.

What the note says needs two things: with little data the Transformer is behind, and with much it is
not. Small models and simple sentences are no web corpus: what can show here is the tendency.

Source: lecture 002; Vaswani et al. 2017; Ezen-Can 2020, A comparison of LSTM and BERT for small
corpus (the LSTM is better on a small corpus).
"""

import copy
import math
from dataclasses import dataclass
from itertools import islice

import torch
from torch import nn

import smallworld
from jumok.config.causal import CausalConfig
from jumok.models.causal import CausalLanguageModel
from jumok.shapes import Float, Int, Tensor
from jumok.training.precision import one_thread
from jumok_lectures import world
from jumok_lectures.findings import Findings, Series, Setting
from jumok_lectures.judging import differences, mean
from jumok_lectures.texts import Texts

T = Texts("data")

LITTLE = 240
DRAWS = {LITTLE: 3}  # a few sentences are a matter of luck: the mean of so many sets a seed
CHECKS, BATCH = 30, 48
LENGTH = 10  # a sentence and its marks; shorter ones are filled up
FILL, START = 0, 1  # the first entries of the vocabulary
NAMES = T.named("names")


@dataclass(frozen=True)
class Amounts:
    """How much is read, and trained.

    Attributes:
        sizes: sentences to train on.
        held_out: sentences for choosing, and as many for judging.
        counted: sentences that the common words are counted in.
    """

    sizes: tuple[int, ...] = (60, LITTLE, 960, 7680)
    held_out: int = 400
    counted: int = world.COUNTED
    steps: int = 240
    rates: tuple[float, ...] = (3e-3, 1e-2)


@dataclass(frozen=True)
class Sentences:
    """Numbered words: START, the words, START again as the end, FILL."""

    train: Int[Tensor, "sentence length"]
    choosing: Int[Tensor, "sentence length"]
    judging: Int[Tensor, "sentence length"]
    vocabulary: int


class Recurrent(nn.Module):
    """A GRU that predicts the next word; its table is also its output's, as in the Transformer."""

    def __init__(self, vocabulary: int, dim: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(vocabulary, dim) / math.sqrt(dim))
        self.layers = nn.GRU(dim, dim, num_layers=2, batch_first=True)

    def forward(self, words: Int[Tensor, "batch length"]) -> Float[Tensor, "batch length _"]:
        """The logits after every word."""
        scale = math.sqrt(self.table.shape[1])
        return self.layers(self.table[words] * scale)[0] @ self.table.T


class Attending(nn.Module):
    """jumok's causal Transformer."""

    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        sizes = {"dim": 48, "heads": 4, "layers": 2, "feedforward": 96, "dropout": 0.0}
        self.model = CausalLanguageModel(CausalConfig.model_validate(sizes), vocabulary)

    def forward(self, words: Int[Tensor, "batch length"]) -> Float[Tensor, "batch length _"]:
        """The logits after every word."""
        return self.model.hidden(words) @ self.model.decoder.embedding.table.T


def sentences(seed: int, amounts: Amounts) -> Sentences:
    """The same validation and test sentences for every seed; other ones to train on."""
    words = ["", "<s>", *sorted(world.common_words(amounts.counted))]
    number = {word: place for place, word in enumerate(words)}

    def numbered(split: str, chosen: int, count: int) -> list[list[int]]:
        pairs = smallworld.distinct(smallworld.pairs(split, chosen, 3, LENGTH - 2))
        known = (pair for pair in pairs if world.words(pair) <= number.keys())
        rows = []
        for pair in islice(known, count):
            line = world.split(pair.source)
            row = [START, *(number[word] for word in line), START]
            rows.append(row + [FILL] * (LENGTH + 1 - len(row)))
        return rows

    held = torch.tensor(numbered("test", world.SEED, 2 * amounts.held_out))
    train = torch.tensor(numbered("train", seed, max(amounts.sizes)))
    choosing, judging = held.split(amounts.held_out)
    return Sentences(train, choosing, judging, len(words))


def loss(model: nn.Module, rows: Int[Tensor, "batch length"]) -> Float[Tensor, ""]:
    """Nats a word."""
    logits = model(rows[:, :-1])
    return nn.functional.cross_entropy(
        logits.flatten(0, 1), rows[:, 1:].flatten(), ignore_index=FILL
    )


def build(kind: str, vocabulary: int, seed: int) -> nn.Module:
    """Untrained."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Attending(vocabulary) if kind == "transformer" else Recurrent(vocabulary, 54)


def parameters(model: nn.Module) -> int:
    """How many it has."""
    return sum(parameter.numel() for parameter in model.parameters())


def trained(
    kind: str, data: Sentences, rows: Int[Tensor, "size length"], rate: float, steps: int, seed: int
) -> tuple[float, float]:
    """Loss on the sentences for choosing at the best check, and on those for judging there.

    Args:
        rows: what it is trained on.
    """
    model = build(kind, data.vocabulary, seed)
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    best, kept = math.inf, copy.deepcopy(model.state_dict())
    for step in range(1, steps + 1):
        chosen = torch.randint(len(rows), (BATCH,), generator=generator)
        value = loss(model.train(), rows[chosen])
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        schedule.step()
        if step % CHECKS == 0:
            with torch.no_grad():
                checked = float(loss(model.eval(), data.choosing))
            if checked < best:
                best, kept = checked, copy.deepcopy(model.state_dict())
    model.load_state_dict(kept)
    with torch.no_grad():
        return best, float(loss(model.eval(), data.judging))


def losses_of(name: str, seed: int, amounts: Amounts) -> list[float]:
    """Size by size, at the rate that is best on the sentences for choosing; the mean of draws."""
    data = sentences(seed, amounts)

    def best(rows: Int[Tensor, "size length"]) -> float:
        tries = (trained(name, data, rows, rate, amounts.steps, seed) for rate in amounts.rates)
        return min(tries)[1]

    with one_thread():
        return [
            mean([*map(best, data.train[: DRAWS.get(size, 1) * size].split(size))])
            for size in amounts.sizes
        ]


def run(setting: Setting, amounts: Amounts = Amounts()) -> Findings:
    """Both kinds at every size with every seed."""
    setting.say(f"training: {', '.join(name.en for name in NAMES.values())}")
    losses = setting.every_seed(losses_of, NAMES, amounts)
    by_size = {
        name: dict(zip(amounts.sizes, map(list, zip(*seeds, strict=True)), strict=True))
        for name, seeds in losses.items()
    }
    vocabulary = sentences(setting.seed, amounts).vocabulary
    counts = {name: parameters(build(name, vocabulary, setting.seed)) for name in NAMES}
    transformer, gru = by_size["transformer"], by_size["gru"]
    apart = {size: differences(transformer[size], gru[size]) for size in gru}
    most = max(apart)
    return T.findings(
        rows=[
            [size, mean(transformer[size]), mean(gru[size]), mean(own), min(own), max(own)]
            for size, own in apart.items()
        ],
        figures={
            "losses": {
                name: {str(size): own for size, own in sizes.items()}
                for name, sizes in by_size.items()
            },
            "parameters": counts,
        },
        conditions=[
            T.condition("little_sentences_transformer_minus", apart[LITTLE], little=LITTLE),
            T.condition("most_sentences_transformer_minus", apart[most], most=most),
            T.condition("what_the_transformer_gains", differences(apart[LITTLE], apart[most])),
        ],
        panels=[
            T.chart(
                [Series.of_seeds(NAMES[name], own) for name, own in by_size.items()], log_x=True
            )
        ],
        counts=counts,
        few=LITTLE,
        many=most,
        little=apart[LITTLE],
        much=apart[most],
    )
