"""Write a jumok bundle as a package of Argos Translate: what LibreTranslate loads.

python argos_package.py FOLDER, which holds the bundle model/ and beside it what jumok_weights.py
wrote; writes FOLDER/packages/model/ with a model of CTranslate2 (int8, as Argos's own packages),
the SentencePiece model and the languages. ctranslate2_server.py reads the same package.
"""

import json
import shutil
import sys
from pathlib import Path

import sentencepiece
from ctranslate2_model import specification
from safetensors.numpy import load_file


def main() -> None:
    """Convert, then write."""
    folder = Path(sys.argv[1])
    package = folder / "packages" / "model"
    shutil.rmtree(package, ignore_errors=True)
    (package / "model").mkdir(parents=True)
    shape = json.loads((folder / "shape.json").read_text())
    described = json.loads((folder / "model" / "config.json").read_text())
    tokens = sentencepiece.SentencePieceProcessor(
        model_file=str(folder / "model" / "tokenizer.model")
    )
    names = [tokens.id_to_piece(number) for number in range(tokens.get_piece_size())]
    spec = specification(shape, load_file(folder / "weights.safetensors"), names, "int8")
    spec.config.add_source_eos = True
    spec.save(str(package / "model"))
    shutil.copyfile(folder / "model" / "tokenizer.model", package / "sentencepiece.model")
    metadata = {
        "package_version": "1.0",
        "argos_version": "1.10",
        "type": "translate",
        "from_code": described["source_language"],
        "from_name": described["source_language"],
        "to_code": described["target_language"],
        "to_name": described["target_language"],
    }
    (package / "metadata.json").write_text(json.dumps(metadata))


if __name__ == "__main__":
    main()
