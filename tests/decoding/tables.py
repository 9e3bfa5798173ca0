"""Decoders that are tables: their logits are any function of the sentence and the whole prefix."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import exp, inf, log

import torch

from jumok.models.memory import Memory

END = 3
Logits = Callable[[int, tuple[int, ...]], list[float]]


@dataclass
class Once:
    """A state that may be used once, as the protocol says."""

    rows: torch.Tensor
    used: bool = False

    def take(self) -> torch.Tensor:
        assert not self.used, "a step's state was used again"
        self.used = True
        return self.rows


@dataclass
class Table:
    """What both kinds of state share. `rows_seen` holds the number of rows of every step."""

    logits: Logits
    vocabulary_size: int
    rows_seen: list[int] = field(default_factory=list)

    def answer(self, rows: list[tuple[int, tuple[int, ...]]]) -> torch.Tensor:
        self.rows_seen.append(len(rows))
        return torch.tensor([self.logits(sentence, prefix) for sentence, prefix in rows])

    def forward(self, memory: Memory, tokens: torch.Tensor) -> torch.Tensor:
        sentences = memory.states[:, 0, 0].int().tolist()
        return torch.tensor(
            [
                [self.logits(sentence, tuple(row[1 : end + 1])) for end in range(len(row))]
                for sentence, row in zip(sentences, tokens.tolist(), strict=True)
            ]
        )


class CachedTable(Table):
    """Keeps all tokens so far, like a key/value cache: (batch, sentence and START and prefix)."""

    def start(self, memory: Memory) -> Once:
        return Once(memory.states[:, 0, :1].long())

    def step(self, tokens: torch.Tensor, state: Once) -> tuple[torch.Tensor, Once]:
        rows = torch.cat([state.take(), tokens[:, None]], dim=1)
        answer = self.answer([(row[0], tuple(row[2:])) for row in rows.tolist()])
        return answer, Once(rows)

    def reorder(self, state: Once, rows: torch.Tensor) -> Once:
        return Once(state.take()[rows])


class RecurrentTable(Table):
    """Keeps two numbers a row, like a recurrent state: the sentence, and the prefix as a number
    whose digits are its tokens."""

    def start(self, memory: Memory) -> Once:
        return Once(torch.nn.functional.pad(memory.states[:, 0, :1].long(), (0, 1)))

    def step(self, tokens: torch.Tensor, state: Once) -> tuple[torch.Tensor, Once]:
        rows = state.take()
        digits = rows[:, 1] * self.vocabulary_size + tokens
        answer = self.answer(
            [
                (sentence, self.read(number))
                for sentence, number in zip(rows[:, 0].tolist(), digits.tolist(), strict=True)
            ]
        )
        return answer, Once(torch.stack([rows[:, 0], digits], dim=1))

    def read(self, number: int) -> tuple[int, ...]:
        digits: list[int] = []
        while number:
            number, digit = divmod(number, self.vocabulary_size)
            digits.append(digit)
        return tuple(digits[::-1][1:])  # the first digit is START

    def reorder(self, state: Once, rows: torch.Tensor) -> Once:
        return Once(state.take()[rows])


def mixed_logits(sentence: int, prefix: tuple[int, ...]) -> list[float]:
    """Logits for 7 tokens between 0 and 4 that change with every token of the prefix."""
    number = 7 + 31 * sentence
    for token in prefix:
        number = (number * 131 + token * 17 + 3) % 10007
    return [(number * (token + 11) * (token + 3)) % 997 / 250 for token in range(7)]


def log_softmax(logits: list[float]) -> list[float]:
    """Plain Python, so that nothing of the project is trusted."""
    total = log(sum(exp(value) for value in logits))
    return [value - total for value in logits]


def every_hypothesis(
    logits: Logits, sentence: int, maximum: int, minimum: int = 0
) -> list[tuple[tuple[int, ...], float, bool]]:
    """(tokens, log-probability, finished) of all that can be written, in no order.

    PAD and START are never written. At `maximum` tokens a hypothesis is finished if END is its
    most probable next token, and cut otherwise.
    """
    found: list[tuple[tuple[int, ...], float, bool]] = []

    def grow(prefix: tuple[int, ...], total: float) -> None:
        values = logits(sentence, prefix)
        if len(prefix) < minimum:
            values = [-inf if token == END else value for token, value in enumerate(values)]
        values = log_softmax(values)
        choices = {token: values[token] for token in range(len(values)) if token not in (0, 2)}
        if len(prefix) == maximum:
            finished = max(choices, key=lambda token: choices[token]) == END
            found.append((prefix, total + choices[END] * finished, finished))
            return
        for token, value in choices.items():
            if token != END:
                grow((*prefix, token), total + value)
            elif value > -inf:
                found.append((prefix, total + value, True))

    grow((), 0.0)
    return found


def sentences(*numbers: int) -> Memory:
    """A memory of 5 positions and width 3 whose rows say which sentence they are."""
    states = torch.zeros(len(numbers), 5, 3)
    states[:, 0, 0] = torch.tensor(numbers, dtype=torch.float)
    return Memory(states)


TABLES = [CachedTable, RecurrentTable]
