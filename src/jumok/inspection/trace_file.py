"""Traces from their files, and whether they belong to a model or to one another.

A file may be truncated, edited or malicious, and everything in it is checked before it is used: the
total size before anything is unpacked, each array's header before memory is allocated for it, then
types (pydantic), shapes and indices.
"""

import io
import math
import os
import re
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from pydantic import TypeAdapter, ValidationError

from jumok.bundle.fingerprint import fingerprint_in
from jumok.data.files.unpacking import check_members, unpacked
from jumok.errors import BundleError, Location, ModelError
from jumok.inspection.findings import SearchTree
from jumok.inspection.trace import (
    ALSO,
    ARRAYS,
    HEAD,
    STREAM,
    TRACE_FORMAT,
    Array,
    Axis,
    Mask,
    Site,
    Trace,
    trace_digest,
    write_traces,
)
from jumok.json_types import JsonObject, parsed_json

DEEPEST_TRACE = 2
"""The deepest nesting of traces: a trace contains that of its search."""

ARRAY_HEADER = re.compile(
    r"\{'descr': '([<|][fb][1248])', 'fortran_order': (True|False), 'shape': (\([\d, ]*\)), \}\s*"
)
PNG = "data:image/png;base64,"

FAULTS = (
    *(zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, TypeError, KeyError),
    *(NotImplementedError, RecursionError),  # unknown kinds of zip; JSON in JSON in JSON
)
"""The exceptions of the readers of zip, JSON and arrays for a damaged file."""


@runtime_checkable  # the tests check annotations while they run
class Fingerprinted(Protocol):
    """What has a model's fingerprint: a loaded model, or a trace."""

    @property
    def fingerprint(self) -> str:
        """See `jumok.bundle.fingerprint`."""
        ...


def load_trace(file: Path | str, of: Fingerprinted | Path | str | None = None) -> Trace:
    """The trace in a file written by `Trace.save`, or the first trace of a recording.

    Args:
        of: the expected model, loaded or as its folder; None: any model.

    Raises:
        BundleError: the file is missing, truncated, edited, of another format or another model, or
            too large when unpacked.
    """
    trace, *_ = load_traces(file)
    if of is not None:
        check_model(trace, of, Path(file))
    return trace


def same_model(one: str, other: str) -> bool:
    """Whether these may be fingerprints of one model: configs are compared where both are known."""
    ours, theirs = one.split("+"), other.split("+")
    return len(ours) == len(theirs) and all(
        mine == yours
        for pair in zip(ours, theirs, strict=True)
        for mine, yours in zip(*(each.split("-") for each in pair), strict=False)
    )


def check_model(trace: Trace, of: Fingerprinted | Path | str, file: Path | None = None) -> None:
    """Raises a BundleError where the trace is not of this model."""
    wanted = fingerprint_in(of) if isinstance(of, Path | str) else of.fingerprint
    if same_model(trace.fingerprint, wanted):
        return
    where = f" in {of}" if isinstance(of, Path | str) else ""
    raise BundleError(
        "this trace is of another model.",
        expected=f"the model{where}, with the fingerprint {wanted}",
        got=f"a trace of {trace.model!r}, with the fingerprint {trace.fingerprint or 'unknown'}",
        do="give the model that it was recorded with, or record it again with this one: "
        "jumok look MODEL TEXT --save trace.npz",
        place=None if file is None else Location(file),
    )


def check_one_model(trace: Trace, other: Trace) -> None:
    """Raises a BundleError where two traces are of two models: their vectors share no axes."""
    if same_model(trace.fingerprint, other.fingerprint):
        return
    raise BundleError(
        "these traces are of two models, whose vectors cannot be compared.",
        expected=f"two of {trace.model!r}, with the fingerprint {trace.fingerprint or 'unknown'}",
        got=f"one of {other.model!r}, with the fingerprint {other.fingerprint or 'unknown'}",
        do="record both with one model; page(trace, other=other) shows maps of two models",
    )


def load_traces(file: Path | str) -> list[Trace]:
    """All traces of a file, in their order.

    Raises:
        BundleError: as in `load_trace`.
    """
    path = Path(file)
    if not os.path.isfile(path):  # as Path.is_file, but False of a name that no file can have
        there = os.path.exists(path)
        raise BundleError(
            "this is not a trace." if there else "there is no such trace.",
            got="a folder, or something else that is not a file" if there else None,
            place=Location(path),
        )
    try:
        return _read_traces(path)
    except FAULTS as error:
        raise BundleError(
            "this is not a trace, or it is truncated or edited.",
            got=_fault_text(error),
            do="record it again: jumok look MODEL TEXT --save trace.npz",
            place=Location(path),
        ) from error


class Recording:
    """The traces of a block, in the order of the inputs; empty until the block ends.

        with jumok.record(model) as recording:
            model.translate(["I am a student.", "The cat saw a dog."], beam=5)
        recording.trace             # the first sentence, with its best output
        recording.traces            # all sentences
        recording.save("all.npz")

    Attributes:
        traces: one for each output of each segment. `Trace.index` is the index of the input, from
            0, and `Trace.segment` the index of the segment in the input. Segments are in the order
            of the text, outputs of an n-best list in the order of the list, best first.
    """

    def __init__(self, traces: Iterable[Trace] = ()) -> None:
        self.traces = tuple(traces)

    @classmethod
    def load(cls, file: Path | str) -> "Recording":
        """The recording in a file written by `save`."""
        return cls(load_traces(file))

    @property
    def trace(self) -> Trace:
        """The trace of the first input with its best output.

        Raises:
            ModelError: nothing was recorded.
        """
        if not self.traces:
            raise _nothing_recorded()
        return self.traces[0]

    def save(self, file: Path | str) -> None:
        """Writes all traces to one file; `jumok.load_trace` reads the first of them.

        Raises:
            DataError: it cannot be written.
            ModelError: nothing was recorded.
        """
        if not self.traces:
            raise _nothing_recorded()
        write_traces(Path(file), self.traces)


def _nothing_recorded() -> ModelError:
    return ModelError(
        "nothing was recorded.",
        do="use the model inside the block of jumok.record, and read the recording after it; with "
        "each=, every trace is handed over and none is kept",
    )


def _read_traces(path: Path) -> list[Trace]:
    with zipfile.ZipFile(path) as archive:
        check_members(archive, path.stat().st_size)
        head = parsed_json(unpacked(archive, HEAD))
        parts = {name: unpacked(archive, name) for name in archive.namelist() if name != HEAD}
    if not isinstance(head, dict):
        raise ValueError(f"{HEAD} holds no JSON object")
    if head["format"] != TRACE_FORMAT:
        older = isinstance(head["format"], int) and head["format"] < TRACE_FORMAT
        raise BundleError(
            "the trace is of another format.",
            expected=f"format {TRACE_FORMAT}",
            got=f"format {str(head['format'])[:60]}",
            do="record it again with this jumok" if older else "pip install --upgrade jumok",
            place=Location(path),
        )
    digest = head.pop("digest")
    arrays = {name.removesuffix(".npy"): _read_array(name, part) for name, part in parts.items()}
    first = {name: value for name, value in head.items() if name != "also"}
    others = ((ALSO.format(number), other) for number, other in enumerate(head["also"]))
    traces = [
        TypeAdapter(Trace).validate_python(_with_arrays(each, arrays, prefix, DEEPEST_TRACE))
        for prefix, each in (("", first), *others)
    ]
    if arrays:
        raise ValueError(f"{next(iter(arrays))} belongs to nothing in it")
    for trace in traces:
        _check_trace(trace)
        if trace.tree is not None:
            _check_trace(trace.tree)
    if digest != trace_digest(head, parts):
        raise ValueError("its digest is not that of what is in it")
    return traces


def _read_array(name: str, part: bytes) -> Array | Mask:
    """An array of float32, or of bool.

    The header is parsed here, in exactly the form that numpy writes: numpy's own reader allocates
    memory for any header.
    """
    stream = io.BytesIO(part)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError(f"{name} is of another version of numpy's format")
    length = int.from_bytes(stream.read(2), "little")
    header = ARRAY_HEADER.fullmatch(stream.read(length).decode("latin-1"))
    if header is None:
        raise ValueError(f"{name} is no array of numbers")
    kind, shape = np.dtype(header[1]), tuple(map(int, re.findall(r"\d+", header[3])))
    data = memoryview(part)[stream.tell() :]
    if math.prod(shape) * kind.itemsize != len(data):
        raise ValueError(f"{name} should be of shape {header[3][:60]}, and has {len(data)} bytes")
    array = np.frombuffer(data, kind)
    array = array.reshape(shape[::-1]).T if header[2] == "True" else array.reshape(shape)
    return array.copy() if kind == np.bool_ else array.astype(np.float32)


def _with_arrays(
    head: JsonObject, arrays: dict[str, Array | Mask], prefix: str, depth: int
) -> dict[str, object]:
    """The head with its arrays; each is removed from `arrays`."""
    if not depth:
        raise ValueError("traces in traces in traces")
    values: dict[str, object] = {k: value for k, value in head.items() if k != "format"}
    values["sites"] = [
        {**site, **{name: arrays.pop(f"{prefix}{number}.{name}", None) for name in ARRAYS}}
        for number, site in enumerate(head["sites"])
    ]
    stacks = [name for name in arrays if name.startswith(f"{prefix}{STREAM}")]
    values["streams"] = {
        name.removeprefix(f"{prefix}{STREAM}"): arrays.pop(name) for name in stacks
    }
    if head["tree"] is not None:
        values["tree"] = _with_arrays(head["tree"], arrays, f"{prefix}tree/", depth - 1)
    return values


def _check_trace(trace: Trace) -> None:
    """Raises ValueError where the parts of a trace do not fit together."""
    for name, axis in trace.axes.items():
        _check_axis(name, axis)
    for site in trace.sites:
        _check_site(site, trace.axes)
    for name, stream in trace.streams.items():
        if stream.ndim != 3:
            raise ValueError(f"the stream of {name} has {stream.ndim} edges, not 3")
    picture = trace.picture
    if picture is not None and (
        min(picture.width, picture.height) < 1 or not picture.url.startswith(PNG)
    ):
        raise ValueError("its picture is no PNG")
    if trace.findings.search is not None:
        _check_search(trace.findings.search)


def _check_axis(name: str, axis: Axis) -> None:
    count = len(axis.tokens)
    if len(axis.words) != count:
        raise ValueError(f"the axis {name} has {count} tokens and {len(axis.words)} words of them")
    if any(word is not None and not 0 <= word < len(axis.texts) for word in axis.words):
        raise ValueError(f"the axis {name} names a word that it does not have")
    if axis.grid is not None and (min(axis.grid) < 1 or math.prod(axis.grid) > count):
        raise ValueError(f"the axis {name} is a grid of {axis.grid} with {count} cells")
    parents = axis.parents
    if parents is not None and (
        len(parents) != count or any(not -1 <= each < place for place, each in enumerate(parents))
    ):
        raise ValueError(f"the tokens of {name} are no tree: each follows one before it")


def _check_site(site: Site, axes: Mapping[str, Axis]) -> None:
    queries, keys = len(axes[site.queries].tokens), len(axes[site.keys].tokens)
    heads = len(site.weights) if site.weights is not None and site.weights.ndim else 0
    shapes: dict[str, tuple[int | None, ...]] = {
        "weights": (heads or None, queries, keys),
        "norms": (queries, keys),
        "bias": (heads, queries, keys),
        "scores": (heads, queries, keys),
        "allowed": (queries, keys),
        "energy": (None,),
        "sink": (heads,),
        "factors": (heads,),
        "query": (heads, queries, None),
        "key": (heads, keys, None),
        "value": (heads, keys, None),
    }
    for name, shape in shapes.items():
        array = getattr(site, name)
        if array is None and name != "weights":
            continue
        actual = () if array is None else array.shape
        if len(actual) != len(shape) or any(
            size is not None and size != real for size, real in zip(shape, actual, strict=True)
        ):
            raise ValueError(f"the {name} of {site.name} do not fit its tokens, {queries, keys}")


def _check_search(search: SearchTree) -> None:
    count, width = len(search.nodes), None
    if any(not -1 <= node.parent < place for place, node in enumerate(search.nodes)):
        raise ValueError("its search is no tree: each token follows one before it")
    for leaf in search.leaves:
        if not 0 <= leaf.node < count:
            raise ValueError(f"its search has {count} tokens, and a hypothesis ends at {leaf.node}")
        if leaf.weights is None:
            continue
        if leaf.weights.ndim != 2 or width not in (None, leaf.weights.shape[1]):
            raise ValueError("the hypotheses of its search attend to different tokens")
        width = leaf.weights.shape[1]


def _fault_text(error: BaseException) -> str:
    """The error in one line."""
    if isinstance(error, ValidationError):
        fault = error.errors(include_url=False)[0]
        return f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}"
    if isinstance(error, KeyError):
        return f"it has no {error.args[0]}"
    return str(error).splitlines()[0][:200] if str(error) else type(error).__name__
