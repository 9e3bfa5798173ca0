"""Which parts of a stack of blocks the engine has."""

from jumok.config.stack import StackConfig, WriterConfig
from jumok.engine.structures import library

SERVED = {
    "score": ("scaled-dot", "dot", "bilinear", "cosine"),
    "score_cap": (None,),
    "sinks": (False,),
    "attention_kind": ("heads",),
    "value_residual": (False,),
    "experts": (None,),
    "norm_kind": ("layer", "rms"),
    "feedforward_kind": ("plain", "gated"),
    "activation": ("relu", "gelu", "silu"),
    "process_heads": ((), ("qk-norm",)),
    "positions": (
        "none", "index", "fraction", "binary", "sinusoidal", "learned", "rotary", "alibi",
    ),
}  # fmt: skip
"""The values of keys of recipes that the engine knows. An additive score is no product of vectors,
and a part of a plugin is Python code: both need torch."""

WRITING = {"logit_cap": (None,)}
"""The same of what only blocks that write have."""


def missing_part(config: StackConfig) -> str | None:
    """The key and value that the engine does not have; None if it serves the blocks."""
    keys = SERVED | WRITING if isinstance(config, WriterConfig) else SERVED
    for key, known in keys.items():
        found = getattr(config, key)
        if found not in known:
            return f"{key} = {found!r}"
    strange = [name for name in config.process_output if name != "head-scale"]
    if strange:
        return f"process_output = {config.process_output!r}"
    if config.score == "bilinear" and (config.process_heads or config.positions == "rotary"):
        changed = "process_heads" if config.process_heads else "rotary positions"
        return f"score = 'bilinear' with {changed}"
    return "no C compiler" if library() is None else None
