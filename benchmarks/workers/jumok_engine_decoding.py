"""Decode with jumok's native engine, on the weights that every engine gets.

python jumok_engine_decoding.py FOLDER PRECISION; the folder holds the bundle model/, PRECISION is
fp32, bf16 or int8. The model is loaded as `jumok translate --engine native` loads it.
"""

import sys
from functools import partial
from pathlib import Path

from answering import answer_requests

from jumok.decoding import DecodingOptions
from jumok.systems.translation.native import NativeTranslator


def main() -> None:
    """Load, then answer."""
    translator = NativeTranslator.load(Path(sys.argv[1]) / "model", kind=sys.argv[2])
    answer_requests(partial(_decode, translator))


def _decode(
    translator: NativeTranslator, sources: list[list[int]], beam: int, length: int
) -> list[list[int]]:
    options = DecodingOptions(
        beam=beam, minimum_length=length, maximum_length=length, length_penalty=1.0
    )
    found = translator.engine.search(sources, translator.rules(options, sources))
    return [list(each.tokens) for each in found]


if __name__ == "__main__":
    main()
