"""The tensors of an RNN by its config, without building it. Nothing here imports torch."""

from jumok.config.recurrent import GATES, PARTS, RecurrentConfig
from jumok.models.tensors import TABLES, TIED, Shape, Tensors

SCORES = ("none", "dot", "scaled-dot", "bilinear", "additive", "cosine")
"""The attentions whose tensors are known here."""


def recurrent_tensors(config: RecurrentConfig, vocabulary: int) -> Tensors | None:
    """The tensors of the model of this config; None if its attention is not known here."""
    if config.attention not in SCORES:
        return None
    shapes: dict[str, Shape] = dict.fromkeys(TABLES, (vocabulary, config.embedding))
    ways = ("forwards", "backwards")[: 1 + config.bidirectional]
    for layer in range(config.encoder_layers):
        inner = config.dim if layer else config.embedding
        for way in ways:
            name = f"encoder.readers.{layer}.{way}"
            shapes |= _cell(config, name, inner, config.dim // len(ways))
    return Tensors(shapes | _decoder(config), TIED[config.tied])


def _decoder(config: RecurrentConfig) -> dict[str, Shape]:
    dim, shapes = config.dim, dict[str, Shape]()
    for layer in range(config.decoder_layers):
        inner = config.upper_inputs if layer else config.word_inputs
        shapes |= _cell(config, f"decoder.cells.cells.{layer}", sum(inner), dim)
    return (
        shapes
        | _linear("decoder.first", dim, config.decoder_layers * PARTS[config.cell] * dim)
        | _linear("decoder.readout", sum(config.readout_inputs), config.embedding)
        | (_linear("decoder.gate", dim, 1) if config.gate else {})
        | _score(config, "decoder.attention.score")
    )


def _score(config: RecurrentConfig, name: str) -> dict[str, Shape]:
    dim = config.dim
    if config.attention == "cosine":
        return {f"{name}.sharpness": (1,)}
    if config.attention == "bilinear":
        return _linear(f"{name}.key", dim, dim)
    if config.attention != "additive":
        return {}
    vectors = ("energy", "coverage") if config.coverage else ("energy",)
    shapes: dict[str, Shape] = {f"{name}.{vector}": (dim,) for vector in vectors}
    return shapes | _linear(f"{name}.query", dim, dim) | _linear(f"{name}.key", dim, dim)


def _cell(config: RecurrentConfig, name: str, inner: int, dim: int) -> dict[str, Shape]:
    gates = GATES[config.cell] * dim
    return _linear(f"{name}.input", inner, gates) | _linear(f"{name}.state", dim, gates)


def _linear(name: str, inputs: int, outputs: int) -> dict[str, Shape]:
    return {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}
