"""A captioner's decoder on the engine: it reads the Memory of an image, which torch computes.

Convolutions are no part of the engine: it makes the writing of captions faster, not the reading of
images, which takes most of the time of a single one.
"""

from jumok.config.captioner import CaptionerConfig, RnnDecoderConfig
from jumok.engine import Precision, recurrent
from jumok.engine.blocks import missing_part
from jumok.engine.native import NativeModel
from jumok.engine.packing import Weights
from jumok.engine.recurrent import NativeRecurrent
from jumok.engine.transformer import NativeDecoder


def missing(config: CaptionerConfig) -> str | None:
    """What of this model's decoder the engine does not have; None if it serves it."""
    decoder = config.decoder
    if isinstance(decoder, RnnDecoderConfig):
        return recurrent.missing(decoder.recurrent(looks=config.memory == "grid"))
    return missing_part(decoder)


def native_decoder(
    config: CaptionerConfig, weights: Weights, kind: Precision = "fp32"
) -> NativeModel:
    """The decoder of a captioner, every source of which is a Memory.

    Args:
        weights: of the whole model, by their names, float32.
    """
    own = {name: each for name, each in weights.items() if name.startswith("decoder.")}
    decoder = config.decoder
    if isinstance(decoder, RnnDecoderConfig):
        return NativeRecurrent(decoder.recurrent(looks=config.memory == "grid"), own, kind)
    return NativeDecoder(decoder, own, kind)
