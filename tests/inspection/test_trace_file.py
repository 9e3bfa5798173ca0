"""Traces that were made to hurt are refused at once, and say what is wrong with them."""

import io
import json
import os
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from jumok.errors import BundleError
from jumok.inspection.trace import HEAD, trace_digest
from jumok.inspection.trace_file import load_trace
from tests.inspection.traces import trace

Parts = dict[str, bytes]
Change = Callable[[dict, Parts], None]


def forged(tmp_path: Path, change: Change, kind: int = zipfile.ZIP_DEFLATED) -> Path:
    """A trace that somebody changed, and gave the digest that it should have."""
    file = tmp_path / "t.npz"
    trace().save(file)
    with zipfile.ZipFile(file) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    head = json.loads(parts.pop(HEAD))
    del head["digest"]
    change(head, parts)
    head["digest"] = trace_digest(head, parts)
    with zipfile.ZipFile(file, "w", kind) as archive:
        archive.writestr(HEAD, json.dumps(head))
        for name, part in parts.items():
            archive.writestr(name, part)
    return file


def refused(file: Path) -> str:
    """What is said."""
    start = time.process_time()
    with pytest.raises(BundleError) as caught:
        load_trace(file)
    assert time.process_time() - start < 30  # on any machine
    return str(caught.value)


def test_a_change_that_hurts_nothing_is_no_fault(tmp_path):
    assert load_trace(forged(tmp_path, lambda head, _: head.update(model="ours"))).model == "ours"


def test_a_bomb_is_not_unpacked(tmp_path):
    file = tmp_path / "bomb.npz"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(HEAD, b"{}")
        for number in range(8):
            archive.writestr(f"{number}.weights.npy", bytes(32 << 20))
    message = refused(file)
    assert f"it unpacks to {(8 << 25) + 2:,} bytes" in message


@pytest.mark.parametrize("kind", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_a_compression_that_no_trace_has(tmp_path, kind):
    assert "in an unusual compression" in refused(forged(tmp_path, lambda *_: None, kind))


def test_an_encrypted_member(tmp_path):
    file = forged(tmp_path, lambda *_: None)
    content = file.read_bytes()
    entry = content.index(b"PK\x01\x02")
    file.write_bytes(content[: entry + 8] + b"\x01" + content[entry + 9 :])
    assert f"{HEAD} is encrypted" in refused(file)


def header(text: str) -> bytes:
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (  # 37 GiB
            "{'descr': '<f4', 'fortran_order': False, 'shape': (100, 10000, 10000), }",
            "0.weights.npy should be of shape (100, 10000, 10000), and has 4 bytes",
        ),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (", "is no array of numbers"),
        ("{'descr': '|O8', 'fortran_order': False, 'shape': (1,), }", "is no array of numbers"),
        ("{'descr': '<f1', 'fortran_order': False, 'shape': (4,), }", "data type '<f1'"),
    ],
)
def test_arrays_whose_header_lies(tmp_path, text, said):
    def change(_, parts):
        parts["0.weights.npy"] = header(text) + bytes(4)

    assert said in refused(forged(tmp_path, change))


def packed(*shape: int) -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.zeros(shape, np.float32))
    return stream.getvalue()


def nested(depth: int) -> dict:
    inner: dict = {}
    for _ in range(depth):
        inner = {"x": inner}
    return inner


def tree_of_trees(head: dict, parts: Parts) -> None:
    for _ in range(20):
        head["tree"] = json.loads(json.dumps(head)) | {"sites": [], "also": [], "format": 4}


def searched(*parents: int, leaves: list[dict]) -> Change:
    """A search of such nodes and leaves."""
    token = {"token": 5, "piece": "a", "log_probability": -1.0, "total": -1.0, "fate": "kept"}
    nodes = [token | {"parent": parent} for parent in parents]
    return lambda head, _: head["findings"].update(search={"nodes": nodes, "leaves": leaves})


CHANGES: dict[str, tuple[Change, str]] = {
    "axes a list": (lambda head, _: head.update(axes=[1, 2]), "axes: Input should be a valid"),
    "axis of a wrong type": (
        lambda head, _: head["axes"]["source"].update(words="abcd"),
        "axes.source.words",
    ),
    "one word too few": (
        lambda head, _: head["axes"]["source"]["words"].pop(),
        "the axis source has 4 tokens and 3 words of them",
    ),
    "no such word": (
        lambda head, _: head["axes"]["source"].update(words=[0, 1, 99, None]),
        "the axis source names a word that it does not have",
    ),
    "grid": (
        lambda head, _: head["axes"]["source"].update(grid=[10**9, 10**9]),
        "is a grid of",
    ),
    "a tree that bites its tail": (
        lambda head, _: head["axes"]["source"].update(parents=[-1, 2, 1, 0]),
        "the tokens of source are no tree",
    ),
    "a search that bites its tail": (searched(1, 0, leaves=[]), "its search is no tree"),
    "a hypothesis of nothing": (
        searched(-1, 0, leaves=[{"node": 2}]),
        "its search has 2 tokens, and a hypothesis ends at 2",
    ),
    "hypotheses of two texts": (
        searched(
            *(-1, 0),
            leaves=[{"node": 0, "weights": [[1.0]]}, {"node": 1, "weights": [[0.5, 0.5]] * 2}],
        ),
        "the hypotheses of its search attend to different tokens",
    ),
    "unknown axis": (lambda head, _: head["sites"][0].update(keys="nobody"), "it has no nobody"),
    "sites of another type": (lambda head, _: head.update(sites=7), "not iterable"),
    "unknown key": (lambda head, _: head.update(more=1), "more: Unexpected keyword argument"),
    "no text": (lambda head, _: head.pop("text") and None, "text: "),
    "steps of another type": (lambda head, _: head.update(steps=[3]), "steps.0"),
    "level": (lambda head, _: head.update(level="all"), "level: Input should be 'weights'"),
    "format": (lambda head, _: head.update(format=[]), "another format"),
    "an address for a picture": (
        lambda head, _: head.update(
            picture={"width": 1, "height": 1, "url": "https://example.com"}
        ),
        "its picture is no PNG",
    ),
    "deep": (lambda head, _: head.update(findings=nested(900)), "findings.x: Unexpected keyword"),
    "trees": (tree_of_trees, "traces in traces in traces"),
    "vectors of another length": (
        lambda _, parts: parts.update({"0.query.npy": packed(3, 9, 5)}),
        "the query of encoder.0 do not fit its tokens, (4, 4)",
    ),
    "weights with an edge too many": (
        lambda _, parts: parts.update({"0.weights.npy": packed(1, 3, 4, 4)}),
        "the weights of encoder.0 do not fit",
    ),
    "no weights": (lambda _, parts: parts.pop("0.weights.npy") and None, "sites.0.weights"),
    "an array of nothing": (
        lambda _, parts: parts.update({"99.weights.npy": packed(1)}),
        "99.weights belongs to nothing in it",
    ),
    "a stream": (
        lambda _, parts: parts.update({"stream.encoder.npy": packed(4)}),
        "the stream of encoder has 1 edges",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_does_not_fit_together_is_said(tmp_path, name):
    change, said = CHANGES[name]
    file = forged(tmp_path, change)
    assert said in refused(file)


@pytest.mark.parametrize(
    "text",
    [b"[" * 100_000, b'{"format":' + b"9" * 5_000 + b"}", b"\xff\xfe", b"[]", b'"\\ud800"', b""],
)
def test_heads_that_are_no_head(tmp_path, text):
    file = tmp_path / "t.npz"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(HEAD, text)
    refused(file)


def test_what_is_no_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.npz")
    assert "this is not a trace" in refused(tmp_path / "pipe.npz")
    assert "there is no such trace" in refused(tmp_path / "a\0b.npz")
    assert "there is no such trace" in refused(tmp_path / ("a" * 300 + ".npz"))
