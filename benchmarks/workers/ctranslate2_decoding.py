"""Decode with CTranslate2, on the weights that jumok wrote.

python ctranslate2_decoding.py FOLDER COMPUTE_TYPE; the folder holds shape.json and
weights.safetensors (jumok's names, and the table of positions). COMPUTE_TYPE is float32 or int8.
"""

import json
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import ctranslate2
from answering import answer_requests
from ctranslate2_model import specification, vocabulary
from safetensors.numpy import load_file


def main() -> None:
    """Convert, load, then answer."""
    folder, compute_type = Path(sys.argv[1]), sys.argv[2]
    shape = json.loads((folder / "shape.json").read_text())
    names = vocabulary(shape["vocabulary"])
    with TemporaryDirectory() as converted:
        weights = load_file(folder / "weights.safetensors")
        specification(shape, weights, names).save(converted)
        translator = ctranslate2.Translator(
            converted, compute_type=compute_type, inter_threads=1, intra_threads=1
        )
    ids = {name: number for number, name in enumerate(names)}
    answer_requests(partial(_decode, translator, names, ids))


def _decode(
    translator: ctranslate2.Translator,
    names: list[str],
    ids: dict[str, int],
    sources: list[list[int]],
    beam: int,
    length: int,
) -> list[list[int]]:
    results = translator.translate_batch(
        [[names[number] for number in source] for source in sources],
        beam_size=beam,
        min_decoding_length=length,
        max_decoding_length=length,
        length_penalty=1.0,
    )
    return [[ids[name] for name in result.hypotheses[0]] for result in results]


if __name__ == "__main__":
    main()
