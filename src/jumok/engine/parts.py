"""The parts of models that the engine has, and what it needs to know of each."""

from dataclasses import dataclass

from jumok.config.stack import StackConfig, WriterConfig
from jumok.engine.structures import library


@dataclass(frozen=True)
class NativeScore:
    """What a score is to the engine.

    Attributes:
        number: that of the engine's loop in RNNs: products, those of unit vectors, v . tanh(...).
        in_blocks: whether blocks have it, too.
        scaled: whether products are divided by the square root of the vectors' width.
        sharpness: whether it has a factor for each head, that of unit vectors.
        layers: the linear layers that queries and keys go through.
        vectors: its other weights.
    """

    number: int = 0
    in_blocks: bool = True
    scaled: bool = False
    sharpness: bool = False
    layers: tuple[str, ...] = ()
    vectors: tuple[str, ...] = ()


SCORES = {
    "scaled-dot": NativeScore(scaled=True),
    "dot": NativeScore(),
    "bilinear": NativeScore(layers=("key",)),
    "cosine": NativeScore(1, sharpness=True),
    "additive": NativeScore(2, in_blocks=False, layers=("query", "key"), vectors=("energy",)),
}
NORMS = {"layer": ("weight", "bias"), "rms": ("weight",)}
"""Each norm with its weights: without a bias, means are not subtracted."""

FEEDFORWARDS = {"plain": ("inner",), "gated": ("gate", "inner")}
"""Each feed-forward layer with the linear layers before the activation."""

ACTIVATIONS = ("relu", "gelu", "silu")
POSITIONS = (
    "none", "index", "fraction", "binary", "sinusoidal", "learned", "rotary", "alibi",
)  # fmt: skip
SERVED = {
    "score": tuple(name for name, score in SCORES.items() if score.in_blocks),
    "score_cap": (None,),
    "sinks": (False,),
    "attention_kind": ("heads",),
    "value_residual": (False,),
    "experts": (None,),
    "norm_kind": tuple(NORMS),
    "feedforward_kind": tuple(FEEDFORWARDS),
    "activation": ACTIVATIONS,
    "process_heads": ((), ("qk-norm",)),
    "positions": POSITIONS,
    "logit_cap": (None,),
}
"""The values of keys of recipes that the engine knows. A part of a plugin is Python code, which
needs torch."""


def missing_part(config: StackConfig) -> str | None:
    """The key and value that the engine does not have; None if it serves the blocks."""
    for key, known in SERVED.items():
        if key != "logit_cap" or isinstance(config, WriterConfig):
            found = getattr(config, key)
            if found not in known:
                return f"{key} = {found!r}"
    if any(name != "head-scale" for name in config.process_output):
        return f"process_output = {config.process_output!r}"
    if SCORES[config.score].layers and (config.process_heads or config.positions == "rotary"):
        changed = "process_heads" if config.process_heads else "rotary positions"
        return f"score = {config.score!r} with {changed}"
    return "no C compiler" if library() is None else None
