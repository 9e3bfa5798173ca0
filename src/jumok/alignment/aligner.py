"""Word alignments, extracted from the attention of the models that wrote."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from jumok.alignment.extract import cross_attention
from jumok.alignment.setting import AlignmentSetting
from jumok.data.tokenizer import END, START, Tokenizer
from jumok.models.memory import Memory, SequenceToSequence
from jumok.shapes import Float, Tensor


@dataclass(frozen=True)
class Aligner:
    """The models, and the alignment setting of each.

    Attributes:
        readings: None for a model without attention; the alignment comes from the others.
    """

    models: Sequence[SequenceToSequence]
    readings: Sequence[AlignmentSetting | None]
    tokenizer: Tokenizer

    @property
    def aligns(self) -> bool:
        return any(reading is not None for reading in self.readings)

    def between_pieces(
        self, memories: Sequence[Memory], targets: Sequence[Sequence[int]]
    ) -> Float[Tensor, "batch target source"]:
        """How much each target token attended to each source position, END's included.

        At least one model has an attention.
        """
        longest = max(map(len, targets))
        tokens = torch.tensor(
            [[START, *target, *[END] * (longest - len(target))] for target in targets],
            device=memories[0].states.device,
        )
        maps = [
            cross_attention(model, its, tokens, reading)
            for model, its, reading in zip(self.models, memories, self.readings, strict=True)
            if reading is not None
        ]
        return torch.stack(maps).mean(0).float().cpu()
