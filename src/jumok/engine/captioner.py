"""A captioner's decoder on the engine: it reads the Memory of an image, which torch computes.

Convolutions are no part of the engine. They take most of the time of a single image, so that the
engine makes captions of several hypotheses, or of many words, faster, not the reading of the image.
"""

from jumok.config.captioner import CaptionerConfig, RnnDecoderConfig
from jumok.engine import recurrent
from jumok.engine.native import NativeModel
from jumok.engine.packing import Kind
from jumok.engine.parts import missing_part
from jumok.engine.recurrent import NativeRecurrent
from jumok.engine.tensors import Tensors
from jumok.engine.transformer import NativeDecoder


def missing(config: CaptionerConfig) -> str | None:
    """What of this model's decoder the engine does not have; None if it serves it."""
    decoder = config.decoder
    if isinstance(decoder, RnnDecoderConfig):
        return recurrent.missing(decoder.recurrent(looks=config.memory == "grid"))
    return missing_part(decoder)


def native_decoder(config: CaptionerConfig, tensors: Tensors, kind: Kind = "fp32") -> NativeModel:
    """The decoder of a captioner, every source of which is a Memory."""
    decoder = config.decoder
    if isinstance(decoder, RnnDecoderConfig):
        config_of_rnn = decoder.recurrent(looks=config.memory == "grid")
        return NativeRecurrent(config_of_rnn, tensors, kind, encodes=False)
    return NativeDecoder(decoder, tensors, kind)
