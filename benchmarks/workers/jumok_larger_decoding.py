"""Decode with jumok, on weights without a bundle.

python jumok_larger_decoding.py FOLDER ENGINE PRECISION; the folder holds shape.json and
weights.safetensors, ENGINE is torch or native, PRECISION is fp32, bf16 or int8.
"""

import json
import sys
from functools import partial
from pathlib import Path

import numpy as np
import torch
from answering import Decode, answer_requests
from safetensors.torch import load_file

from jumok.config.causal import CausalConfig
from jumok.config.recurrent import RecurrentConfig
from jumok.config.transformer import TransformerConfig
from jumok.data.pairs.batches import source_batches
from jumok.data.tokenizer import END, PAD, START
from jumok.decoding import DecodingOptions, decode
from jumok.engine.language import NativeCausal
from jumok.engine.native import NativeModel
from jumok.engine.recurrent import NativeRecurrent
from jumok.engine.transformer import NativeTransformer
from jumok.kernels.linear import prepare_for_inference
from jumok.kernels.packed import Packs
from jumok.models.causal import CausalLanguageModel
from jumok.models.encoder_decoder import Transformer
from jumok.models.memory import SequenceToSequence
from jumok.models.recurrent import RecurrentModel
from jumok.systems.translation.on_engine import rules_of

SECTIONS = {"transformer": TransformerConfig, "causal-lm": CausalConfig, "rnn": RecurrentConfig}
MODELS = {"transformer": Transformer, "causal-lm": CausalLanguageModel, "rnn": RecurrentModel}


def main() -> None:
    """Load, then answer."""
    folder, engine, precision = Path(sys.argv[1]), *sys.argv[2:]
    shape = json.loads((folder / "shape.json").read_text())
    config = SECTIONS[shape["config"]["kind"]](**shape["config"])
    causal = isinstance(config, CausalConfig)
    weights = load_file(folder / "weights.safetensors")
    weights.pop("positions", None)
    if engine == "native":
        arrays = {name: tensor.numpy() for name, tensor in weights.items()}
        if causal:
            native = NativeCausal(config, arrays, config.max_length, precision)
            answer_requests(partial(_write, native))
        else:
            rnn = isinstance(config, RecurrentConfig)
            kind = NativeRecurrent if rnn else NativeTransformer
            answer_requests(partial(_search, kind(config, arrays, precision)))
        return
    model = MODELS[config.kind](config, shape["vocabulary"]).eval()
    model.load_state_dict(weights)
    prepare_for_inference(model, torch.float32 if precision == "fp32" else torch.bfloat16)
    with torch.inference_mode(), Packs().at_work():
        answer_requests(_on_torch(model, causal))


def _options(beam: int, length: int, *forbidden: int) -> DecodingOptions:
    return DecodingOptions(
        beam=beam, minimum_length=length, maximum_length=length, length_penalty=1.0,
        forbidden=(PAD, START, *forbidden),
    )  # fmt: skip


def _search(
    model: NativeModel, sources: list[list[int]], beam: int, length: int
) -> list[list[int]]:
    rules = rules_of(_options(beam, length), list(map(len, sources)))
    return [list(each.tokens) for each in model.search(sources, rules)]


def _write(
    model: NativeCausal, prompts: list[list[int]], beam: int, length: int
) -> list[list[int]]:
    assert beam == 1
    outputs, reader = [], model.pass_reader()
    for prompt in prompts:
        written: list[int] = []
        text, new = model.begin(), prompt
        while len(written) < length:
            logits = reader.finish(text.read(new))
            logits[[PAD, START, END]] = -np.inf
            new = [int(np.argmax(logits))]
            written += new
        outputs.append(written)
    return outputs


def _on_torch(model: SequenceToSequence | CausalLanguageModel, causal: bool) -> Decode:
    def write(prompts: list[list[int]], beam: int, length: int) -> list[list[int]]:
        options = _options(beam, length + len(prompts[0]) - 1)
        prefixes = [prompt[1:] for prompt in prompts]  # decoding adds START
        found = decode(model.decoder, model.nothing(len(prompts)), options, prefixes)
        return [list(row[0].tokens)[-length:] for row in found]

    def translate(sources: list[list[int]], beam: int, length: int) -> list[list[int]]:
        (batch,) = source_batches([source[:-1] for source in sources], sentences=len(sources))
        memory = model.encode(batch.tokens, batch.allowed)
        outputs: list[list[int]] = [[] for _ in sources]
        found = decode(model.decoder, memory, _options(beam, length))
        for row, hypotheses in zip(batch.rows, found, strict=True):
            outputs[row] = list(hypotheses[0].tokens)
        return outputs

    return write if causal else translate


if __name__ == "__main__":
    main()
