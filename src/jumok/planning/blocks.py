"""FLOP of a Transformer block's products in the forward pass, part by part.

Keys beyond a window are skipped where the kernels can: the scores are products, and nothing is
added to them or dropped from them (`attention/fused.py`). All other paths compute and mask all.
"""

from jumok.config.stack import StackConfig
from jumok.models.tensors import HEADS
from jumok.specs import matrices

HEAD_MULTIPLE = 16
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
    biased = config.specs.positions.enters == "scores"
    added = config.sinks or biased or config.attention_dropout > 0
    return multiplied(config) and not added


def multiplied(config: StackConfig, *, cross: bool = False) -> bool:
    """Whether the scores are products of vectors, of which a softmax is taken.

    Args:
        cross: of attention to a Memory, which has usual heads in every model.
    """
    plain = config.specs.score.product and config.score_cap is None
    return plain and (cross or config.specs.attention.softmax)


def fuses(config: StackConfig, *, cross: bool = False) -> bool:
    """Whether a GPU kernel recomputes the weights instead of keeping them.

    None does if weights are dropped, nor if heads share keys and have values of another width.
    """
    sizes = config.sizes
    other = not cross and (config.sinks or config.specs.attention.values > 1)
    shared = sizes.kv_heads != sizes.heads
    unequal = shared and (other or sizes.head_dim != sizes.value_dim)
    return multiplied(config, cross=cross) and not (unequal or config.attention_dropout)


def self_attention_flop(config: StackConfig, keys: float) -> float:
    """FLOP for each query, which is multiplied with `keys` keys."""
    specs, sizes = config.specs, config.sizes
    if specs.attention.recurrent:
        return 2.0 * matrices(specs.attention.tensors(sizes))
    compared = sizes.head_dim * specs.score.product
    if config.sinks and multiplied(config):
        compared, keys = sizes.head_dim + HEAD_MULTIPLE - sizes.head_dim % HEAD_MULTIPLE, keys + 1.0
    attended = 2.0 * keys * config.heads * (compared + specs.attention.values * sizes.value_dim)
    projected = 2.0 * (matrices(specs.attention.tensors(sizes)) + _gate_weights(config))
    return projected + _score_flop(config, 1.0) + attended


def cross_attention_flop(config: StackConfig, keys: float, states: float) -> float:
    """FLOP of attention to a Memory, for each query, which is multiplied with `keys` keys.

    Args:
        states: of the Memory, for each query: their keys and values are computed.
    """
    sizes, weights = config.sizes, HEADS.tensors(config.sizes)
    of_states = matrices(weights, "key") + matrices(weights, "value")
    of_queries = matrices(weights) - of_states + _gate_weights(config)
    projected = 2.0 * (of_queries + states * of_states)
    compared = sizes.head_dim * config.specs.score.product
    attended = 2.0 * keys * config.heads * (compared + sizes.value_dim)
    return projected + _score_flop(config, states) + attended


def _gate_weights(config: StackConfig) -> int:
    return sum(matrices(gate.tensors(config.sizes)) for gate in config.specs.output_processes)


def _score_flop(config: StackConfig, states: float) -> float:
    """FLOP of the score's own matrices, for each query; `states` as in `cross_attention_flop`."""
    layers, sizes = config.specs.score.layers, config.sizes
    vectors = sizes.heads * ("query" in layers) + states * sizes.kv_heads * ("key" in layers)
    return 2.0 * vectors * sizes.head_dim**2


def feedforward_flop(config: StackConfig) -> float:
    """FLOP for each position: of the router, and of the experts it uses."""
    one = config.specs.feedforward.tensors(config.dim, config.feedforward, config.bias)
    if config.experts is None:
        return 2.0 * matrices(one)
    return 2.0 * (config.dim * config.experts + config.experts_used * matrices(one))
