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
import numpy as np
from answering import answer_requests
from ctranslate2.converters.utils import fuse_linear
from ctranslate2.specs import TransformerSpec, common_spec
from safetensors.numpy import load_file

SPECIALS = ["<pad>", "<unk>", "<s>", "</s>"]

Weights = dict[str, np.ndarray]


def main() -> None:
    """Convert, load, then answer."""
    folder, compute_type = Path(sys.argv[1]), sys.argv[2]
    shape = json.loads((folder / "shape.json").read_text())
    with TemporaryDirectory() as converted:
        _specification(shape, load_file(folder / "weights.safetensors")).save(converted)
        translator = ctranslate2.Translator(
            converted, compute_type=compute_type, inter_threads=1, intra_threads=1
        )
    names = _vocabulary(shape["vocabulary"])
    ids = {name: number for number, name in enumerate(names)}
    answer_requests(partial(_decode, translator, names, ids))


def _vocabulary(size: int) -> list[str]:
    return SPECIALS + [str(number) for number in range(len(SPECIALS), size)]


def _specification(shape: dict[str, int], weights: Weights) -> TransformerSpec:
    spec = TransformerSpec.from_config(shape["layers"], shape["heads"], pre_norm=False)
    spec.config.layer_norm_epsilon = 1e-5
    names = _vocabulary(shape["vocabulary"])
    spec.register_source_vocabulary(names)
    spec.register_target_vocabulary(names)
    spec.config.unk_token, spec.config.bos_token, spec.config.eos_token = SPECIALS[1:]
    spec.config.decoder_start_token = SPECIALS[2]
    table = weights["decoder.embedding.table"]
    spec.encoder.embeddings[0].weight = table
    spec.decoder.embeddings.weight = table
    spec.decoder.projection.weight = table
    for side in (spec.encoder, spec.decoder):
        side.position_encodings.encodings = weights["positions"]
    for number, layer in enumerate(spec.encoder.layer):
        block = f"encoder.blocks.{number}"
        _set_self_attention(layer.self_attention, weights, block)
        _set_feed_forward(layer.ffn, weights, block)
    for number, layer in enumerate(spec.decoder.layer):
        block = f"decoder.blocks.{number}"
        _set_self_attention(layer.self_attention, weights, block)
        _set_cross_attention(layer.attention, weights, block)
        _set_feed_forward(layer.ffn, weights, block)
    spec.validate()
    spec.optimize()
    return spec


def _set_self_attention(spec: object, weights: Weights, block: str) -> None:
    name = f"{block}.self_attention"
    fuse_linear(
        spec.linear[0],
        [_linear(weights, f"{name}.{part}") for part in ("query", "key", "value")],
    )
    _set(spec.linear[1], weights, f"{name}.output")
    _set_norm(spec.layer_norm, weights, f"{block}.after_self.norm")


def _set_cross_attention(spec: object, weights: Weights, block: str) -> None:
    name = f"{block}.cross_attention"
    _set(spec.linear[0], weights, f"{name}.query")
    fuse_linear(spec.linear[1], [_linear(weights, f"{name}.{part}") for part in ("key", "value")])
    _set(spec.linear[2], weights, f"{name}.output")
    _set_norm(spec.layer_norm, weights, f"{block}.after_cross.norm")


def _set_feed_forward(spec: object, weights: Weights, block: str) -> None:
    _set(spec.linear_0, weights, f"{block}.feedforward.inner")
    _set(spec.linear_1, weights, f"{block}.feedforward.outer")
    _set_norm(spec.layer_norm, weights, f"{block}.after_feedforward.norm")


def _linear(weights: Weights, name: str) -> common_spec.LinearSpec:
    spec = common_spec.LinearSpec()
    _set(spec, weights, name)
    return spec


def _set(spec: common_spec.LinearSpec, weights: Weights, name: str) -> None:
    spec.weight = weights[f"{name}.weight"]
    spec.bias = weights[f"{name}.bias"]


def _set_norm(spec: common_spec.LayerNormSpec, weights: Weights, name: str) -> None:
    spec.gamma = weights[f"{name}.weight"]
    spec.beta = weights[f"{name}.bias"]


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
