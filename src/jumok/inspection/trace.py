"""What a model looked at, as one thing that can be saved: it feeds pictures, pages and tables.

A trace holds *axes* (the tokens along an edge of a map, and the words they belong to) and *sites*
(one attention module each: which axis looks at which, the weights, and, at level "qk", the
vectors they came from). Weights are those before dropout.
"""

import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from jumok.errors import BundleError, Place

Array = npt.NDArray[np.float32]
Level = Literal["weights", "qk"]
Part = Literal["encoder", "decoder", "cross"]

FORMAT = 1
HEAD = "trace.json"
ARRAYS = ("weights", "norms", "bias", "energy", "query", "key", "value")


@dataclass(frozen=True)
class Axis:
    """Tokens along one edge of a map.

    Attributes:
        tokens: the pieces as the model knows them, START and END among them.
        words: for each token the index of its word; None for START and END.
        texts: the words.
    """

    tokens: tuple[str, ...]
    words: tuple[int | None, ...]
    texts: tuple[str, ...]


@dataclass(frozen=True)
class Site:
    """One attention module.

    Attributes:
        name: its path in the model, such as "decoder.blocks.2.cross_attention".
        kind: the score function: "scaled-dot", ...
        part: who looks: the encoder at itself, the decoder at what it wrote, or at the source.
        layer: from 0.
        queries, keys: names of the axes.
        weights: (heads query key), before dropout; each row sums to 1.
        norms: (query key), the length of what each key gave to each query: the sum over the heads
            of weight x value x output projection. None where the module has no projection.
        bias: (heads query key), what was added to the scores; None: nothing.
        energy: (dim), what the hidden layer of an additive score is weighed with; else None.
        query, key, value: (heads query dim), (heads key dim), (heads key value_dim); level "qk".
        scale: what the products were multiplied by: 1 / sqrt(dim) in scaled dot products.
    """

    name: str
    kind: str
    part: Part
    layer: int
    queries: str
    keys: str
    weights: Array
    norms: Array | None = None
    bias: Array | None = None
    energy: Array | None = None
    query: Array | None = None
    key: Array | None = None
    value: Array | None = None
    scale: float = 1.0


@dataclass(frozen=True)
class Step:
    """What the decoder thought at one position.

    Attributes:
        token: what was written; its log-probability (natural).
        best: the most probable tokens and their log-probabilities, best first.
    """

    token: str
    log_probability: float
    best: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Trace:
    """One sentence through one model.

    Attributes:
        model: its name.
        level: whether the vectors were kept ("qk") or the weights alone ("weights").
        text, output: what came in and what went out.
        axes: by name: "source", "target".
        steps: one a written token.
    """

    model: str
    level: Level
    text: str
    output: str
    axes: Mapping[str, Axis]
    sites: tuple[Site, ...]
    steps: tuple[Step, ...] = ()
    notes: Mapping[str, Any] = field(default_factory=dict)

    def save(self, file: Path | str) -> None:
        """Writes one file: a zip of .npy arrays and a JSON head, as numpy's npz is."""
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(HEAD, json.dumps(self.head(), ensure_ascii=False))
            for name, array in self._arrays():
                stream = io.BytesIO()
                np.save(stream, array, allow_pickle=False)
                archive.writestr(f"{name}.npy", stream.getvalue())

    def _repr_html_(self) -> str:
        """The page itself, where a notebook shows a trace."""
        from html import escape

        from jumok.inspection.page import page

        frame = 'width="100%" height="760" style="border:0" sandbox="allow-scripts allow-downloads"'
        return f'<iframe {frame} srcdoc="{escape(page(self))}"></iframe>'

    def head(self) -> dict[str, Any]:
        """All but the arrays, as plain JSON."""
        sites = [
            {key: value for key, value in site.__dict__.items() if key not in ARRAYS}
            for site in self.sites
        ]
        return {
            "format": FORMAT,
            "model": self.model,
            "level": self.level,
            "text": self.text,
            "output": self.output,
            "axes": {name: asdict(axis) for name, axis in self.axes.items()},
            "sites": sites,
            "steps": [asdict(step) for step in self.steps],
            "notes": dict(self.notes),
        }

    def _arrays(self) -> Iterator[tuple[str, Array]]:
        for number, site in enumerate(self.sites):
            for name in ARRAYS:
                array = getattr(site, name)
                if array is not None:
                    yield f"{number}.{name}", array


def load_trace(file: Path | str) -> Trace:
    """The trace that `Trace.save` wrote.

    Raises:
        BundleError: no such file, cut off, edited, or of a newer format.
    """
    path = Path(file)
    try:
        with zipfile.ZipFile(path) as archive:
            head = json.loads(archive.read(HEAD))
            arrays = {name: _array(archive, name) for name in archive.namelist() if name != HEAD}
        if head["format"] > FORMAT:
            raise BundleError(
                "the trace is of a newer format.",
                expected=f"format {FORMAT} or older",
                got=f"format {head['format']}",
                do="pip install --upgrade jumok",
                place=Place(path),
            )
        trace = _trace(head, arrays)
        _check(trace)
    except FileNotFoundError as error:
        raise BundleError("there is no such trace.", place=Place(path)) from error
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, EOFError) as error:
        raise BundleError(
            "this is not a trace, or it is cut off or edited.",
            got=str(error),
            do="record it again: jumok look MODEL TEXT --save trace.npz",
            place=Place(path),
        ) from error
    return trace


def _array(archive: zipfile.ZipFile, name: str) -> Array:
    array: Array = np.lib.format.read_array(
        io.BytesIO(archive.read(name)), allow_pickle=False
    ).astype(np.float32)
    return array


def _trace(head: Mapping[str, Any], arrays: Mapping[str, Array]) -> Trace:
    sites = [
        Site(**(site | {name: arrays.get(f"{number}.{name}.npy") for name in ARRAYS}))
        for number, site in enumerate(head["sites"])
    ]
    return Trace(
        model=head["model"],
        level=head["level"],
        text=head["text"],
        output=head["output"],
        axes={name: Axis(**_tuples(axis)) for name, axis in head["axes"].items()},
        sites=tuple(sites),
        steps=tuple(
            Step(step["token"], step["log_probability"], tuple(map(tuple, step["best"])))
            for step in head["steps"]
        ),
        notes=head["notes"],
    )


def _tuples(values: Mapping[str, list[Any]]) -> dict[str, Any]:
    return {name: tuple(value) for name, value in values.items()}


def _check(trace: Trace) -> None:
    """Raises ValueError where arrays and axes do not fit together."""
    for site in trace.sites:
        wanted = (len(trace.axes[site.queries].tokens), len(trace.axes[site.keys].tokens))
        if site.weights is None or site.weights.ndim != 3 or site.weights.shape[1:] != wanted:
            raise ValueError(f"the weights of {site.name} do not fit its tokens, {wanted}")
