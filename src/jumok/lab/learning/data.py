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

from jumok import smallworld
from jumok.config.causal import CausalConfig
from jumok.lab import world
from jumok.lab.findings import Chart, Column, Findings, Series, Setting
from jumok.lab.judging import Condition, differences, mean
from jumok.lab.text import Text
from jumok.models.causal import CausalLanguageModel
from jumok.shapes import Float, Int, Tensor
from jumok.training.precision import one_thread

SIZES = (60, 240, 960, 7680)
LITTLE, MOST = 240, SIZES[-1]
DRAWS = {LITTLE: 3}  # a few sentences are a matter of luck: the mean of so many sets a seed
HELD_OUT = 400  # sentences for choosing, and as many for judging
STEPS, CHECKS, BATCH = 240, 30, 48
RATES = (3e-3, 1e-2)
LENGTH = 10  # a sentence and its marks; shorter ones are filled up
FILL, START = 0, 1  # the first entries of the vocabulary
NAMES = {"transformer": Text("Transformer", "트랜스포머"), "gru": Text("GRU", "GRU")}
BEHIND = 0.05  # nats a word


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


def sentences(seed: int) -> Sentences:
    """The same validation and test sentences for every seed; other ones to train on."""
    words = ["", "<s>", *sorted(world.common_words())]
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

    held = numbered("test", world.SEED, 2 * HELD_OUT)
    return Sentences(
        torch.tensor(numbered("train", seed, MOST)),
        torch.tensor(held[:HELD_OUT]),
        torch.tensor(held[HELD_OUT:]),
        len(words),
    )


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
    kind: str, data: Sentences, rows: Int[Tensor, "size length"], rate: float, seed: int
) -> tuple[float, float]:
    """Loss on the sentences for choosing at the best check, and on those for judging there.

    Args:
        rows: what it is trained on.
    """
    model = build(kind, data.vocabulary, seed)
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    best, kept = math.inf, copy.deepcopy(model.state_dict())
    for step in range(1, STEPS + 1):
        chosen = torch.randint(len(rows), (BATCH,), generator=generator)
        value = loss(model.train(), rows[chosen])
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        schedule.step()
        if step % CHECKS == 0:
            with torch.no_grad():
                found = float(loss(model.eval(), data.choosing))
            if found < best:
                best, kept = found, copy.deepcopy(model.state_dict())
    model.load_state_dict(kept)
    with torch.no_grad():
        return best, float(loss(model.eval(), data.judging))


def best(kind: str, data: Sentences, rows: Int[Tensor, "size length"], seed: int) -> float:
    """Loss on the sentences for judging, at the rate that is best on those for choosing."""
    return min(trained(kind, data, rows, rate, seed) for rate in RATES)[1]


@dataclass(frozen=True)
class ModelWithSeed:
    """What one process trains: a kind of model at every size, with one seed."""

    name: str
    seed: int


def losses_of(job: ModelWithSeed) -> list[float]:
    """Size by size; where there are several draws of a size, their mean."""
    data = sentences(job.seed)
    found = []
    with one_thread():
        for size in SIZES:
            draws = data.train[: DRAWS.get(size, 1) * size].split(size)
            found.append(mean([best(job.name, data, rows, job.seed) for rows in draws]))
    return found


def run(setting: Setting) -> Findings:
    """Both kinds at every size with every seed."""
    setting.say(f"training: {', '.join(name.en for name in NAMES.values())}")
    first, many = setting.seeds[0], len(setting.seeds)
    losses = setting.workers.map(
        losses_of, [ModelWithSeed(name, seed) for name in NAMES for seed in setting.seeds]
    )
    found = {
        name: {
            size: [each[column] for each in losses[many * place : many * (place + 1)]]
            for column, size in enumerate(SIZES)
        }
        for place, name in enumerate(NAMES)
    }
    vocabulary = sentences(first).vocabulary
    return report(found, {name: parameters(build(name, vocabulary, first)) for name in NAMES})


def conditions(found: dict[str, dict[int, list[float]]]) -> tuple[Condition, ...]:
    """Behind with little data, not behind with much, and gaining in between."""
    gap = {
        size: differences(found["transformer"][size], found["gru"][size]) for size in (LITTLE, MOST)
    }
    return (
        Condition(
            Text(
                f"{LITTLE} sentences: Transformer minus GRU",
                f"문장 {LITTLE}개: 트랜스포머 - GRU",
            ),
            gap[LITTLE],
            BEHIND,
            form="+.3f",
        ),
        Condition(
            Text(
                f"{MOST:,} sentences: Transformer minus GRU",
                f"문장 {MOST:,}개: 트랜스포머 - GRU",
            ),
            gap[MOST],
            BEHIND,
            above=False,
            form="+.3f",
        ),
        Condition(
            Text(
                "what the Transformer gains on the GRU in between", "그 사이 트랜스포머가 좁힌 차이"
            ),
            differences(gap[LITTLE], gap[MOST]),
            BEHIND,
            form="+.3f",
        ),
    )


def report(found: dict[str, dict[int, list[float]]], counts: dict[str, int]) -> Findings:
    """A row for each size."""
    transformer, gru = found["transformer"], found["gru"]
    return Findings(
        columns=(
            Column(Text("sentences", "문장 수"), ",d"),
            Column(Text("Transformer (nats a word)", "트랜스포머 (단어당 nat)"), ".3f"),
            Column(Text("GRU", "GRU"), ".3f"),
            Column(Text("difference", "차이"), "+.3f"),
            Column(Text("least", "최소"), "+.3f"),
            Column(Text("most", "최대"), "+.3f"),
        ),
        rows=[
            [
                size,
                mean(transformer[size]),
                mean(gru[size]),
                mean(apart := differences(transformer[size], gru[size])),
                min(apart),
                max(apart),
            ]
            for size in SIZES
        ],
        figures={
            "losses": {
                kind: {str(size): losses for size, losses in by_size.items()}
                for kind, by_size in found.items()
            },
            "parameters": counts,
        },
        conditions=conditions(found),
        sentence=_sentence(found, counts),
        panels=(
            Chart(
                Text("Loss on unseen sentences", "처음 보는 문장의 손실"),
                Text("training sentences", "학습 문장 수"),
                Text("nats a word", "단어당 nat"),
                [
                    Series(
                        NAMES[kind],
                        [(float(size), mean(losses)) for size, losses in by_size.items()],
                        low=[min(losses) for losses in by_size.values()],
                        high=[max(losses) for losses in by_size.values()],
                    )
                    for kind, by_size in found.items()
                ],
                log_x=True,
            ),
        ),
    )


def _sentence(found: dict[str, dict[int, list[float]]], counts: dict[str, int]) -> Text:
    gap = {
        size: mean(differences(found["transformer"][size], found["gru"][size])) for size in SIZES
    }
    little, much = gap[LITTLE], gap[MOST]
    return Text(
        f"With {LITTLE} sentences the Transformer ({counts['transformer']:,} parameters) loses "
        f"{abs(little):.2f} nats a word {'more' if little > 0 else 'less'} than the GRU "
        f"({counts['gru']:,}), with {MOST:,} sentences {abs(much):.2f} "
        f"{'more' if much > 0 else 'less'}.",
        f"단어당 손실을 보면 문장이 {LITTLE}개일 때 트랜스포머(매개변수 "
        f"{counts['transformer']:,}개)가 GRU({counts['gru']:,}개)보다 {abs(little):.2f} nat "
        f"{'큽' if little > 0 else '작습'}니다. {MOST:,}개일 때는 {abs(much):.2f} nat "
        f"{'큽' if much > 0 else '작습'}니다.",
    )
