"""Decode with jumok, on weights without a bundle.

python jumok_larger_decoding.py FOLDER ENGINE PRECISION; the folder holds shape.json and
weights.safetensors, ENGINE is torch or native, PRECISION is fp32, bf16 or int8.
"""

import argparse
import json
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
from jumok.decoding.native import rules_of
from jumok.engine import Precision
from jumok.engine.language import NativeCausal
from jumok.engine.native import NativeModel
from jumok.engine.packing import Weights
from jumok.engine.recurrent import NativeRecurrent
from jumok.engine.transformer import NativeTransformer
from jumok.models.causal import CausalLanguageModel
from jumok.models.encoder_decoder import Transformer
from jumok.models.memory import SequenceToSequence
from jumok.models.recurrent import RecurrentModel

Config = TransformerConfig | CausalConfig | RecurrentConfig
SECTIONS: dict[str, type[Config]] = {
    "transformer": TransformerConfig,
    "causal-lm": CausalConfig,
    "rnn": RecurrentConfig,
}


def main() -> None:
    """Load, then answer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("engine", choices=["torch", "native"])
    parser.add_argument("precision", choices=["fp32", "bf16", "int8"])
    given = parser.parse_args()
    shape = json.loads((given.folder / "shape.json").read_text())
    config = SECTIONS[shape["config"]["kind"]](**shape["config"])
    weights = load_file(given.folder / "weights.safetensors")
    weights.pop("positions", None)
    if given.engine == "native":
        arrays = {name: tensor.numpy() for name, tensor in weights.items()}
        answer_requests(_on_engine(config, arrays, given.precision))
        return
    model = _model(config, shape["vocabulary"]).eval()
    model.load_state_dict(weights)
    model.eval().to(torch.float32 if given.precision == "fp32" else torch.bfloat16)
    with torch.inference_mode():
        answer_requests(_on_torch(model))


def _on_engine(config: Config, weights: Weights, precision: Precision) -> Decode:
    if isinstance(config, CausalConfig):
        return partial(_write, NativeCausal(config, weights, config.max_length, precision))
    if isinstance(config, RecurrentConfig):
        return partial(_search, NativeRecurrent(config, weights, precision))
    return partial(_search, NativeTransformer(config, weights, precision))


def _model(config: Config, vocabulary: int) -> SequenceToSequence | CausalLanguageModel:
    if isinstance(config, CausalConfig):
        return CausalLanguageModel(config, vocabulary)
    if isinstance(config, RecurrentConfig):
        return RecurrentModel(config, vocabulary)
    return Transformer(config, vocabulary)


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


def _on_torch(model: SequenceToSequence | CausalLanguageModel) -> Decode:
    if isinstance(model, CausalLanguageModel):
        return partial(_continue, model)
    return partial(_translate, model)


def _continue(
    model: CausalLanguageModel, prompts: list[list[int]], beam: int, length: int
) -> list[list[int]]:
    options = _options(beam, length + len(prompts[0]) - 1)
    prefixes = [prompt[1:] for prompt in prompts]  # decoding adds START
    decoded = decode(model.decoder, model.nothing(len(prompts)), options, prefixes)
    return [list(row[0].tokens)[-length:] for row in decoded]


def _translate(
    model: SequenceToSequence, sources: list[list[int]], beam: int, length: int
) -> list[list[int]]:
    (batch,) = source_batches([source[:-1] for source in sources], sentences=len(sources))
    memory = model.encode(batch.tokens, batch.allowed)
    outputs: list[list[int]] = [[] for _ in sources]
    decoded = decode(model.decoder, memory, _options(beam, length))
    for row, hypotheses in zip(batch.rows, decoded, strict=True):
        outputs[row] = list(hypotheses[0].tokens)
    return outputs


if __name__ == "__main__":
    main()
