"""The table of parts: for each role, the names that recipes use and what each of them stands for.

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

The interfaces are protocols, in the file interfaces.py of the named package; that of formats is
described in `jumok/data/files/tables.py`.

A new part is a new file and a line here. A part from outside of jumok is added by `register`,
before the recipe is read. An entry is "module:name" and is imported when it is first built, so
that recipes can be checked without importing any model.
"""

import difflib
from collections.abc import Callable
from typing import Any

from jumok import places
from jumok.errors import ConfigError

Part = Callable[..., object]

PARTS: dict[str, dict[str, str | Part]] = {
    "norm": {
        "layer": "torch.nn:LayerNorm",
        "rms": "torch.nn:RMSNorm",
    },
    "feedforward": {
        "plain": "jumok.layers.feedforward:PlainFeedForward",
        "gated": "jumok.layers.gated:GatedFeedForward",
    },
    "score": {
        "dot": "jumok.attention.scores:DotScore",
        "scaled-dot": "jumok.attention.scores:ScaledDotScore",
        "bilinear": "jumok.attention.scores:BilinearScore",
        "additive": "jumok.attention.scores:AdditiveScore",
        "cosine": "jumok.attention.cosine:CosineScore",
    },
    "head_process": {
        "qk-norm": "jumok.attention.qk_norm:QueryKeyNorm",
    },
    "attention": {
        "heads": "jumok.attention.multihead:MultiHeadAttention",
        "differential": "jumok.attention.variants.differential:DifferentialAttention",
        "latent": "jumok.attention.variants.latent:LatentAttention",
        "linear": "jumok.attention.variants.linear:LinearAttention",
    },
    "output_process": {
        "head-scale": "jumok.attention.head_scale:HeadScale",
        "head-gate": "jumok.attention.variants.head_gate:HeadGate",
        "element-gate": "jumok.attention.variants.head_gate:ElementGate",
    },
    "format": {
        "csv": "jumok.data.files.tables:read_csv",
        "tsv": "jumok.data.files.tables:read_tsv",
        "jsonl": "jumok.data.files.tables:read_jsonl",
        "parquet": "jumok.data.files.tables:read_parquet",
        "tmx": "jumok.data.files.translators:read_tmx",
        "po": "jumok.data.files.translators:read_po",
        "xliff": "jumok.data.files.xliff:read_xliff",
    },
    "positions": {
        "index": "jumok.positions.index:IndexPositions",
        "fraction": "jumok.positions.index:FractionPositions",
        "binary": "jumok.positions.binary:BinaryPositions",
        "sinusoidal": "jumok.positions.sinusoidal:SinusoidalPositions",
        "learned": "jumok.positions.learned:LearnedPositions",
        "rotary": "jumok.positions.rotary:RotaryPositions",
        "alibi": "jumok.positions.alibi:AlibiPositions",
    },
}


def names(role: str) -> list[str]:
    """The names of the parts of a role, in the order of the table.

    Raises:
        ConfigError: there is no such role.
    """
    if role not in PARTS:
        raise ConfigError("there is no such role of parts.", expected=", ".join(PARTS), got=role)
    return list(PARTS[role])


def unknown(role: str, name: str, also: tuple[str, ...] = ()) -> str | None:
    """What is wrong with the name of a part, with the nearest name and all names; None: nothing.

    Args:
        also: further permitted names, which stand for no part ("none").
    """
    known = [*names(role), *also]
    if name in known:
        return None
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    return f"there is no {role} {name!r}{hint} There are: {', '.join(known)}"


def resolve(role: str, name: str) -> Any:
    """What builds the part.

    Raises:
        ConfigError: there is no part of this name; the nearest one and all names are given.
    """
    fault = unknown(role, name)
    if fault is not None:
        raise ConfigError(fault)
    part = PARTS[role][name]
    return places.resolve(part) if isinstance(part, str) else part


def register(role: str, name: str, part: str | Part) -> None:
    """Adds a part, so that recipes can name it.

    Args:
        part: what builds it, with the arguments of its role, or its place as "module:name".

    Raises:
        ConfigError: there is no such role, or the name is taken by another part.
    """
    if name in names(role) and PARTS[role][name] != part:
        raise ConfigError(
            f"the {role} {name!r} is taken by another part.",
            got=str(part),
            do="choose another name; taken are: " + ", ".join(names(role)),
        )
    PARTS[role][name] = part
