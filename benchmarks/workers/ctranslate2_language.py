"""Write with a causal language model in CTranslate2, on the weights that jumok wrote.

python ctranslate2_language.py FOLDER COMPUTE_TYPE; the folder holds shape.json and
weights.safetensors (jumok's names). COMPUTE_TYPE is float32 or int8.
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
from ctranslate2.specs import TransformerDecoderModelSpec, common_spec
from ctranslate2_model import SPECIALS, Weights, linear, set_linear, set_norm, vocabulary
from safetensors.numpy import load_file


def main() -> None:
    """Convert, load, then answer."""
    folder, compute_type = Path(sys.argv[1]), sys.argv[2]
    shape = json.loads((folder / "shape.json").read_text())
    with TemporaryDirectory() as converted:
        _specification(shape, load_file(folder / "weights.safetensors")).save(converted)
        generator = ctranslate2.Generator(
            converted, compute_type=compute_type, inter_threads=1, intra_threads=1
        )
    names = vocabulary(shape["vocabulary"])
    ids = {name: number for number, name in enumerate(names)}
    answer_requests(partial(_write, generator, names, ids))


def _specification(shape: dict[str, int], weights: Weights) -> TransformerDecoderModelSpec:
    spec = TransformerDecoderModelSpec.from_config(
        shape["layers"], shape["heads"], pre_norm=True, activation=common_spec.Activation.GELU
    )
    spec.register_vocabulary(vocabulary(shape["vocabulary"]))
    spec.config.unk_token, spec.config.bos_token, spec.config.eos_token = SPECIALS[1:]
    table = weights["decoder.embedding.table"]
    decoder = spec.decoder
    decoder.scale_embeddings = True
    decoder.embeddings.weight = decoder.projection.weight = table
    decoder.position_encodings.encodings = weights["decoder.embedding.positions.encoding.table"]
    for number, layer in enumerate(decoder.layer):
        block = f"decoder.blocks.{number}"
        name = f"{block}.self_attention"
        parts = [linear(weights, f"{name}.{part}") for part in ("query", "key", "value")]
        fuse_linear(layer.self_attention.linear[0], parts)
        set_linear(layer.self_attention.linear[1], weights, f"{name}.output")
        set_linear(layer.ffn.linear_0, weights, f"{block}.feedforward.inner")
        set_linear(layer.ffn.linear_1, weights, f"{block}.feedforward.outer")
        before = f"decoder.blocks.{number - 1}.after_feedforward" if number else None
        norm = "decoder.first_norm" if before is None else f"{before}.norm"
        set_norm(layer.self_attention.layer_norm, weights, norm)
        set_norm(layer.ffn.layer_norm, weights, f"{block}.after_self.norm")
    set_norm(decoder.layer_norm, weights, f"{block}.after_feedforward.norm")
    spec.validate()
    spec.optimize()
    return spec


def _write(
    generator: ctranslate2.Generator,
    names: list[str],
    ids: dict[str, int],
    prompts: list[list[int]],
    beam: int,
    length: int,
) -> list[list[int]]:
    results = generator.generate_batch(
        [[names[number] for number in prompt] for prompt in prompts],
        beam_size=beam, min_length=length, max_length=length, sampling_topk=1,
        include_prompt_in_result=False,
    )  # fmt: skip
    return [[ids[name] for name in np.asarray(result.sequences[0])] for result in results]


if __name__ == "__main__":
    main()
