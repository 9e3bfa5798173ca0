"""The table of parts: for each role, the names in recipes and the part of each name.

| role           | key of recipes             | built with                             | interface |
|----------------|----------------------------|----------------------------------------|-----------|
| norm           | norm_kind                  | dim, epsilon                           | layers    |
| feedforward    | feedforward_kind           | dim, hidden, activation, dropout, bias | layers    |
| score          | score; attention (of RNNs) | dim, memory_dim, heads                 | attention |
| head_process   | process_heads              | head_dim, epsilon                      | attention |
| attention      | attention_kind             | `.of(AttentionSizes, ...)`             | attention |
| output_process | process_output             | heads, value_dim, dim                  | attention |
| positions      | positions                  | `.of(PositionSizes)`                   | positions |
| format         | format; a file's suffix    | called with (file, columns, report)    | data      |

The interfaces are protocols, in the file interfaces.py of the named package; the interface of
formats is described in `jumok/data/files/tables.py`.

A new part is a new file and a line here, with its builder and its record. The builder is a string,
"module:name", imported when the part is first built, so recipes can be checked without importing
models. The record (`jumok/specs.py`) describes the part to the rest of the code. `register` adds a
part of your own, before the recipe is read.
"""

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from jumok import places
from jumok.errors import ConfigError
from jumok.specs import (
    AttentionSpec,
    BinaryPositionSpec,
    FeedForwardSpec,
    HeadProcessSpec,
    LatentSpec,
    NormSpec,
    OutputProcessSpec,
    PositionSpec,
    RecurrenceSpec,
    ScoreSpec,
    Spec,
)

Build = str | Callable[..., object]
S = TypeVar("S", bound=Spec)


@dataclass(frozen=True)
class PartEntry:
    """An entry of the table.

    Attributes:
        build: the builder, called with the arguments of its role, or its place as "module:name".
        spec: the record of the part. None: the part works on torch only.
    """

    build: Build
    spec: Spec | None = None


PARTS: dict[str, dict[str, PartEntry]] = {
    "norm": {
        "layer": PartEntry("torch.nn:LayerNorm", NormSpec(engine=True, vectors=("weight", "bias"))),
        "rms": PartEntry("torch.nn:RMSNorm", NormSpec(engine=True, vectors=("weight",), kept=2)),
    },
    "feedforward": {
        "plain": PartEntry(
            "jumok.layers.feedforward:PlainFeedForward", FeedForwardSpec(engine=True)
        ),
        "gated": PartEntry(
            "jumok.layers.feedforward:GatedFeedForward",
            FeedForwardSpec(engine=True, inner=("gate", "inner"), kept=3),
        ),
    },
    "score": {
        "dot": PartEntry("jumok.attention.scores:DotScore", ScoreSpec(engine=True, product=True)),
        "scaled-dot": PartEntry(
            "jumok.attention.scores:ScaledDotScore",
            ScoreSpec(engine=True, product=True, scaled=True),
        ),
        "bilinear": PartEntry(
            "jumok.attention.scores:BilinearScore",
            ScoreSpec(engine=True, product=True, layers=("key",)),
        ),
        "additive": PartEntry(
            "jumok.attention.scores:AdditiveScore",
            ScoreSpec(
                engine=True,
                hidden=True,
                layers=("query", "key"),
                vectors=("energy",),
                covers=True,
            ),
        ),
        "cosine": PartEntry(
            "jumok.attention.cosine:CosineScore",
            ScoreSpec(engine=True, product=True, factors=("sharpness",), kept=2),
        ),
    },
    "head_process": {
        "qk-norm": PartEntry(
            "jumok.attention.qk_norm:QueryKeyNorm",
            HeadProcessSpec(engine=True, vectors=("weight",), kept=2),
        ),
    },
    "attention": {
        "heads": PartEntry(
            "jumok.attention.multihead:MultiHeadAttention",
            AttentionSpec(engine=True, softmax=True, keys=("rotary_dim",)),
        ),
        "differential": PartEntry(
            "jumok.attention.variants.differential:DifferentialAttention",
            AttentionSpec(
                softmax=True,
                pairs=True,
                refuses={"process_output": ()},
                vectors={"vectors": 4},
                values=2,
                kept=((1, 6), (1, 2)),  # values of pairs, their norm and difference
            ),
        ),
        "latent": PartEntry(
            "jumok.attention.variants.latent:LatentAttention",
            LatentSpec(
                softmax=True,
                keys=("latent_dim", "query_latent_dim", "rotary_dim"),
                refuses={
                    "kv_heads": None,
                    "score": "scaled-dot",
                    "process_heads": (),
                    "value_residual": False,
                },
            ),
        ),
        "linear": PartEntry(
            "jumok.attention.variants.linear:LinearAttention",
            AttentionSpec(
                scores=False,
                refuses={"score": "scaled-dot", "score_cap": None, "sinks": False, "window": None},
                kept=((2, 2), (2, 1)),  # features, of which an exponential is kept
            ),
        ),
        "ssru": PartEntry(
            "jumok.attention.variants.ssru:SimpleRecurrence", RecurrenceSpec(engine=True)
        ),
    },
    "output_process": {
        "head-scale": PartEntry(
            "jumok.attention.variants.output_processes:HeadScale",
            OutputProcessSpec(engine=True, factors=("gain",)),
        ),
        "head-gate": PartEntry(
            "jumok.attention.variants.output_processes:HeadGate", OutputProcessSpec(gate="head")
        ),
        "element-gate": PartEntry(
            "jumok.attention.variants.output_processes:ElementGate",
            OutputProcessSpec(gate="element"),
        ),
    },
    "format": {
        "csv": PartEntry("jumok.data.files.tables:read_csv"),
        "tsv": PartEntry("jumok.data.files.tables:read_tsv"),
        "jsonl": PartEntry("jumok.data.files.tables:read_jsonl"),
        "parquet": PartEntry("jumok.data.files.tables:read_parquet"),
        "tmx": PartEntry("jumok.data.files.translators:read_tmx"),
        "po": PartEntry("jumok.data.files.translators:read_po"),
        "xliff": PartEntry("jumok.data.files.translators:read_xliff"),
    },
    "positions": {
        "index": PartEntry(
            "jumok.positions.index:IndexPositions", PositionSpec(engine=True, narrow=True)
        ),
        "fraction": PartEntry(
            "jumok.positions.index:FractionPositions",
            PositionSpec(engine=True, narrow=True, limited=True),
        ),
        "binary": PartEntry(
            "jumok.positions.binary:BinaryPositions", BinaryPositionSpec(engine=True, limited=True)
        ),
        "sinusoidal": PartEntry(
            "jumok.positions.sinusoidal:SinusoidalPositions",
            PositionSpec(engine=True, limited=True),
        ),
        "sinusoidal-inclusive": PartEntry(
            "jumok.positions.sinusoidal:InclusiveSinusoidalPositions",
            PositionSpec(engine=True, limited=True),
        ),
        "learned": PartEntry(
            "jumok.positions.learned:LearnedPositions",
            PositionSpec(engine=True, learned=True, limited=True),
        ),
        "rotary": PartEntry(
            "jumok.positions.rotary:RotaryPositions",
            PositionSpec(engine=True, enters="heads", pairs=True),
        ),
        "alibi": PartEntry(
            "jumok.positions.alibi:AlibiPositions", PositionSpec(engine=True, enters="scores")
        ),
        "relative": PartEntry(
            "jumok.positions.relative:RelativePositions",
            PositionSpec(engine=True, enters="scores", buckets=True),
        ),
    },
}


def names(role: str) -> list[str]:
    """The names of the parts of a role, in the order of the table.

    Raises:
        ConfigError: the role does not exist.
    """
    if role not in PARTS:
        raise ConfigError("there is no such role of parts.", expected=", ".join(PARTS), got=role)
    return list(PARTS[role])


KNOWN_AS = {
    f"{prefix}glu": f'feedforward_kind = "gated" with activation = "{activation}"'
    for prefix, activation in (("swi", "silu"), ("ge", "gelu"), ("re", "relu"))
}
"""Names in papers (Shazeer 2020) for combinations of several keys."""


def unknown(role: str, name: str, also: tuple[str, ...] = ()) -> str | None:
    """The error about an unknown name of a part, with the nearest name and all names; None if the
    name is known.

    Args:
        also: further permitted names, which are not parts ("none").
    """
    known = [*names(role), *also]
    if name in known:
        return None
    if name in KNOWN_AS:
        return f"there is no {role} {name!r}; it is {KNOWN_AS[name]}."
    all_ = ", ".join(known)
    if near := difflib.get_close_matches(name, known, n=1):
        return f"there is no {role} {name!r}; did you mean {near[0]!r}? There are: {all_}"
    return f"there is no {role} {name!r}. There are: {all_}"


def builder_of(role: str, name: str) -> Any:
    """The builder of the part.

    Raises:
        ConfigError: the part does not exist; the error gives the nearest name and all names.
    """
    fault = unknown(role, name)
    if fault is not None:
        raise ConfigError(fault)
    build = PARTS[role][name].build
    return places.import_string(build) if isinstance(build, str) else build


def described(kind: type[S], name: str) -> S | None:
    """The record of a part of this role; None if the part is unknown (a bundle may be read without
    its plugins) or has no record.
    """
    part = PARTS[kind.role].get(name)
    return part.spec if part is not None and isinstance(part.spec, kind) else None


def spec_of(kind: type[S], name: str) -> S:
    """The record of a part, or an empty record."""
    return described(kind, name) or kind()


def register(role: str, name: str, build: Build, spec: Spec | None = None) -> None:
    """Adds a part, so that recipes can name it.

    Args:
        build: the builder, called with the arguments of its role, or its place as "module:name".
        spec: its record, for `jumok plan`, checks and the native engine.

    Raises:
        ConfigError: the role does not exist, another part has the name, or the record is for
            another role.
    """
    part = PartEntry(build, spec)
    if name in names(role) and PARTS[role][name] != part:
        raise ConfigError(
            f"the {role} {name!r} is taken by another part.",
            got=str(build),
            do="choose another name; taken are: " + ", ".join(names(role)),
        )
    if spec is not None and spec.role != role:
        raise ConfigError(
            "this record is one of another role.", expected=f"that of a {role}", got=repr(spec)
        )
    PARTS[role][name] = part
