"""Decode with jumok, on the weights that every engine gets.

python jumok_decoding.py FOLDER; the folder holds the bundle model/, which is loaded as `jumok
translate` loads it, in float32.
"""

import argparse
from functools import partial
from pathlib import Path

import torch
from answering import answer_requests

from jumok.data.pairs.batches import source_batches
from jumok.decoding import DecodingOptions, decode
from jumok.models.memory import SequenceToSequence
from jumok.systems.translation.translator import Translator


def main() -> None:
    """Load, then answer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    translator = Translator.load(given.folder / "model", device="cpu", precision="fp32")
    (model,) = translator.models
    answer_requests(partial(_decode, model))


@torch.inference_mode()
def _decode(
    model: SequenceToSequence, sources: list[list[int]], beam: int, length: int
) -> list[list[int]]:
    options = DecodingOptions(
        beam=beam, minimum_length=length, maximum_length=length, length_penalty=1.0
    )
    # source_batches writes END itself
    (batch,) = source_batches([source[:-1] for source in sources], sentences=len(sources))
    memory = model.encode(batch.tokens, batch.allowed)
    outputs: list[list[int]] = [[] for _ in sources]
    for row, hypotheses in zip(batch.rows, decode(model.decoder, memory, options), strict=True):
        outputs[row] = list(hypotheses[0].tokens)
    return outputs


if __name__ == "__main__":
    main()
