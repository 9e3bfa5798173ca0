"""Several decoders that write one target together."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Any

import torch

from jumok.errors import ModelError
from jumok.models.memory import Decoder, Memory, logits_of
from jumok.shapes import Float, Int, Tensor


@dataclass(frozen=True)
class JointMemory(Memory):
    """What the encoders of an ensemble wrote, a memory for each member.

    Its own `states`, `allowed` and `lengths` are the first member's: they say how many rows there
    are, where they are, and how long the source is.
    """

    members: tuple[Memory, ...] = ()

    def select(self, rows: Int[Tensor, " rows"]) -> "JointMemory":
        """The memories of these rows, in this order; a row may come twice or not at all."""
        return join_memories([member.select(rows) for member in self.members])


def join_memories(members: Sequence[Memory]) -> JointMemory:
    """One memory for an ensemble, from what each member's encoder wrote for the same sentences.

    Raises:
        ModelError: there is none, or they are not of the same sentences.
    """
    sizes = [len(member.states) for member in members]
    if not sizes or len(set(sizes)) > 1:
        raise ModelError(
            "The members of an ensemble must read the same sentences.",
            expected="one memory for each member, all with the same number of rows",
            got=f"memories with {sizes} rows",
        )
    first = members[0]
    return JointMemory(first.states, first.allowed, first.lengths, tuple(members))


class Ensemble:
    """A Decoder that gives each token the mean of the probabilities that its members give it.

        p(token) = (p_1(token) + ... + p_n(token)) / n

    The members need not be of one kind; their vocabularies must be the same.

    Raises:
        ModelError: no members, or vocabularies of different sizes.
    """

    def __init__(self, members: Sequence[Decoder[Any]]) -> None:
        sizes = [member.vocabulary_size for member in members]
        if not sizes or len(set(sizes)) > 1:
            raise ModelError(
                "The members of an ensemble must write with the same vocabulary.",
                expected="one vocabulary size",
                got=str(sizes),
                do="train the models with one shared tokenizer",
            )
        self.members = list(members)
        self.vocabulary_size = sizes[0]

    def start(self, memory: Memory) -> list[Any]:
        """The members' states. `memory` comes from `join_memories`."""
        pairs = zip(self.members, self._memories(memory), strict=True)
        return [member.start(its) for member, its in pairs]

    def step(
        self, tokens: Int[Tensor, " batch"], state: list[Any]
    ) -> tuple[Float[Tensor, "batch vocabulary"], list[Any]]:
        """Reads one token a row; gives the logarithm of the mean probability of the next one."""
        pairs = zip(self.members, state, strict=True)
        logits, states = zip(*[member.step(tokens, its) for member, its in pairs], strict=True)
        return log_mean_probability(logits), list(states)

    def reorder(self, state: list[Any], rows: Int[Tensor, " rows"]) -> list[Any]:
        """Every member's state whose row i is the old row rows[i]."""
        pairs = zip(self.members, state, strict=True)
        return [member.reorder(its, rows) for member, its in pairs]

    def forward(
        self, memory: Memory, tokens: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target vocabulary"]:
        """The logarithm of the mean probability after every prefix of `tokens`."""
        pairs = zip(self.members, self._memories(memory), strict=True)
        return log_mean_probability([logits_of(member, its, tokens) for member, its in pairs])

    def _memories(self, memory: Memory) -> tuple[Memory, ...]:
        members = memory.members if isinstance(memory, JointMemory) else (memory,)
        if len(members) != len(self.members):
            raise ModelError(
                "An ensemble reads one memory for each of its members.",
                expected=f"join_memories of {len(self.members)} memories",
                got=f"{len(members)}",
            )
        return members


def log_mean_probability(logits: Sequence[Float[Tensor, "*rows vocabulary"]]) -> Tensor:
    """log of the mean over the members of softmax(logits), never through the probabilities.

    A probability below 1e-38 is 0 in float32, and its logarithm would be lost.
    """
    members = torch.stack([each.float().log_softmax(-1) for each in logits])
    return members.logsumexp(0) - log(len(members))
