"""Decode with jumok's native engine, on the weights that every engine gets.

python jumok_engine_decoding.py FOLDER PRECISION; the folder holds the bundle model/, PRECISION is
fp32, bf16 or int8. The model is loaded as `jumok translate --engine native` loads it.
"""

import argparse
from functools import partial
from pathlib import Path

from answering import answer_requests

from jumok.decoding import DecodingOptions
from jumok.systems.translation.translator import Translator


def main() -> None:
    """Load, then answer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("precision", choices=["fp32", "bf16", "int8"])
    given = parser.parse_args()
    translator = Translator.load(given.folder / "model", engine="native", precision=given.precision)
    answer_requests(partial(_decode, translator))


def _decode(
    translator: Translator, sources: list[list[int]], beam: int, length: int
) -> list[list[int]]:
    options = DecodingOptions(
        beam=beam, minimum_length=length, maximum_length=length, length_penalty=1.0
    )
    without_end = [source[:-1] for source in sources]  # the searcher writes END itself
    hypotheses = translator.searcher.read(without_end).search(options)
    return [list(best.tokens) for best, *_ in hypotheses]


if __name__ == "__main__":
    main()
