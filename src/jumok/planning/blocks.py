"""What a block of a Transformer multiplies: FLOP of its forward pass, part by part.

A window leaves out the keys beyond it where the kernels do: they get its size as long as the
scores are products, and nothing is added to them or dropped from them (`attention/fused.py`). All
other paths compute all scores, and mask them.
"""

from jumok.config.stack import StackConfig
from jumok.models.size import block_weights, head_dims

LANES = 16
"""With a sink the kernels get heads of a multiple of this width (`kernels/native.py`)."""


def keys_seen(config: StackConfig, layers: int, length: float, *, causal: bool) -> list[float]:
    """The keys that are multiplied with each query, in each layer of self-attention."""
    windows = [config.window_of(layer) for layer in range(layers)]
    if not skips(config):
        return [length] * layers
    sides = [None if each is None else each if causal else 2 * each - 1 for each in windows]
    return [length if each is None else min(length, float(each)) for each in sides]


def skips(config: StackConfig) -> bool:
    """Whether keys beyond a window are left out, instead of multiplied and masked."""
    added = config.sinks or config.positions == "alibi" or config.attention_dropout > 0
    return multiplied(config) and not added


def multiplied(config: StackConfig, *, cross: bool = False) -> bool:
    """Whether the scores are products of vectors, of which a softmax is taken.

    Args:
        cross: in attention to a Memory, which is that of usual heads in every model.
    """
    plain = config.score != "additive" and config.score_cap is None
    return plain and (cross or config.attention_kind != "linear")


def fuses(config: StackConfig, *, cross: bool = False) -> bool:
    """Whether a kernel of GPUs computes the weights again, instead of keeping them.

    None does if weights are dropped, nor if heads share keys and have values of another width.
    """
    head_dim, value_dim = head_dims(config)
    other = not cross and (config.sinks or config.attention_kind == "differential")
    shared = config.kv_heads not in (None, config.heads)
    unequal = shared and (other or head_dim != value_dim)
    return multiplied(config, cross=cross) and not (unequal or config.attention_dropout)


def self_attention(config: StackConfig, keys: float) -> float:
    """FLOP of one attention, for each of its queries.

    Args:
        keys: that each query is multiplied with.
    """
    weights, (head_dim, value_dim) = block_weights(config), head_dims(config)
    compared = 0 if config.score == "additive" else head_dim
    if config.attention_kind == "differential":
        value_dim = 2 * value_dim
    if config.sinks and multiplied(config):
        compared, keys = head_dim + LANES - head_dim % LANES, keys + 1.0
    attended = 2.0 * keys * config.heads * (compared + value_dim)
    projected = 2.0 * (weights.attention + weights.gates)
    return projected + _score(config, 1.0) + attended


def cross_attention(config: StackConfig, keys: float, states: float) -> float:
    """FLOP of one attention to a Memory, for each of its queries.

    Args:
        keys: that each query is multiplied with.
        states: of the Memory, for each query: keys and values are computed for them.
    """
    weights, (head_dim, value_dim) = block_weights(config), head_dims(config)
    of_queries = config.dim * config.heads * (head_dim + value_dim)
    projected = 2.0 * (of_queries + weights.gates + states * (weights.cross - of_queries))
    compared = 0 if config.score == "additive" else head_dim
    attended = 2.0 * keys * config.heads * (compared + value_dim)
    return projected + _score(config, states) + attended


def _score(config: StackConfig, states: float) -> float:
    """FLOP of the score's own matrices, for each query; `states` as in `cross_attention`."""
    queries = config.heads * (config.score == "additive")
    keys = (config.kv_heads or config.heads) * (config.score in ("additive", "bilinear"))
    return 2.0 * (queries + states * keys) * head_dims(config)[0] ** 2


def feedforward(config: StackConfig) -> float:
    """FLOP of the feed-forward layer for each position: of the router, and the experts it uses."""
    weights = block_weights(config)
    used = config.experts_used if config.experts is not None else 1
    return 2.0 * (weights.router + used * weights.expert)
