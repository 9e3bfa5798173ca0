"""Word alignments, extracted from the attention of the models that wrote."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from jumok.alignment.extract import cross_attention
from jumok.alignment.setting import AlignmentSetting
from jumok.alignment.words import merge_words
from jumok.data.tokenizer import END, START, Tokenizer
from jumok.decoding.ensemble import JointMemory
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
        """Whether any model has attention to extract alignments from."""
        return any(reading is not None for reading in self.readings)

    def between_pieces(
        self, memory: Memory, targets: Sequence[Sequence[int]]
    ) -> Float[Tensor, "batch target source"]:
        """How much each target token attended to each source position, END's included.

        At least one model has an attention.
        """
        longest = max(map(len, targets))
        tokens = torch.tensor(
            [[START, *target, *[END] * (longest - len(target))] for target in targets],
            device=memory.states.device,
        )
        memories = memory.members if isinstance(memory, JointMemory) else (memory,)
        seen = [
            cross_attention(model, its, tokens, reading)
            for model, its, reading in zip(self.models, memories, self.readings, strict=True)
            if reading is not None
        ]
        return torch.stack(seen).mean(0).float().cpu()

    def between_words(
        self, weights: Float[Tensor, "target source"], source: Sequence[int], target: Sequence[int]
    ) -> Float[Tensor, "target_words source_words"]:
        """One sentence's weights between words, from those between tokens.

        Padding is left out, and the source's END: no word is linked to it.
        """
        real = weights[: len(target), : len(source)]
        return merge_words(real, self.tokenizer.words(source), self.tokenizer.words(target))
