"""Decode with jumok's native engine, on the weights that every engine gets.

python jumok_engine_decoding.py FOLDER PRECISION; the folder holds the bundle model/, PRECISION is
fp32, bf16 or int8. The model is loaded as `jumok translate --engine native` loads it.
"""

import sys
from functools import partial
from pathlib import Path

from answering import answer_requests

from jumok.bundle.reading import read_bundle
from jumok.decoding import DecodingOptions
from jumok.engine.transformer import NativeTransformer
from jumok.systems.translation.on_engine import load_engine, rules_of


def main() -> None:
    """Load, then answer."""
    model = load_engine(read_bundle(Path(sys.argv[1]) / "model"), sys.argv[2])
    answer_requests(partial(_decode, model))


def _decode(
    model: NativeTransformer, sources: list[list[int]], beam: int, length: int
) -> list[list[int]]:
    options = DecodingOptions(
        beam=beam, minimum_length=length, maximum_length=length, length_penalty=1.0
    )
    found = model.search(sources, rules_of(options, list(map(len, sources))))
    return [list(each.tokens) for each in found]


if __name__ == "__main__":
    main()
