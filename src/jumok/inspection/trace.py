"""A trace: what a model computed for one input, saved for figures, pages and tables.

A trace holds *axes* (the tokens along an edge of a map and the words they belong to, or the cells
of an image) and *sites* (one attention module each: the axes of its queries and keys, the weights,
and, at level "qk", the vectors they came from). Weights are those before dropout.
"""

import hashlib
import io
import json
import zipfile
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from jumok.attention.overrides import changes_here
from jumok.attention.role import Part
from jumok.data.files.atomic import atomic_file
from jumok.errors import optional_import
from jumok.inspection.findings import JUDGED, TraceFindings, Walk, findings_json
from jumok.inspection.page.picture import TracePicture
from jumok.places import import_string

if TYPE_CHECKING:
    import pandas

Array = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]
Level = Literal["weights", "qk", "full"]
TRACE_FORMAT = 4
HEAD, STREAM, ALSO = "trace.json", "stream.", "also{}/"
PAGE = "jumok.inspection.page.notebook:Page"  # by its name: the page shows traces
STEP_CHOICES = 5
TEMPERATURES = tuple(tenths / 10 for tenths in range(1, 21))
"""The number of most probable tokens that a step keeps."""

ARRAYS = (
    *("weights", "norms", "bias", "allowed", "energy", "query", "key", "value"),
    *("sink", "factors", "scores"),
)
PLAIN = (
    *("model", "fingerprint", "changes", "task", "level", "text", "output"),
    *("index", "segment", "segments"),
)


@dataclass(frozen=True)
class Axis:
    """Tokens along one edge of an attention map, or the cells of an image.

    Attributes:
        tokens: the tokens, START and END included; for an image the names of the cells,
            "row,column" from 1.
        words: the index of the word of each token; None for START and END.
        texts: the words.
        grid: rows and columns of the cells of an image, which are the last tokens, row by row; None
            for a text.
        parents: for each token of a search tree the index of the token before it in its
            hypothesis, -1 for a first token. None: each token follows the one before it.
    """

    __pydantic_config__: ClassVar[dict[str, object]] = JUDGED

    tokens: tuple[str, ...]
    words: tuple[int | None, ...]
    texts: tuple[str, ...]
    grid: tuple[int, int] | None = None
    parents: tuple[int, ...] | None = None

    def path(self, token: int) -> list[int]:
        """The indices of the tokens of the hypothesis that ends with this token."""
        if self.parents is None:
            return list(range(token + 1))
        numbers = [token]
        while self.parents[numbers[0]] >= 0:
            numbers.insert(0, self.parents[numbers[0]])
        return numbers


def grid_axis(rows: int, columns: int, before: Sequence[str] = ()) -> Axis:
    """The cells of an image, row by row from the top left; each is a word of its own.

    Args:
        before: the names of what comes before the cells, and is in no word.
    """
    names = tuple(f"{row + 1},{column + 1}" for row in range(rows) for column in range(columns))
    words = (*(None for _ in before), *range(len(names)))
    return Axis((*before, *names), words, names, (rows, columns))


@dataclass(frozen=True)
class Site:
    """One attention module.

    Attributes:
        kind: the score function: "scaled-dot", ...; "convolution": over pixels.
        part: encoder self-attention, decoder self-attention, cross-attention, or self-attention
            over the pixels of an image.
        weights: (heads query key), before dropout; each row sums to 1, where there is no sink.
        norms: (query key), the norm of each key's attended value for each query: the sum over the
            heads of weight x value x output projection. None where the outputs of heads are changed
            before the projection.
        bias: (heads query key), the bias that was added to the scores; None: none.
        allowed: (query key), True where the mask permits attention; None: everywhere.
        energy: (dim), the output weights of an additive score's hidden layer; otherwise None.
        query, key, value: (heads query dim), (heads key dim), (heads key value_dim); level "qk".
        scale: the factor on the products: 1 / sqrt(dim) in scaled dot products. None: the scores
            are neither products nor additive, and cannot be recomputed from the vectors.
        residual_gate: the learned factor on the output of attention over pixels, before it is
            added to the features; None: none.
        sink: (heads), the score of each head's sink, which takes the rest of every row; None: none.
        factors: (heads), the factor of each head's map in the output, negative where a map is
            subtracted (differential attention); None: all are 1.
        scores: (heads query key), without the bias and the mask, where `scale` is None; level "qk".
    """

    __pydantic_config__: ClassVar[dict[str, object]] = JUDGED

    name: str
    kind: str
    part: Part
    layer: int
    queries: str
    keys: str
    weights: Array
    norms: Array | None = None
    bias: Array | None = None
    allowed: Mask | None = None
    energy: Array | None = None
    query: Array | None = None
    key: Array | None = None
    value: Array | None = None
    scale: float | None = 1.0
    residual_gate: float | None = None
    sink: Array | None = None
    factors: Array | None = None
    scores: Array | None = None

    def __repr__(self) -> str:
        return f"<Site {self.name} ({self.kind}): weights {self.weights.shape}>"

    @property
    def mean(self) -> Array:
        """(query key), the mean of the heads' maps; where some are subtracted, that of the signed
        differences of their pairs."""
        if self.factors is None:
            return np.asarray(self.weights.mean(axis=0))
        signed: Array = np.einsum("h,hqk->qk", self.factors, self.weights)
        return signed / np.float32((self.factors > 0).sum())

    @property
    def of_sinks(self) -> Array | None:
        """(heads query), the weights of the sinks; None: there are none."""
        return None if self.sink is None else 1 - self.weights.sum(axis=2)


@dataclass(frozen=True)
class Step:
    """The model's prediction at one position.

    Attributes:
        token: the token that was written or filled in there, or the label; with its
            log-probability (natural).
        best: the most probable tokens and their log-probabilities, best first.
        gate: the gate on the context vector, 0 to 1; None: the model has no such gate.
        ids: those of `best`; empty: not recorded.
        partitions: ln sum p^(1/T) over all choices, for each T of `TEMPERATURES`; empty: unknown.
    """

    __pydantic_config__: ClassVar[dict[str, object]] = JUDGED

    token: str
    log_probability: float
    best: tuple[tuple[str, float], ...]
    gate: float | None = None
    ids: tuple[int, ...] = ()
    partitions: tuple[float, ...] = ()


@dataclass(frozen=True)
class Trace:
    """The computation of a model for one sentence or one image.

    Attributes:
        level: "weights" only, "qk" also with vectors, or "full" also with residual streams.
        axes: by name: "source" and "target"; "text"; "picture"; "grid 8x8".
        steps: one for each written token, for each gap, or for the label.
        picture: the image as the model reads it; None for a model that reads no image.
        streams: at level "full" the residual stream of each stack of blocks, by its path in the
            model: (layers + 1, positions, dim). Row 0 is the embedding, row i the stream after
            block i: in a pre-norm model before any norm, in a post-norm model after the last norm
            of the block. The positions are those of the stack's own axis. For an RNN the states of
            its layers (`jumok.inspection.lens.RecurrentStates`), which `jumok.record` does not
            record.
        tree: for a recorded search, a trace of every hypothesis in the beam, discarded ones
            included: its target axis is a tree (`Axis.parents`), and each token has one row at
            every site.
        index: the index of this input among all recorded texts or images, from 0.
        segment: the index of this part among the `segments` of its text, from 0: a translator reads
            a line sentence by sentence. None: the whole text was read, for a given output.
        changes: the changes by `jumok.changed` and `jumok.patched` ("head off: cross 2.3").
        walk: the vectors around the attention modules, for the page; not saved in files.
    """

    __pydantic_config__: ClassVar[dict[str, object]] = JUDGED

    model: str
    level: Level
    text: str
    output: str
    axes: Mapping[str, Axis]
    sites: tuple[Site, ...]
    steps: tuple[Step, ...] = ()
    findings: TraceFindings = field(default_factory=TraceFindings)
    task: str = "translation"
    picture: TracePicture | None = None
    streams: Mapping[str, Array] = field(default_factory=dict)
    tree: "Trace | None" = None
    fingerprint: str = ""
    index: int = 0
    segment: int | None = 0
    segments: int = 1
    changes: tuple[str, ...] = field(default_factory=changes_here)
    walk: Walk | None = None

    def __repr__(self) -> str:
        texts = " -> ".join(repr(each) for each in (self.text, self.output) if each)
        return f"<Trace of {self.model} ({self.task}, {self.level}): {texts}>"

    @property
    def copied(self) -> bool:
        """Whether the text has no word, so that it was copied without being read."""
        return bool(self.text) and not self.axes

    def hypothesis(self, token: int) -> "Trace":
        """The trace of the hypothesis in the tree that ends with this target token."""
        name = "target" if "target" in self.axes else "text"
        axis = self.axes[name]
        path = axis.path(token)
        chosen = Axis(
            tokens=tuple(axis.tokens[number] for number in path),
            words=tuple(axis.words[number] for number in path),
            texts=axis.texts,
        )
        return replace(
            self,
            axes={**self.axes, name: chosen},
            sites=tuple(_at_positions(site, name, path) for site in self.sites),
            streams={
                stack: stream[:, path] if stack == "decoder" else stream
                for stack, stream in self.streams.items()
            },
            steps=tuple(self.steps[number - 1] for number in path[1:]),
        )

    def save(self, file: Path | str) -> None:
        """Writes one file: a zip of .npy arrays and a JSON head, like an .npz file of numpy.

        Raises:
            DataError: the file cannot be written.
        """
        write_traces(Path(file), [self])

    def arrays(self, prefix: str = "") -> Iterator[tuple[str, Array | Mask]]:
        """All arrays, those of the tree included, by their names in a file."""
        for number, site in enumerate(self.sites):
            for name in ARRAYS:
                array = getattr(site, name)
                if array is not None:
                    yield f"{prefix}{number}.{name}", array
        for name, stream in self.streams.items():
            yield f"{prefix}{STREAM}{name}", stream
        if self.tree is not None:
            yield from self.tree.arrays(f"{prefix}tree/")

    def to_rows(self) -> Iterator[dict[str, object]]:
        """The attention weights as a table, row by row; see `to_frame`."""
        for site in self.sites:
            columns = self._columns(site)
            values = (
                column.tolist() if isinstance(column, np.ndarray) else repeat(column)
                for column in columns.values()
            )
            for row in zip(*values, strict=False):
                yield dict(zip(columns, row, strict=True))

    def to_frame(self) -> "pandas.DataFrame":
        """The attention weights as a table of pandas: one row per head, query and key.

        The columns are part ("cross", "encoder", "decoder", "image"), layer and head (from 0),
        query and key (positions from 0), query_token and key_token, weight, and norm: the norm of
        the attended value, for all heads together (NaN if the trace has none). Masked keys have no
        rows.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        with optional_import("a trace as a table of pandas", extra="research"):
            import pandas

        frames = [pandas.DataFrame(self._columns(site)) for site in self.sites]
        return pandas.concat(frames, ignore_index=True) if frames else pandas.DataFrame()

    def _columns(self, site: Site) -> dict[str, object]:
        """The columns of one attention module's table: arrays, or one value for all rows."""
        _, queries, keys = site.weights.shape
        seen = np.ones((queries, keys), np.bool_) if site.allowed is None else site.allowed
        head, query, key = np.nonzero(np.broadcast_to(seen, site.weights.shape))
        query_tokens = np.array(self.axes[site.queries].tokens, dtype=object)
        key_tokens = np.array(self.axes[site.keys].tokens, dtype=object)
        norm = None if site.norms is None else site.norms[query, key]
        return {
            "part": site.part,
            "layer": site.layer,
            "head": head,
            "query": query,
            "query_token": query_tokens[query],
            "key": key,
            "key_token": key_tokens[key],
            "weight": site.weights[head, query, key],
            "norm": np.full(len(head), np.nan, np.float32) if norm is None else norm,
        }

    def head(self) -> dict[str, object]:
        """The trace without its arrays, as plain JSON."""
        return {name: getattr(self, name) for name in PLAIN} | {
            "format": TRACE_FORMAT,
            "axes": {name: asdict(axis) for name, axis in self.axes.items()},
            "picture": None if self.picture is None else asdict(self.picture),
            "sites": [site_head(site) for site in self.sites],
            "steps": [asdict(step) for step in self.steps],
            "findings": findings_json(self.findings),
            "tree": None if self.tree is None else self.tree.head(),
        }

    def _repr_mimebundle_(
        self, include: Container[str] | None = None, exclude: Container[str] | None = None
    ) -> dict[str, object]:
        """The page, as a notebook displays it."""
        return import_string(PAGE)(self)._repr_mimebundle_(include, exclude)


def write_traces(file: Path, traces: Sequence[Trace]) -> None:
    """Writes one file with these traces, one or more: the first is what `load_trace` returns.

    Raises:
        DataError: it cannot be written.
    """
    first, *others = traces
    parts = {f"{name}.npy": _packed(array) for name, array in first.arrays()}
    for number, other in enumerate(others):
        named = other.arrays(ALSO.format(number))
        parts |= {f"{name}.npy": _packed(array) for name, array in named}
    head = first.head() | {"also": [other.head() for other in others]}
    head["digest"] = trace_digest(head, parts)
    with (
        atomic_file(file) as partial,
        zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        archive.writestr(HEAD, json.dumps(head, ensure_ascii=False))
        for name, part in parts.items():
            archive.writestr(name, part)


def site_head(site: Site) -> dict[str, object]:
    """All of an attention module but the arrays, as plain JSON."""
    return {key: value for key, value in site.__dict__.items() if key not in ARRAYS}


def _packed(array: Array | Mask) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=False)
    return stream.getvalue()


def trace_digest(head: Mapping[str, object], parts: Mapping[str, bytes]) -> str:
    """The digest of everything in the file except the digest itself."""
    digest = hashlib.sha256(json.dumps(head, sort_keys=True).encode())
    for name in sorted(parts):
        digest.update(name.encode() + parts[name])
    return digest.hexdigest()


def _at_positions(site: Site, axis: str, path: Sequence[int]) -> Site:
    """A site with only these positions of one axis, as queries and as keys."""
    asks, answers = site.queries == axis, site.keys == axis
    cut = {}
    for name in ("weights", "norms", "bias", "allowed", "scores", "query", "key", "value"):
        array = getattr(site, name)
        if array is not None and (answers if name in ("key", "value") else asks):
            array = array[..., path, :]
        if array is not None and answers and name not in ("query", "key", "value"):
            array = array[..., path]
        cut[name] = array
    return replace(site, **cut)
