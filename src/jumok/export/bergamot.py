"""A student in Bergamot's format, which Firefox's translators have: a folder of Marian's.

Source: bergamot-translator 0.4; the scales of inputs: browsermt/students, train-student/alphas.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import ValidationError

from jumok.bundle.reading import TOKENIZER, Bundle, read_bundle
from jumok.config.transformer import TransformerConfig
from jumok.data.pair_tokenizer import PairTokenizer
from jumok.data.special_tokens import START
from jumok.errors import BundleError, ConfigError, Location
from jumok.export.equivalents import differences
from jumok.export.format import ExportFormat, ExportOptions, Obstacle
from jumok.interop.activations import activation_there
from jumok.interop.families.marian_nmt import (
    MarianNmtSettings,
    section,
    table,
    vocabulary_of,
)
from jumok.interop.layouts.marian import TABLE, write_binary
from jumok.systems.loading import load_tokenizer
from jumok.systems.translation.sentences import language_code

if TYPE_CHECKING:
    from jumok.export.comparing import GreedyWriter

AGAIN = "the folder as jumok reads it"
MEASURED, LONGEST = 100, 64
"""Held-out texts by which the scales of inputs are measured, and their tokens."""
DRAWS = 5
"""How often a model that was trained further from 8 bits is rounded at most: what it loses depends
on the draw.
"""
ADDED = 2
"""Rows of our table that Marian's has not: PAD and START."""
INPUTS = "encoder.embedding.table"
GEMM = {"int8": "int8shiftAlphaAll", "fp32": "float32"}
VERSION = "v1.9.56 94aeaa46 2021-04-28 00:28:35 +0100"
"""The Marian that Firefox's students were made with."""
UNUSED = {
    "bert-train-type-embeddings": True, "bert-type-vocab-size": 2, "dec-cell-base-depth": 2,
    "dec-cell-high-depth": 1, "dim-rnn": 1024, "enc-cell": "gru", "enc-cell-depth": 1,
    "enc-type": "bidirectional", "input-types": [], "layer-normalization": False,
    "lemma-dim-emb": 0, "output-omit-bias": False, "right-left": False, "skip": False,
    "tied-embeddings": False, "tied-embeddings-all": True, "tied-embeddings-src": False,
    "transformer-aan-activation": "swish", "transformer-aan-depth": 2,
    "transformer-aan-nogate": False, "transformer-dim-aan": 2048, "transformer-ffn-depth": 2,
    "transformer-no-projection": False, "transformer-pool": False, "transformer-tied-layers": [],
    "transformer-train-position-embeddings": False, "ulr": False, "ulr-dim-emb": 0,
    "ulr-trainable-transformation": False, "version": VERSION,
}  # fmt: skip
"""Settings that Marian wants to be there, and that are the same in every model."""


def settings_of(mine: TransformerConfig, rows: int, layer: int | None) -> dict[str, object]:
    """The settings inside the file.

    Args:
        rows: of the table there.
        layer: the decoder's that aligns; None: the last.
    """
    recurrent, pre = mine.decoder_attention_kind == "ssru", mine.norm == "pre"
    aligning = "last" if layer in (None, mine.decoder_layers - 1) else layer + 1
    return UNUSED | {
        "type": "transformer",
        "dim-vocabs": [rows, rows],
        "dim-emb": mine.dim,
        "enc-depth": mine.encoder_layers,
        "dec-depth": mine.decoder_layers,
        "transformer-heads": mine.heads,
        "transformer-dim-ffn": mine.feedforward,
        "transformer-ffn-activation": activation_there(mine.activation).replace("silu", "swish"),
        "transformer-preprocess": "n" if pre else "",
        "transformer-postprocess": "da" if pre else "dan",
        "transformer-postprocess-emb": "d",
        "transformer-postprocess-top": "n" if pre else "",
        "transformer-decoder-autoreg": "rnn" if recurrent else "self-attention",
        "dec-cell": "ssru" if recurrent else "gru",
        "transformer-guided-alignment-layer": aligning,
    }


@dataclass(frozen=True)
class Student:
    """What a model is there."""

    values: Mapping[str, object]
    settings: MarianNmtSettings
    differs: Mapping[str, object]

    @classmethod
    def of(cls, bundle: Bundle) -> "Student":
        """The nearest one, whose settings are read back as a section."""
        mine = bundle.section
        assert isinstance(mine, TransformerConfig)
        rows, layer = bundle.config.vocabulary_size - ADDED, bundle.config.alignment_layer
        values, other = settings_of(mine, rows, layer), {}
        try:
            settings = MarianNmtSettings.model_validate(values)
        except ValidationError:  # another activation
            other = {"activation": "relu"}
            values |= {"transformer-ffn-activation": "relu"}
            settings = MarianNmtSettings.model_validate(values)
        if settings.pre_norm and not settings.recurrent:  # Marian writes otherwise than it trains
            other["norm"] = "post"
        return cls(values, settings, differences(mine, section(settings, ())) | other)


def obstacle(bundle: Bundle) -> Obstacle | None:
    """What Marian's students do not have."""
    if type(bundle.section) is not TransformerConfig:
        kind = bundle.config.model.get("kind")
        return Obstacle(f'it translates with Transformers, and this is kind = "{kind}"')
    if bundle.config.languages:
        return Obstacle("a model has one pair of languages, and this has several")
    if _subwords(bundle) is None:
        return Obstacle(
            "a text begins with a vector of zeros there, and has subwords in Marian's order, as in "
            "models that were imported from Marian's own files, and trained further"
        )
    differs = Student.of(bundle).differs
    if differs:
        return Obstacle(f"Marian's Transformers have another {', '.join(differs)}", differs)
    return None


def _subwords(bundle: Bundle) -> bytes | None:
    """The SentencePiece model; None: there is none for both languages, in Marian's order."""
    tokenizer = load_tokenizer(bundle)
    if not isinstance(tokenizer, PairTokenizer) or len(set(tokenizer.models)) != 1:
        return None
    model, place = tokenizer.models[0], Location(bundle.folder / TOKENIZER)
    try:
        there = vocabulary_of(model, tokenizer.size - ADDED, place)
    except BundleError:
        return None
    return model if there.tokenizer == tokenizer.model else None


def write(bundle: Bundle, folder: Path, options: ExportOptions) -> str:
    """The folder, which is read again as `jumok import` reads it.

    Raises:
        BundleError: it is read as another model.
        ConfigError: the first vector was trained, or the model loses too much in int8.
    """
    from jumok.export.comparing import GreedyWriter

    writer, model = GreedyWriter(bundle), _subwords(bundle)
    assert model is not None
    state = writer.model.state_dict()
    if state[INPUTS][START].any():
        raise ConfigError(
            "a text begins with a vector of zeros there, and with a trained one here.",
            do="train the imported model again: jumok train --from keeps the zeros",
            place=Location(bundle.folder),
        )
    student = Student.of(bundle)
    rows = bundle.config.vocabulary_size - ADDED
    vocabulary = vocabulary_of(model, rows, Location(bundle.folder / TOKENIZER))
    tensors = {
        name: tensor.numpy()
        for name, tensor in table(student.settings, ()).write(state, vocabulary).items()
    }
    scales = _scales(writer, student, options) if options.precision == "int8" else {}
    folder.mkdir()
    codes = (bundle.config.source_language, bundle.config.target_language)
    pair = "".join(map(language_code, codes))
    middle = f".{pair}" if pair else ""
    kind = ".intgemm.alphas" if scales else ""
    file, subwords = f"model{middle}{kind}.bin", f"vocab{middle}.spm"
    (folder / subwords).write_bytes(model)
    (folder / "config.yml").write_text(_config(file, subwords, options), encoding="utf-8")
    draw, before = 0, b""
    while True:
        write_binary(folder / file, tensors, student.values, scales, draw)
        try:
            return _compared(writer, folder, options)
        except ConfigError:  # it lost too much
            draw, written = draw + 1, (folder / file).read_bytes()
            if draw == DRAWS or written == before:  # the same: nothing is rounded at random
                raise
            before = written


def _config(file: str, subwords: str, options: ExportOptions) -> str:
    """The options of decoding, as the students have them."""
    return f"""relative-paths: true
models:
  - {file}
vocabs:
  - {subwords}
  - {subwords}
beam-size: 1
normalize: 1.0
word-penalty: 0
mini-batch: 64
maxi-batch: 1000
maxi-batch-sort: src
workspace: 2000
max-length-factor: 2.5
gemm-precision: {GEMM[options.precision]}
"""


def _scales(writer: "GreedyWriter", student: Student, options: ExportOptions) -> dict[str, float]:
    """What the inputs of each matrix are multiplied with before they are rounded: 127 through the
    mean of their largest sizes, of one call each, and 1.1 standard deviations.
    """
    largest: dict[str, list[float]] = {}

    def watch(layer: str, name: str) -> Any:
        largest[name] = []

        def note(_: object, given: tuple[Any, ...]) -> None:
            largest[name].append(float(given[0].abs().max()))

        return writer.model.get_submodule(layer).register_forward_pre_hook(note)

    hooks = [watch("decoder.output", TABLE)]
    for row in table(student.settings, ()).spread():
        layer, _, part = row.here[0].rpartition(".")
        if part == "weight" and not layer.endswith("norm"):
            hooks.append(watch(layer, row.there[0]))
    texts = [source for source, _ in options.held_out[:MEASURED]]
    read = [writer.tokenizer.encode(text)[:LONGEST] for text in texts]
    for ids in (*writer.inputs(options.examples), *read):
        writer.written([ids])
    for hook in hooks:
        hook.remove()
    return {
        name: float(127 / (np.mean(sizes) + 1.1 * np.std(sizes))) for name, sizes in largest.items()
    }


def _compared(writer: "GreedyWriter", folder: Path, options: ExportOptions) -> str:
    """The model beside that of the folder, imported again."""
    from jumok.export.comparing import (
        UNKNOWN_LOSS,
        GreedyWriter,
        compare_written,
        loss_of_translators,
    )
    from jumok.interop.importing import read_model, write_imported

    with TemporaryDirectory() as room:
        back = GreedyWriter(read_bundle(write_imported(read_model(folder), Path(room) / "back")))
        rows = writer.inputs(options.examples)
        if options.precision == "fp32":
            return compare_written(writer, rows, back.written(rows), AGAIN)
        if options.held_out:
            return f"{AGAIN}: {loss_of_translators(writer, (writer, back), options)}"
        both = writer.written(rows), back.written(rows, writer.longest)
    equal = sum(one == other for one, other in zip(*both, strict=True))
    return f"{AGAIN}: {equal} of {len(rows)} lines in int8 as in fp32; {UNKNOWN_LOSS}"


BERGAMOT = ExportFormat(
    name="bergamot",
    reads="Bergamot (Firefox's translators); Marian in fp32",
    precisions=("int8", "fp32"),
    obstacle=obstacle,
    write=write,
)
