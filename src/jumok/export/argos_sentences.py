"""Where a text is cut into sentences, as a model in the format of MiniSBD.

Argos Translate cuts texts by a network of MiniSBD, which it downloads if a package has none. This
one holds rules, so that a package works offline: each is a row of a convolution over the letters,
which is positive where all of its conditions hold. They are those of
`systems/translation/sentences.py` that need no dictionary but that of titles: a full stop, question
or exclamation mark before a space ends a sentence unless a lower-case letter follows, or it belongs
to a title, an initial or an ordinal.

Source: minisbd 0.9, inference.py and modules/data.py: ids of letters in, and for each letter the
scores of its labels out, of which 2 is the end of a sentence.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_lowercase, ascii_uppercase
from typing import Any

import numpy as np

from jumok.systems.translation.sentences import ORDINALS, TITLES, language_code

PAD, OTHER, SPACE, STOP, MARK, WIDE, CLOSE, LOWER, UPPER, DIGIT = range(10)
FIRST_LETTER = 10
CLASSES = FIRST_LETTER + 52
BEFORE, AFTER = 7, 2
"""Letters that a rule sees before and after the one that may end a sentence."""
LONGEST_TITLE = 6
SMALL = frozenset({LOWER, *range(FIRST_LETTER, FIRST_LETTER + 26)})
CAPITALS = frozenset({UPPER, *range(FIRST_LETTER + 26, CLASSES)})
LAST_CASED = 0x530
"""The scripts that have small and capital letters are below (Latin, Greek, Cyrillic)."""

Classes = Collection[int]


@dataclass(frozen=True)
class SentenceRule:
    """What letters have to be, and what they may not be, by their distance from the one judged."""

    has: Mapping[int, Classes]
    lacks: Mapping[int, Classes] = field(default_factory=dict)


def classes() -> dict[str, int]:
    """The class of each letter; others are OTHER."""
    known = {chr(code): LOWER for code in range(LAST_CASED) if chr(code).islower()}
    known |= {chr(code): UPPER for code in range(LAST_CASED) if chr(code).isupper()}
    known |= {letter: FIRST_LETTER + at for at, letter in enumerate(ascii_lowercase)}
    known |= {letter: FIRST_LETTER + 26 + at for at, letter in enumerate(ascii_uppercase)}
    for letters, kind in (
        (" ", SPACE), (".", STOP), ("!?…؟।", MARK), ("。！？｡", WIDE),
        ("\"'”’»›)]」』）》", CLOSE), ("0123456789", DIGIT),
    ):  # fmt: skip
        known |= dict.fromkeys(letters, kind)
    return {"<PAD>": PAD, "<UNK>": OTHER} | known


def rules(language: str) -> tuple[list[SentenceRule], list[SentenceRule]]:
    """What ends a sentence, and what forbids it all the same."""
    marks, small, wide = (STOP, MARK), {2: SMALL}, {1: (WIDE, CLOSE)}
    ends = [
        SentenceRule({0: marks, 1: (SPACE,)}, small),
        SentenceRule({-1: marks, 0: (CLOSE,), 1: (SPACE,)}, small),
        SentenceRule({0: (WIDE,)}, wide),
        SentenceRule({-1: (WIDE,), 0: (CLOSE,)}, wide),
    ]
    forbids = [SentenceRule({-1: CAPITALS, 0: (STOP,)}, {-2: SMALL | CAPITALS})]
    code = language_code(language)
    if code in ORDINALS:
        forbids += [SentenceRule({-1: (DIGIT,), 0: (STOP,)}, {-3: (DIGIT,)})]
    known = classes()
    for title in f"{TITLES['']} {TITLES.get(code, '')}".split():
        letters = [{known.get(each, OTHER) for each in (low, low.upper())} for low in title]
        if len(title) <= LONGEST_TITLE:
            has = {at - len(title): letter for at, letter in enumerate(letters)}
            before = {-len(title) - 1: SMALL | CAPITALS}
            forbids.append(SentenceRule({**has, 0: (STOP,)}, before))
    return ends, forbids


def splitter(language: str) -> bytes:
    """The network, for texts in this language.

    Raises:
        ImportError: the package onnx is not installed.
    """
    import onnx
    from onnx import TensorProto, helper

    ends, forbids = rules(language)
    weights, biases = _convolution([*ends, *forbids])
    constants = {
        "identity": np.eye(CLASSES, dtype=np.float32),
        "weights": weights,
        "biases": biases,
        "parts": np.array([len(ends), len(forbids)]),
        "others": np.array([0, -1], np.float32).reshape(1, 2, 1),
        "nothing": np.zeros(1, np.float32),
    }
    steps: Sequence[tuple[str, Sequence[str], Sequence[str], dict[str, Any]]] = [
        ("Gather", ["identity", "units"], ["letters"], {}),
        ("Transpose", ["letters"], ["columns"], {"perm": [0, 2, 1]}),
        ("Conv", ["columns", "weights", "biases"], ["met"], {"pads": [BEFORE, AFTER]}),
        ("Split", ["met", "parts"], ["each_end", "each_forbids"], {"axis": 1}),
        ("ReduceMax", ["each_end"], ["end"], {"axes": [1], "keepdims": 1}),
        ("ReduceMax", ["each_forbids"], ["forbids"], {"axes": [1], "keepdims": 1}),
        ("Neg", ["forbids"], ["allows"], {}),
        ("Min", ["end", "allows"], ["score"], {}),
        ("Mul", ["score", "nothing"], ["zero"], {}),
        ("Add", ["zero", "others"], ["words"], {}),
        ("Concat", ["words", "score"], ["labels"], {"axis": 1}),
        ("Transpose", ["labels"], ["output"], {"perm": [0, 2, 1]}),
    ]
    size = ["batch", "length"]
    graph = helper.make_graph(
        [helper.make_node(kind, reads, writes, **more) for kind, reads, writes, more in steps],
        "sentences",
        [
            helper.make_tensor_value_info("units", TensorProto.INT64, size),
            helper.make_tensor_value_info("features", TensorProto.FLOAT, [*size, 1]),
        ],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, [*size, 3])],
        [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    vocabulary = {"lang": "", "_unit2id": classes(), "_id2unit": []}
    config = {"max_seqlen": 1000, "batch_size": 32, "feat_funcs": ["space_before"]}
    told = {"lang_code": language, "config": config, "vocab": vocabulary}
    helper.set_model_props(
        model,
        {name: each if isinstance(each, str) else json.dumps(each) for name, each in told.items()},
    )
    onnx.checker.check_model(model)
    content: bytes = model.SerializeToString()
    return content


def _convolution(rows: Sequence[SentenceRule]) -> tuple[Any, Any]:
    """(rules classes distances), and a bias for each rule: half where all holds, less elsewhere."""
    weights = np.zeros((len(rows), CLASSES, BEFORE + 1 + AFTER), np.float32)
    biases = np.array([0.5 - len(row.has) for row in rows], np.float32)
    for each, row in zip(weights, rows, strict=True):
        for distance, kinds in row.has.items():
            each[list(kinds), BEFORE + distance] = 1
        for distance, kinds in row.lacks.items():
            each[list(kinds), BEFORE + distance] = -len(row.has)
    return weights, biases
