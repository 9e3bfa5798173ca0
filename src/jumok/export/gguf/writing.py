"""`jumok export --to gguf`: what is held, what is written, and what it is compared with."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jumok.bundle.reading import TOKENIZER, Bundle
from jumok.config.causal import CausalConfig
from jumok.data.special_tokens import END, PAD, START, UNKNOWN
from jumok.engine.packing import OUTPUT_BIAS
from jumok.errors import ConfigError, Location, optional_import
from jumok.export.format import ExportFormat, ExportOptions, Obstacle
from jumok.export.gguf.tokenizer import Values, reads_unknown, tokenizer_values, with_rows

if TYPE_CHECKING:
    from torch import Tensor

    from jumok.export.rows import ExportedRows
    from jumok.interop.families.gguf import GgufSettings
    from jumok.interop.family import ModelFamily
    from jumok.interop.vocabulary import Vocabulary

BLOCK = 32
"""Numbers that share a scale in Q8_0."""


@dataclass(frozen=True)
class Target:
    """What a model is there.

    Attributes:
        names: tensors whose presence decides what a file is read as.
        section: the model's, as it is read from there.
        other: the keys that would have to be others, with their values.
    """

    family: "ModelFamily"
    settings: "GgufSettings"
    names: frozenset[str]
    section: CausalConfig
    other: Mapping[str, object]

    @property
    def architecture(self) -> str:
        """Its name in the file."""
        return self.family.kinds[0].split()[1]


def nearest(section: CausalConfig, rows: int) -> Target:
    """The architecture that a model is, or needs the fewest other keys for."""
    from jumok.interop.families.gguf import GGUF_LLAMAS

    found = [_target(family, section, rows) for family in GGUF_LLAMAS]
    return min(found, key=lambda each: len(each.other))


def _target(family: "ModelFamily", section: CausalConfig, rows: int, *others: str) -> Target:
    """What a model is there, with further tensors of these names."""
    from jumok.export.equivalents import differences
    from jumok.interop.families.gguf import settings_of

    held = _as_held(section)
    settings = settings_of(held, rows)
    tied = held.tied and not held.embedding_scale
    names = frozenset(others if tied else ("output.weight", *others))
    there = family.section(settings, names)
    assert isinstance(there, CausalConfig)
    return Target(family, settings, names, there, differences(held, there))


def with_output_bias(section: CausalConfig, rows: int) -> Target:
    """Qwen2, which alone may have one; biases of queries, keys and values are zeros, if need be."""
    from jumok.interop.families.gguf import GGUF_QWEN2

    target = _target(GGUF_QWEN2, section, rows, "output.bias")
    other = {key: value for key, value in target.other.items() if key != "projection_bias"}
    if section.heads * section.sizes.head_dim != section.dim:
        other["head_dim"] = section.dim // section.heads
    return replace(target, other=other)


def _as_held(section: CausalConfig) -> CausalConfig:
    """With numbers of float32. In a context that is no longer than the window a window hides
    nothing.
    """
    update: dict[str, Any] = {
        key: float(np.float32(getattr(section, key))) for key in ("norm_epsilon", "rotary_base")
    }
    if section.window is not None and all(map(section.window_of, range(section.layers))):
        update |= {"window": None, "max_length": min(section.max_length, section.window)}
    return section.model_copy(update=update)


def obstacle(bundle: Bundle) -> Obstacle | None:
    """What of the model llama.cpp's Llamas do not have."""
    section = bundle.section
    if not isinstance(section, CausalConfig):
        return Obstacle(f"it holds language models, and this model is for {bundle.config.task}")
    if section.sizes.head_dim % 2:
        return Obstacle("heads of an odd width", {"head_dim": section.sizes.head_dim + 1})
    target = nearest(section, bundle.config.vocabulary_size)
    if target.other:
        keys = ", ".join(target.other)
        return Obstacle(f"no {target.architecture} of llama.cpp has its {keys}", target.other)
    try:
        tokenizer_values((bundle.folder / TOKENIZER).read_bytes())
    except ConfigError as error:
        return Obstacle(str(error.got))
    return None


def write(bundle: Bundle, file: Path, options: ExportOptions) -> str:
    """The file, which is read again as `jumok import` reads it.

    Raises:
        BundleError: it is read as another model, or llama.cpp continues texts otherwise.
        ConfigError: rows are no whole blocks, an output bias was trained, or it loses too much.
        MissingExtraError: the package gguf is not installed.
    """
    import torch

    from jumok.bundle.weights import load_model
    from jumok.export.equivalents import equivalent
    from jumok.export.gguf.comparing import compare_in_llama, compare_read
    from jumok.models.catalog import DataSizes, build

    section, rows = bundle.section, bundle.config.vocabulary_size
    assert isinstance(section, CausalConfig)
    values = tokenizer_values((bundle.folder / TOKENIZER).read_bytes())
    state = dict(load_model(bundle).state_dict())
    names = rows_there(bundle, state)
    vocabulary = names.vocabulary
    kept = names.kept()
    target = nearest(section, rows)
    if OUTPUT_BIAS in state and state[OUTPUT_BIAS][kept].any():
        target = with_output_bias(section, rows)
    if target.other:
        raise ConfigError(
            "the model has an output bias, which this architecture of llama.cpp has not.",
            got=f"up to {float(state[OUTPUT_BIAS][kept].abs().max()):.3g}",
            do=f"train a model with {', '.join(target.other)} of another value, or without bias",
            place=Location(bundle.folder),
        )
    with torch.device("meta"):
        wanted = build(target.section, DataSizes(vocabulary=rows, labels=0))
    state = equivalent(section, state, target.section, wanted)
    theirs = target.family.table(target.settings, target.names).write(state, vocabulary)
    header = _header(target, with_rows(values, kept), vocabulary)
    _write_file(file, target, theirs, header, bundle, options)
    context = target.settings.context_length
    read = compare_read(file, bundle, theirs, names, options, context)
    if context < section.max_length:
        options.say(f"its context there is that of its window: {context:,} tokens")
    return f"{read}; {compare_in_llama(file, bundle, names, options, context)}"


def rows_there(bundle: Bundle, state: Mapping[str, "Tensor"]) -> "ExportedRows":
    """The rows of our tokens in the file of a model with these weights."""
    from jumok.export.rows import rows_of

    values = tokenizer_values((bundle.folder / TOKENIZER).read_bytes())
    left_out = () if reads_unknown(values) else (UNKNOWN,)
    return rows_of(state, bundle.config.vocabulary_size, left_out)


def _header(target: Target, values: Values, vocabulary: "Vocabulary") -> Values:
    from jumok.interop.gguf_tokenizer import GGML

    settings = target.settings.model_dump(by_alias=True, exclude_unset=True, exclude_none=True)
    marks = {"bos": START, "eos": END, "padding": PAD, "unknown": UNKNOWN}
    values = values | {
        f"{name}_token_id": vocabulary.order[id]
        for name, id in marks.items()
        if name in ("bos", "eos") or id not in vocabulary.copied
    }
    values |= {"add_bos_token": True, "add_eos_token": False}
    return {f"{target.architecture}.{key}": value for key, value in settings.items()} | {
        f"{target.architecture}.vocab_size": vocabulary.rows,
        **{f"{GGML}{key}": value for key, value in values.items()},
    }


def _write_file(
    file: Path, target: Target, tensors: Mapping[str, "Tensor"], header: Values, bundle: Bundle,
    options: ExportOptions,
) -> None:  # fmt: skip
    with optional_import("writing a GGUF file", extra="gguf"):
        import gguf

    kinds = gguf.GGUFValueType
    of_value = {bool: kinds.BOOL, int: kinds.UINT32, float: kinds.FLOAT32, str: kinds.STRING}
    types = {
        "fp32": gguf.GGMLQuantizationType.F32,
        "bf16": gguf.GGMLQuantizationType.BF16,
        "int8": gguf.GGMLQuantizationType.Q8_0,
    }
    writer = gguf.GGUFWriter(file, target.architecture)
    writer.add_name(options.title)
    if bundle.card.provenance is not None and bundle.card.provenance.licence is not None:
        writer.add_license(bundle.card.provenance.licence.key)
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
    for key, value in header.items():
        writer.add_key_value(key, value, of_value.get(type(value), kinds.ARRAY))
    for name, tensor in tensors.items():
        kind = types[options.precision] if tensor.ndim > 1 else types["fp32"]
        numbers = tensor.detach().contiguous().numpy()
        if kind == types["int8"] and numbers.shape[-1] % BLOCK:
            raise ConfigError(
                "int8 needs rows of whole blocks.",
                expected=f"widths that are multiples of {BLOCK}",
                got=f"{name}: {numbers.shape[-1]}",
                do="export it with --precision fp32 or bf16",
            )
        made = numbers if kind == types["fp32"] else gguf.quants.quantize(numbers, kind)
        writer.add_tensor(name, made, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


GGUF = ExportFormat(
    name="gguf",
    reads="llama.cpp and what is built on it",
    precisions=("fp32", "bf16", "int8"),
    obstacle=obstacle,
    write=write,
    file="model.gguf",
)
