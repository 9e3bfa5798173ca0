"""A model as a folder of transformers."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from jumok.bundle.reading import Bundle
from jumok.bundle.tensor_file import write_tensors
from jumok.config.captioner import CaptionerConfig
from jumok.config.masked import EncoderConfig, TextClassifierConfig
from jumok.config.pictures import ImageClassifierConfig
from jumok.config.section import ModelSection
from jumok.config.transformer import TransformerConfig
from jumok.data.json_tokenizer import JsonTokenizer
from jumok.data.pair_tokenizer import PairTokenizer
from jumok.data.pieces import read_pieces
from jumok.data.texts.tokenizer import BYTE_KIND, ByteTokenizer
from jumok.export.equivalents import differences, equivalent
from jumok.export.format import ExportFormat, ExportOptions, Obstacle
from jumok.export.huggingface.card import readme
from jumok.export.huggingface.labels import most_labels
from jumok.export.huggingface.targets import CLASSES, TransformersClass
from jumok.export.huggingface.tokenizer_files import (
    tokenizer_file,
    tokenizer_of,
    tokens_around,
    write_json,
    write_tokenizer,
)
from jumok.export.huggingface.tokenizer_json import lacking
from jumok.export.rows import ExportedRows, rows_of
from jumok.interop.containers import WEIGHTS
from jumok.interop.layouts.huggingface import PREPROCESSOR
from jumok.interop.settings import Settings
from jumok.models.catalog import DataSizes, build

DTYPES = {"fp32": "float32", "bf16": "bfloat16"}


@dataclass(frozen=True)
class Fit:
    """A class of transformers beside a model.

    Attributes:
        names: of tensors that a file of the class has, from which its section follows.
        wanted: the section [model] that the class has.
        differs: the keys that would have to be others.
    """

    target: TransformersClass
    settings: Settings
    names: tuple[str, ...]
    wanted: ModelSection
    differs: Mapping[str, object]

    @classmethod
    def of(cls, target: TransformersClass, section: ModelSection, rows: int) -> "Fit | None":
        """None: the class has no such model at all."""
        values = target.config(section, rows)
        try:
            settings = target.family.settings.model_validate(values)
            names = target.names(section)
            wanted = target.family.section(settings, names)
        except ValidationError:
            return None
        return cls(target, settings, names, wanted, differences(section, wanted))


def best_fit(section: ModelSection, rows: int) -> Fit | None:
    """The class that needs the fewest changes; None: there is none."""
    fits = [Fit.of(each, section, rows) for each in CLASSES if type(section) is each.section]
    return min(filter(None, fits), key=lambda fit: len(fit.differs), default=None)


def obstacle(bundle: Bundle) -> Obstacle | None:
    """What no class of transformers holds."""
    fit = best_fit(bundle.section, bundle.config.vocabulary_size)
    if fit is None:
        kind = bundle.config.model.get("kind")
        return Obstacle(f'no class of transformers is such a model (kind = "{kind}")')
    if fit.differs:
        return Obstacle(f"{fit.target.architecture} is the nearest class", fit.differs)
    if isinstance(bundle.section, TextClassifierConfig):
        most, labels = most_labels(bundle.section), len(bundle.config.labels)
        if labels > most:
            return Obstacle(f"{labels} labels, and its head has room for {most}")
    if tokens_around(bundle).asked is not None:
        return Obstacle("several languages, which a token of the source asks for")
    if isinstance(bundle.section, ImageClassifierConfig):
        return None
    tokenizer = tokenizer_of(bundle)
    if isinstance(tokenizer, PairTokenizer):
        marian = fit.target.architecture == "MarianMTModel"
        return None if marian else Obstacle("a tokenizer for each side")
    if isinstance(tokenizer, JsonTokenizer):
        return None
    if fit.target.architecture == "Qwen2ForCausalLM" and not isinstance(tokenizer, ByteTokenizer):
        return Obstacle(
            "transformers gives a Qwen2 a tokenizer of bytes", {"projection_bias": False}
        )
    model = tokenizer_file(bundle).read_bytes()
    lacks = None if model == BYTE_KIND else lacking(read_pieces(model))
    return None if lacks is None else Obstacle(lacks)


def write(bundle: Bundle, folder: Path, options: ExportOptions) -> str:
    """Writes the folder, and compares it with transformers where that is installed."""
    import torch

    from jumok.bundle.weights import load_model
    from jumok.export.huggingface.check import compared

    section, size = bundle.section, bundle.config.vocabulary_size
    mine = load_model(bundle)
    state = mine.state_dict()
    masks = isinstance(section, EncoderConfig)
    rows = rows_of(state, size + masks)
    fit = best_fit(section, rows.rows)
    assert fit is not None
    with torch.device("meta"):
        other = build(fit.wanted, DataSizes(size, len(bundle.config.labels)))
    weights = equivalent(section, state, fit.wanted, other)
    tensors = fit.target.family.table(fit.settings, fit.names).write(weights, rows.vocabulary)
    tensors |= fit.target.head(weights)
    if options.precision == "bf16":
        tensors = {name: tensor.bfloat16() for name, tensor in tensors.items()}
    folder.mkdir()
    write_tensors(folder / WEIGHTS, {name: each.contiguous() for name, each in tensors.items()})
    architecture = fit.target.architecture
    if not getattr(section, "head", True):
        architecture = architecture.replace("ForMaskedLM", "Model")
    assert fit.target.family.theirs is not None
    auto = fit.target.family.theirs(section)
    head = {"architectures": [architecture], "model_type": fit.target.family.kinds[0]}
    config = head | fit.target.config(section, rows.rows) | {"dtype": DTYPES[options.precision]}
    _write_settings(folder, config, bundle, rows)
    if not isinstance(section, ImageClassifierConfig):
        write_tokenizer(folder, bundle, rows, tokenizer_of(bundle))
    (folder / "README.md").write_text(readme(bundle, architecture, auto, options), encoding="utf-8")
    return compared(bundle, mine, rows, (folder, auto), options)


def marks_of(rows: ExportedRows, bundle: Bundle) -> dict[str, Any]:
    """The keys of config.json that name special tokens."""
    marks: dict[str, Any] = dict(rows.marks)
    if isinstance(bundle.section, TransformerConfig | CaptionerConfig):
        marks["decoder_start_token_id"] = marks["bos_token_id"]
        of_any = bundle.config.languages.get("")  # of BART
        if of_any is not None and of_any.source is not None:
            marks["bos_token_id"] = rows.order[of_any.source]
    return marks


def _write_settings(
    folder: Path, config: dict[str, Any], bundle: Bundle, rows: ExportedRows
) -> None:
    """Writes config.json, and beside it how images are read and how texts are written."""
    if (images := config.pop(PREPROCESSOR, None)) is not None:
        write_json(folder / PREPROCESSOR, images)
    if labels := dict(enumerate(bundle.config.labels)):
        config |= {"id2label": labels, "label2id": {name: id for id, name in labels.items()}}
    if not isinstance(bundle.section, ImageClassifierConfig):
        config |= marks_of(rows, bundle)
    if isinstance(bundle.section, CaptionerConfig):
        config["decoder"] |= rows.marks
    write_json(folder / "config.json", config)
    if not isinstance(bundle.section, EncoderConfig | ImageClassifierConfig):
        _write_generation(folder, bundle, rows)


def _write_generation(folder: Path, bundle: Bundle, rows: ExportedRows) -> None:
    values = marks_of(rows, bundle) | {"max_length": bundle.config.max_tokens}
    if rows.forbidden:
        values["bad_words_ids"] = [[row] for row in rows.forbidden]
    if (first := tokens_around(bundle).target) is not None:
        values["forced_bos_token_id"] = rows.order[first]
    write_json(folder / "generation_config.json", values)


HUGGING_FACE = ExportFormat(
    name="huggingface",
    reads="transformers",
    precisions=("fp32", "bf16"),
    obstacle=obstacle,
    write=write,
)
