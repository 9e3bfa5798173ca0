"""Ensembles: several decoders that write one target together."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Generic, TypeVar

import torch

from jumok.errors import ModelError
from jumok.models.memory import Decoder, Memory, logits_of
from jumok.shapes import Float, Int, Tensor

State = TypeVar("State")


@dataclass(frozen=True)
class JointMemory(Memory):
    """The Memory of an ensemble: one for each member.

    Its own `states`, `allowed` and `lengths` are the first member's: they give the number of rows,
    the device, and the length of the source.
    """

    members: tuple[Memory, ...] = ()

    def select(self, rows: Int[Tensor, " rows"]) -> "JointMemory":
        """The memories of these rows, in this order; rows may be repeated or left out."""
        return join_memories([member.select(rows) for member in self.members])


def join_memories(members: Sequence[Memory]) -> JointMemory:
    """One Memory for an ensemble, from those of its members for the same sentences.

    Raises:
        ModelError: no memories, or different numbers of rows.
    """
    sizes = [len(member.states) for member in members]
    if not sizes or len(set(sizes)) > 1:
        raise ModelError(
            "the members of an ensemble must read the same sentences.",
            expected="one memory for each member, all with the same number of rows",
            got=f"memories with {sizes} rows",
        )
    first = members[0]
    return JointMemory(first.states, first.allowed, first.lengths, members=tuple(members))


class Ensemble(Generic[State]):
    """A Decoder whose probability of a token is the mean of its members' probabilities.

        p(token) = (p_1(token) + ... + p_n(token)) / n

    The members may be of different kinds; their vocabularies must be the same.

    Raises:
        ModelError: no members, or vocabularies of different sizes.
    """

    def __init__(self, members: Sequence[Decoder[State]]) -> None:
        sizes = [member.vocabulary_size for member in members]
        if not sizes or len(set(sizes)) > 1:
            raise ModelError(
                "the members of an ensemble must have the same vocabulary.",
                expected="one vocabulary size",
                got=str(sizes),
                do="train the models with one shared tokenizer",
            )
        self.members = list(members)
        self.vocabulary_size = sizes[0]

    def start(self, memory: Memory) -> list[State]:
        """The members' states. `memory` comes from `join_memories`."""
        pairs = zip(self.members, self._memories(memory), strict=True)
        return [member.start(its) for member, its in pairs]

    def step(
        self, tokens: Int[Tensor, " batch"], state: list[State]
    ) -> tuple[Float[Tensor, "batch vocabulary"], list[State]]:
        """Reads one token a row; returns the logarithm of the mean probability of the next one."""
        pairs = zip(self.members, state, strict=True)
        logits, states = zip(*[member.step(tokens, its) for member, its in pairs], strict=True)
        return log_mean_probability(logits), list(states)

    def reorder(self, state: list[State], rows: Int[Tensor, " rows"]) -> list[State]:
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
                "an ensemble needs one memory for each of its members.",
                expected=f"join_memories of {len(self.members)} memories",
                got=f"{len(members)}",
            )
        return members


def log_mean_probability(logits: Sequence[Float[Tensor, "*rows vocabulary"]]) -> Tensor:
    """log of the mean over the members of softmax(logits), computed in log space.

    A probability below 1e-38 is 0 in float32, and has no finite logarithm.
    """
    members = torch.stack([each.float().log_softmax(-1) for each in logits])
    return members.logsumexp(0) - log(len(members))
