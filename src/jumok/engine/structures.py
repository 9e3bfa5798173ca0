"""The structures of engine.c, field by field, and its functions."""

import ctypes
import functools
from pathlib import Path

from jumok.kernels.building import built

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
    """A LayerNorm; both addresses are 0 where there is none."""

    _fields_ = [("gain", ADDRESS), ("bias", ADDRESS)]


class BlockLayout(ctypes.Structure):
    """A block of the encoder or of the decoder."""

    _fields_ = [
        ("projections", LinearLayout),
        ("output", LinearLayout),
        ("after_self", NormLayout),
        ("cross_query", LinearLayout),
        ("cross_projections", LinearLayout),
        ("cross_output", LinearLayout),
        ("after_cross", NormLayout),
        ("inner", LinearLayout),
        ("outer", LinearLayout),
        ("after_feedforward", NormLayout),
    ]


class ModelLayout(ctypes.Structure):
    """A whole model."""

    _fields_ = [
        *((name, INTEGER) for name in ("dim", "heads", "head_dim", "value_dim", "hidden")),
        *((name, INTEGER) for name in ("positions", "encoder_blocks", "decoder_blocks")),
        ("post_norm", INTEGER),
        *((name, REAL) for name in ("epsilon", "scale", "embedding_scale")),
        *((name, ADDRESS) for name in ("source_table", "target_table")),
        *((name, ADDRESS) for name in ("source_places", "target_places")),
        ("encoder_first", NormLayout),
        ("decoder_first", NormLayout),
        ("encoder", ctypes.POINTER(BlockLayout)),
        ("decoder", ctypes.POINTER(BlockLayout)),
        ("output", LinearLayout),
    ]


class WatchedLayout(ctypes.Structure):
    """An attention whose weights are kept; see model.h."""

    _fields_ = [
        *((name, INTEGER) for name in ("part", "layer", "heads")),
        ("rank", ADDRESS),
        ("weights", ADDRESS),
    ]


class SearchLimits(ctypes.Structure):
    """What every hypothesis must keep to."""

    _fields_ = [
        ("minimum", INTEGER),
        ("start", ctypes.c_int32),
        ("end", ctypes.c_int32),
        ("longest", ADDRESS),
        ("forbidden", ADDRESS),
        ("forbidden_count", INTEGER),
        ("enough", INTEGER),
        ("penalties", ADDRESS),
    ]


class Best(ctypes.Structure):
    """Where the best hypothesis of each sentence is written."""

    _fields_ = [
        (name, ADDRESS)
        for name in ("score", "finished", "length", "cut", "tokens", "probabilities")
    ]


@functools.cache
def library() -> ctypes.CDLL | None:
    """The engine; None if there is no compiler that can build it."""
    engine = built("engine", SOURCES)
    if engine is None:
        return None
    engine.jumok_begin.restype = ADDRESS
    engine.jumok_begin.argtypes = [
        ctypes.POINTER(ModelLayout), INTEGER, ADDRESS, ADDRESS, ADDRESS, INTEGER, INTEGER,
        ctypes.POINTER(WatchedLayout), INTEGER,
    ]  # fmt: skip
    engine.jumok_greedy.argtypes = [
        ADDRESS, ctypes.POINTER(SearchLimits), ctypes.POINTER(Best)
    ]  # fmt: skip
    engine.jumok_beam.argtypes = [
        ADDRESS, ctypes.POINTER(SearchLimits), INTEGER, ctypes.POINTER(Best)
    ]  # fmt: skip
    engine.jumok_force.argtypes = [ADDRESS, ADDRESS, ADDRESS, ADDRESS, INTEGER, ADDRESS]
    engine.jumok_end.argtypes = [ADDRESS]
    return engine
