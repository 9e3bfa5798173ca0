"""A model as a folder of ONNX graphs, laid out as transformers.js reads it."""

import shutil
from pathlib import Path
from typing import Any

from jumok.bundle.reading import TOKENIZER, Bundle
from jumok.config.captioner import CaptionerConfig
from jumok.config.causal import CausalConfig
from jumok.config.masked import EncoderConfig
from jumok.config.pictures import ImageClassifierConfig
from jumok.config.recurrent import RecurrentConfig
from jumok.config.stack import StackConfig
from jumok.config.transformer import TransformerConfig
from jumok.data.special_tokens import END, PAD, START
from jumok.errors import ConfigError, Location
from jumok.export.format import ExportFormat, ExportOptions, Obstacle
from jumok.export.huggingface.tokenizer_files import (
    tokenizer_of,
    write_json,
    write_tokenizer,
)
from jumok.export.rows import ExportedRows

GRAPHS = "onnx"
WRITERS = "translation", "captioning", "language-model"
MEASURED = "translation", "language-model"
"""Tasks whose loss with fewer bits is measured."""


def obstacle(bundle: Bundle) -> Obstacle | None:
    """Kinds without graphs."""
    if isinstance(
        bundle.section, StackConfig | RecurrentConfig | CaptionerConfig | ImageClassifierConfig
    ):
        return None
    return Obstacle(f"there are no graphs of {bundle.section.kind} models")


def write(bundle: Bundle, folder: Path, options: ExportOptions) -> str:
    """Writes the folder, and compares the graphs with the model in ONNX Runtime.

    Raises:
        BundleError: the graphs compute other numbers.
        ConfigError: the model loses too much in int8, or is of a kind that is not measured.
        MissingExtraError: a package is not installed.
    """
    from jumok.export.onnx.writing import write_graphs

    if options.precision != "fp32" and bundle.config.task not in MEASURED:
        raise ConfigError(
            "ONNX in int8 is written of models whose loss is measured.",
            expected="a translator or a language model",
            got=bundle.config.task,
            do="--precision fp32",
            place=Location(bundle.folder),
        )
    (folder / GRAPHS).mkdir(parents=True)
    options.say("tracing the model: about a quarter of a minute ...")
    compared = write_graphs(bundle, folder / GRAPHS, options)
    if not isinstance(bundle.section, ImageClassifierConfig):
        _write_texts(folder, bundle, options)
    write_json(folder / "config.json", config_of(bundle))
    if bundle.config.task in WRITERS:
        write_json(folder / "generation_config.json", generation_of(bundle))
    return compared


def _write_texts(folder: Path, bundle: Bundle, options: ExportOptions) -> None:
    """How texts are cut; a tokenizer that has no other form is written as it is."""
    masks = isinstance(bundle.section, EncoderConfig)
    rows = ExportedRows(tuple(range(bundle.config.vocabulary_size + masks)))
    try:
        write_tokenizer(folder, bundle, rows, tokenizer_of(bundle))
    except ConfigError as error:
        options.say(f"no tokenizer.json is written: {error.got}")
        shutil.copyfile(bundle.folder / TOKENIZER, folder / TOKENIZER)


def config_of(bundle: Bundle) -> dict[str, Any]:
    """What transformers.js has to know; the rest is in the graphs.

    It knows no other encoder-decoder with a cache that fits than Marian, whatever the norms.
    """
    section = bundle.section
    marks = {"pad_token_id": PAD, "bos_token_id": START, "eos_token_id": END}
    shared = {"vocab_size": bundle.config.vocabulary_size, **marks}
    if isinstance(section, TransformerConfig):
        return {
            "model_type": "marian",
            "architectures": ["MarianMTModel"],
            "is_encoder_decoder": True,
            "d_model": section.dim,
            "encoder_layers": section.encoder_layers,
            "decoder_layers": section.decoder_layers,
            "encoder_attention_heads": section.heads,
            "decoder_attention_heads": section.heads,
            "decoder_start_token_id": START,
            **shared,
        }
    labels = {str(number): label for number, label in enumerate(bundle.config.labels)}
    if not isinstance(section, CausalConfig):
        named = {"id2label": labels} if labels else {}
        return {"model_type": "jumok", "task": bundle.config.task, **shared, **named}
    return {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "hidden_size": section.dim,
        "num_hidden_layers": section.layers,
        "num_attention_heads": section.heads,
        "num_key_value_heads": section.sizes.kv_heads,
        "head_dim": section.sizes.head_dim,
        **shared,
    }


def generation_of(bundle: Bundle) -> dict[str, Any]:
    """How a text is begun, and what is never written."""
    values: dict[str, Any] = {
        "pad_token_id": PAD,
        "bos_token_id": START,
        "eos_token_id": END,
        "bad_words_ids": [[PAD], [START]],
        "max_length": bundle.config.max_tokens,
    }
    if bundle.config.task != "language-model":
        values["decoder_start_token_id"] = START
    return values


ONNX = ExportFormat(
    name="onnx",
    reads="ONNX Runtime in many languages, transformers.js",
    precisions=("fp32", "int8"),
    obstacle=obstacle,
    write=write,
)
