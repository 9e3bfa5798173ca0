"""The structures of engine.c, field by field, and its functions."""

import ctypes
import functools
from pathlib import Path

from jumok.kernels.libraries.building import built

HERE = Path(__file__).parent
SOURCES = (
    HERE / "engine.c",
    *sorted(HERE.glob("*.h")),
    HERE.parent / "kernels" / "vectors.h",
)
INTEGER, ADDRESS, REAL = ctypes.c_int64, ctypes.c_void_p, ctypes.c_double


class LinearLayout(ctypes.Structure):
    """A linear layer in panels; see matrix.h."""

    _fields_ = [
        *((name, INTEGER) for name in ("outputs", "inputs", "kind")),
        *((name, ADDRESS) for name in ("panels", "bias", "scale", "correction")),
    ]


class NormLayout(ctypes.Structure):
    """A norm: of the root mean square where `bias` is 0; both are 0 where there is none."""

    _fields_ = [("gain", ADDRESS), ("bias", ADDRESS)]


class ProcessLayout(ctypes.Structure):
    """What heads are put through after their projection; see layers.h."""

    _fields_ = [("gain", ADDRESS), ("unit", ADDRESS)]


class BlockLayout(ctypes.Structure):
    """A block of the encoder or of the decoder."""

    _fields_ = [
        ("projections", LinearLayout),
        ("output", LinearLayout),
        ("queries", ProcessLayout),
        ("keys", ProcessLayout),
        ("after_self", NormLayout),
        ("cross_query", LinearLayout),
        ("cross_projections", LinearLayout),
        ("cross_output", LinearLayout),
        ("cross_queries", ProcessLayout),
        ("cross_keys", ProcessLayout),
        ("after_cross", NormLayout),
        ("inner", LinearLayout),
        ("outer", LinearLayout),
        ("after_feedforward", NormLayout),
        ("window", INTEGER),
        ("recurrent", INTEGER),
    ]


class ModelLayout(ctypes.Structure):
    """A whole model."""

    _fields_ = [
        *((name, INTEGER) for name in ("dim", "heads", "kv_heads", "head_dim", "value_dim")),
        *((name, INTEGER) for name in ("hidden", "true_dim", "true_head_dim")),
        *((name, INTEGER) for name in ("encoder_blocks", "decoder_blocks", "post_norm")),
        *((name, INTEGER) for name in ("parallel", "activation", "gated")),
        ("farthest", INTEGER),
        *((name, REAL) for name in ("epsilon", "scale")),
        *((name, ADDRESS) for name in ("source_table", "target_table")),
        *((name, ADDRESS) for name in ("source_places", "target_places")),
        *((name, ADDRESS) for name in ("source_fraction", "turn", "slopes")),
        *((name, ADDRESS) for name in ("source_biases", "target_biases")),
        *((name, NormLayout) for name in ("source_norm", "target_norm")),
        ("encoder_first", NormLayout),
        ("decoder_first", NormLayout),
        ("encoder", ctypes.POINTER(BlockLayout)),
        ("decoder", ctypes.POINTER(BlockLayout)),
        ("output", LinearLayout),
    ]


class WatchedLayout(ctypes.Structure):
    """An attention whose weights are kept; see session.h."""

    _fields_ = [
        *((name, INTEGER) for name in ("part", "layer", "heads")),
        ("rank", ADDRESS),
        *((name, ADDRESS) for name in ("weights", "query", "key", "value")),
    ]


class CellLayout(ctypes.Structure):
    """What a recurrent cell puts an input and its state through; see cell.h."""

    _fields_ = [("input", LinearLayout), ("state", LinearLayout)]


class RecurrentLayout(ctypes.Structure):
    """A sequence-to-sequence RNN, or its decoder alone; see recurrent.h."""

    _fields_ = [
        *((name, INTEGER) for name in ("cell", "dim", "embedding", "half")),
        *((name, INTEGER) for name in ("true_dim", "true_half", "encoder_layers")),
        *((name, INTEGER) for name in ("directions", "one_vector", "from_last", "decoder_layers")),
        *((name, INTEGER) for name in ("order", "score")),
        *((name, REAL) for name in ("embedding_scale", "scale")),
        *((name, ADDRESS) for name in ("source_table", "target_table")),
        ("encoder", ctypes.POINTER(CellLayout)),
        ("decoder", ctypes.POINTER(CellLayout)),
        *((name, LinearLayout) for name in ("first", "query", "key", "gate", "readout", "output")),
        *((name, ADDRESS) for name in ("energy", "coverage")),
    ]


class RulesLayout(ctypes.Structure):
    """How hypotheses are found; see session.h."""

    _fields_ = [
        *((name, INTEGER) for name in ("beam", "minimum", "enough")),
        *((name, ctypes.c_int32) for name in ("start", "end")),
        ("forbidden", ADDRESS),
        ("forbidden_count", INTEGER),
        ("penalties", ADDRESS),
    ]


class FoundLayout(ctypes.Structure):
    """The best hypothesis of a sentence; see session.h."""

    _fields_ = [
        ("score", REAL),
        *((name, INTEGER) for name in ("finished", "length", "cut")),
        *((name, ADDRESS) for name in ("tokens", "probabilities")),
    ]


class RequestLayout(ctypes.Structure):
    """Sentences that are read together; see session.h."""

    _fields_ = [
        ("count", INTEGER),
        *((name, ADDRESS) for name in ("tokens", "memory", "offsets", "longest")),
        ("rules", ctypes.POINTER(RulesLayout)),
        ("found", ctypes.POINTER(FoundLayout)),
        ("watched", ctypes.POINTER(WatchedLayout)),
        ("watched_count", INTEGER),
        ("searched", INTEGER),
        ("sentences", ctypes.POINTER(ADDRESS)),
    ]


class RowLayout(ctypes.Structure):
    """One token that is read; see session.h."""

    _fields_ = [
        ("of", ADDRESS),
        *((name, ctypes.c_int32) for name in ("token", "place", "slot")),
        ("ancestors", ADDRESS),
    ]


REQUEST = ctypes.POINTER(RequestLayout)


@functools.cache
def library() -> ctypes.CDLL | None:
    """The engine; None if there is no compiler that can build it."""
    engine = built("engine", SOURCES)
    if engine is None:
        return None
    engine.jumok_begin.restype = engine.jumok_begin_recurrent.restype = ADDRESS
    engine.jumok_begin.argtypes = [ctypes.POINTER(ModelLayout)]
    engine.jumok_begin_recurrent.argtypes = [ctypes.POINTER(RecurrentLayout)]
    engine.jumok_end.restype = engine.jumok_release.restype = None
    engine.jumok_end.argtypes = [ADDRESS]
    engine.jumok_release.argtypes = [REQUEST]
    engine.jumok_encode.argtypes = [ADDRESS, REQUEST]
    engine.jumok_states.argtypes = [ADDRESS, REQUEST, ADDRESS]
    engine.jumok_search.argtypes = [ADDRESS, ctypes.POINTER(REQUEST), INTEGER, ADDRESS]
    engine.jumok_force.argtypes = [ADDRESS, REQUEST, ADDRESS, ADDRESS, ADDRESS, INTEGER, ADDRESS]
    engine.jumok_read.argtypes = [ADDRESS, REQUEST, INTEGER, ADDRESS, INTEGER, ADDRESS]
    engine.jumok_step.argtypes = [ADDRESS, INTEGER, ctypes.POINTER(RowLayout), ADDRESS]
    return engine


def loaded_engine() -> ctypes.CDLL:
    """The engine, where `library` says that it is there."""
    there = library()
    assert there is not None
    return there
