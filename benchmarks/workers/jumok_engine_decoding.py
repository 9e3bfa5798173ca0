"""Decode with jumok's native engine, on the weights that every engine gets.

python jumok_engine_decoding.py FOLDER PRECISION; the folder holds the bundle model/, PRECISION is
fp32, bf16 or int8. The model is loaded as `jumok translate --engine native` loads it.
"""

import sys
from functools import partial
from pathlib import Path

from answering import answer_requests

from jumok.decoding import DecodingOptions
from jumok.systems.translation.translator import Translator


def main() -> None:
    """Load, then answer."""
    translator = Translator.load(
        Path(sys.argv[1]) / "model", engine="native", precision=sys.argv[2]
    )
    answer_requests(partial(_decode, translator))


def _decode(
    translator: Translator, sources: list[list[int]], beam: int, length: int
) -> list[list[int]]:
    options = DecodingOptions(
        beam=beam, minimum_length=length, maximum_length=length, length_penalty=1.0
    )
    without_end = [source[:-1] for source in sources]  # the searcher writes END itself
    found = translator.searcher.read(without_end).search(options)
    return [list(best.tokens) for best, *_ in found]


if __name__ == "__main__":
    main()
