"""A package of Argos Translate, which LibreTranslate serves: one file that needs no network.

Source: argostranslate 1.11, package.py, translate.py and sbd.py.
"""

import json
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

from jumok.bundle.reading import TOKENIZER, Bundle
from jumok.errors import optional_import
from jumok.export import ctranslate2
from jumok.export.format import ExportFormat, ExportOptions, Obstacle
from jumok.systems.language_names import name_of
from jumok.systems.translation.sentences import language_code

ARGOS_VERSION = "1.10"
"""The oldest that reads a sentence splitter of MiniSBD in a package."""


def obstacle(bundle: Bundle) -> Obstacle | None:
    """What Argos Translate does not run."""
    config = bundle.config
    if config.task != "translation":
        return Obstacle(f"it translates, and this model is for {config.task}")
    if (lacks := ctranslate2.obstacle(bundle)) is not None:
        return lacks
    if config.languages:
        return Obstacle("a package has one pair of languages, and this model has several")
    if not (config.source_language and config.target_language):
        return Obstacle("a package names its languages, and those of this model are not known")
    with (bundle.folder / TOKENIZER).open("rb") as file:
        if file.read(1) == b"{":
            return Obstacle(
                "a package has one SentencePiece model, and this tokenizer is of another kind"
            )
    return None


def write(bundle: Bundle, file: Path, options: ExportOptions) -> str:
    """The package, with a sentence splitter of rules.

    Raises:
        BundleError: CTranslate2 writes other tokens.
        ConfigError: the model loses too much in int8.
    """
    with optional_import("writing a package of Argos Translate", extra="argos"):
        from jumok.export.argos_sentences import splitter

        sentences = splitter(bundle.config.source_language)
    source, target = (
        language_code(each)
        for each in (bundle.config.source_language, bundle.config.target_language)
    )
    metadata = {
        "package_version": "1.0",
        "argos_version": ARGOS_VERSION,
        "type": "translate",
        "from_code": source,
        "from_name": name_of(source),
        "to_code": target,
        "to_name": name_of(target),
    }
    with TemporaryDirectory() as room:
        compared = ctranslate2.write_model(bundle, Path(room), options)
        top = f"translate-{source}_{target}-1_0"
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as package:
            for each in sorted(Path(room).iterdir()):
                package.write(each, f"{top}/model/{each.name}")
            package.write(bundle.folder / TOKENIZER, f"{top}/sentencepiece.model")
            package.writestr(f"{top}/minisbd/rules.onnx", sentences)
            package.writestr(f"{top}/metadata.json", json.dumps(metadata, indent=2))
            package.writestr(f"{top}/README.md", _readme(source, target, options))
    return compared


def _readme(source: str, target: str, options: ExportOptions) -> str:
    text = (options.examples or ("text",))[0]
    return f"""# {options.title}

{name_of(source)} to {name_of(target)}: a translator of jumok for Argos Translate and LibreTranslate
({options.precision}), with rules that cut texts into sentences. Nothing is downloaded.

    import argostranslate.package, argostranslate.translate

    argostranslate.package.install_from_path("FILE.argosmodel")
    argostranslate.translate.translate({text!r}, "{source}", "{target}")
"""


ARGOS = ExportFormat(
    name="argos",
    reads="Argos Translate and LibreTranslate",
    precisions=("int8", "fp32"),
    obstacle=obstacle,
    write=write,
    file="model.argosmodel",
)
