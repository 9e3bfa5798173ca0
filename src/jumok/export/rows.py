"""The vocabulary of an exported model: ours, without the copies that an import made."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from jumok.data.special_tokens import END, PAD, START
from jumok.engine.packing import OUTPUT_BIAS
from jumok.interop.vocabulary import COPIED_BIAS, Vocabulary

TABLES = "encoder.embedding.table", "decoder.embedding.table"


@dataclass(frozen=True)
class ExportedRows:
    """The rows of tables there.

    Attributes:
        order: for each of our ids the row there; copies have that of their token.
        copied: our ids of them, which are never predicted.
    """

    order: tuple[int, ...]
    copied: tuple[int, ...] = ()

    @property
    def rows(self) -> int:
        """How many there are."""
        return len(self.order) - len(self.copied)

    @property
    def vocabulary(self) -> Vocabulary:
        """What a table of tensors asks for."""
        return Vocabulary(self.order, self.copied, self.rows, b"")

    @property
    def marks(self) -> dict[str, int]:
        """The ids there of the special tokens."""
        named = {"pad_token_id": PAD, "bos_token_id": START, "eos_token_id": END}
        return {key: self.order[id] for key, id in named.items()}

    @property
    def forbidden(self) -> list[int]:
        """The rows of tokens that are never written. A START that is a copy has none of its own:
        the other token of its row may be written.
        """
        marks = (id for id in (PAD, START) if id not in self.copied)
        return sorted({self.order[id] for id in marks} - {self.order[END]})

    def kept(self) -> list[int]:
        """Our ids, by their rows."""
        return [id for id in range(len(self.order)) if id not in self.copied]


def rows_of(state: Mapping[str, Tensor], size: int, left_out: Collection[int] = ()) -> ExportedRows:
    """The rows of a model.

    Args:
        state: its weights.
        size: of its vocabulary.
        left_out: further ids without a row, since no text has them.
    """
    copies = dict.fromkeys(left_out, END)
    if OUTPUT_BIAS in state:
        low = torch.nonzero(state[OUTPUT_BIAS][: START + 1] <= COPIED_BIAS / 2).flatten().tolist()
        for id in low:
            twins = [each for each in _same_vectors(state, id) if each not in low]
            if twins:
                copies[id] = twins[0]
    kept = [id for id in range(size) if id not in copies]
    rows = {id: row for row, id in enumerate(kept)}
    order = tuple(rows[copies.get(id, id)] for id in range(size))
    return ExportedRows(order, tuple(sorted(copies)))


def _same_vectors(state: Mapping[str, Tensor], id: int) -> list[int]:
    """All ids that are read as this one."""
    tables = [state[name] for name in TABLES if name in state]
    same = torch.stack([(table == table[id]).all(dim=1) for table in tables]).all(dim=0)
    return torch.nonzero(same).flatten().tolist()
