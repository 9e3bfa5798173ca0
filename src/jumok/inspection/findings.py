"""The findings of a trace: what is known of an input besides the weights of its attention.

A trace file and the page hold them as JSON (`findings_json`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import PlainValidator

from jumok.alignment.setting import AlignmentSetting
from jumok.alignment.words import GoldLinks

JUDGED = {"extra": "forbid", "arbitrary_types_allowed": True}
"""How pydantic validates what is read from a file (`jumok.inspection.trace_file`)."""

DIGITS = 6
"""The significant digits of an array's numbers in JSON."""

JSON_SMALLEST = 1e-30
"""Numbers that are smaller by six digits are 0 in JSON."""


def _float_array(values: Any) -> npt.NDArray[np.float64]:
    """The numbers of nested lists; null is NaN."""
    if not isinstance(values, np.ndarray | list | tuple):
        raise ValueError("numbers should be a list")
    return np.array(values, dtype=np.float64)


Numbers = Annotated[npt.NDArray[np.float64], PlainValidator(_float_array)]

Fate = Literal["kept", "finished", "lost"]

Unit = Literal["words", "pieces"]

Predictions = tuple[tuple[tuple[tuple[str, float], ...], ...], ...]
"""For each layer and position the most probable tokens with their probabilities."""


@dataclass(frozen=True)
class SearchNode:
    """One token that a search considered.

    Attributes:
        parent: the node before it; -1 at the first token.
        log_probability: of the token (natural). total: of the hypothesis up to it.
        fate: stayed in the beam, ended with END, or neither.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = JUDGED

    parent: int
    token: int
    piece: str
    log_probability: float
    total: float
    fate: Fate


@dataclass(frozen=True)
class SearchLeaf:
    """The end of a hypothesis.

    Attributes:
        weights: (tokens keys), the attention of its tokens by the alignment setting; END is not one
            of them. None: the model has no setting.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = JUDGED

    node: int
    weights: Numbers | None = None


@dataclass(frozen=True)
class SearchTree:
    """Every hypothesis of a beam search, the discarded ones included; empty: nothing was searched.

    Attributes:
        leaves: the ends of the hypotheses that were in the beam or ended.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = JUDGED

    nodes: tuple[SearchNode, ...] = ()
    leaves: tuple[SearchLeaf, ...] = ()


@dataclass(frozen=True)
class Attributions:
    """The attribution of each output token, or word.

    Attributes:
        read: the axis that the measures are compared on: "source", or "picture"; for a model
            that reads only its own output, the axis of that.
        own: the axis of the output.
        measures: by name and axis: (tokens written, tokens or words of the axis).
        ranks: for each output token the rank correlations of all measures, (measures, measures);
            NaN where a measure is constant.
        mean_ranks: the mean of `ranks`, ignoring NaN.
        shares: by measure the source's share for each output token; empty without a source.
        rest: by measure and axis, for each output token, the summed sizes of the tokens that are
            left out (START, END); empty where none is left out.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = JUDGED

    read: str
    own: str
    measures: Mapping[str, Mapping[str, Numbers]]
    ranks: tuple[Numbers, ...]
    mean_ranks: Numbers
    shares: Mapping[str, Numbers]
    rest: Mapping[str, Mapping[str, Numbers]] = field(default_factory=dict)


@dataclass(frozen=True)
class StackLayers:
    """The layers of one stack of blocks, or of recurrent layers; row 0 is the embedding.

    Attributes:
        moved: (layers + 1, positions), the cosine of each vector with its word's embedding; in a
            recurrent stack, with the state of the same word read alone.
        read: the place of the norms, or "recurrent". None: a Transformer's encoder, from which
            nothing is predicted.
        best: the predictions after each layer; None: the stack has no output layer.
        written: (layers + 1, positions), the probability of the written token; None: not every
            position writes one.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = JUDGED

    moved: Numbers
    read: Literal["pre", "post", "recurrent"] | None = None
    best: Predictions | None = None
    written: Numbers | None = None


@dataclass(frozen=True)
class StackPositions:
    """The position encoding of one stack.

    Attributes:
        kind: its name in recipes: "sinusoidal", "learned", "rotary", "alibi", "none", ...;
            "other": a registered one (`jumok/parts.py`); "recurrent", or "recurrent-both" where an
            RNN also reads from the end.
        same: the path of an earlier stack with the same encoding, which alone has the picture.
        picture: (positions or distances, dims, pairs of dims, or heads).
        rows, columns: the names of its axes.
        curves: by name, a value for each distance from 0.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = JUDGED

    kind: str
    same: str | None = None
    picture: Numbers | None = None
    rows: str = "position"
    columns: str = "dimension"
    curves: Mapping[str, Numbers] = field(default_factory=dict)


@dataclass(frozen=True)
class LayerFindings:
    """The analysis of layers and positions, each by the path of a stack in the model."""

    __pydantic_config__: ClassVar[dict[str, Any]] = JUDGED

    stacks: Mapping[str, StackLayers] = field(default_factory=dict)
    positions: Mapping[str, StackPositions] = field(default_factory=dict)


@dataclass(frozen=True)
class ContextSimilarity:
    """The words of one sentence compared with those of another, in one stack.

    Attributes:
        axis: the stack's own.
        texts: the other's words.
        cosines: (layers + 1, words, words of the other).
        different: (layers + 1), the mean cosine of words that are not the same; None: all are.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = JUDGED

    axis: str
    texts: tuple[str, ...]
    cosines: Numbers
    different: Numbers | None = None


@dataclass(frozen=True)
class TraceFindings:
    """What is known of an input besides its attention; None: it was not computed.

    Attributes:
        written: the ids of the tokens that were written or filled in, or of the label.
        prompt: the number of tokens that a language model was given.
        gaps: the positions that a masked language model filled.
        setting: where alignments are extracted; None: the model has no such setting.
        own_rows: whether a word's row is that of its own step in a model without a setting: in a
            language model, and in attention from elsewhere.
        search: the search tree; empty if nothing was searched, because the output was given.
        ablation: by attention module (heads, steps): the change of each chosen token's
            log-probability when that head alone is ablated.
        own_output: what the model writes by itself, where it was given the output of another.
        frequent: the words of the source that every text has (`jumok.tracing.frequent`).
        unseen: the words of the source that the training data did not have.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = JUDGED

    written: tuple[int, ...] = ()
    prompt: int = 0
    gaps: tuple[int, ...] = ()
    setting: AlignmentSetting | None = None
    own_rows: bool = False
    search: SearchTree | None = None
    ablation: Mapping[str, Numbers] | None = None
    attribution: Mapping[Unit, Attributions] | None = None
    layers: LayerFindings | None = None
    similarity: Mapping[str, ContextSimilarity] | None = None
    gold: GoldLinks | None = None
    own_output: str | None = None
    frequent: tuple[int, ...] = ()
    unseen: tuple[int, ...] = ()

    @property
    def at_input(self) -> bool:
        """Whether a word's row is that of the step that reads it, and not that which writes it."""
        return self.own_rows if self.setting is None else self.setting.at_input


@dataclass(frozen=True)
class SiteWalk:
    """The vectors around one attention module, of every query: from the state before to the next.

    Attributes:
        arrays: (queries, width), by name, as far as the module has them:
            state: the residual stream before it; in an RNN the state before the step;
            input: what the queries are projected from: the norm of the state in a pre-norm model,
            the state itself in a post-norm model;
            mixed: the input of the output projection, where it is not the heads' weighted sums side
            by side (differential attention, gates, ablated heads);
            output: that of the output projection, which is added to the state;
            normed: the norm of that sum, which the next part of the block reads;
            hidden: the inner activations of the feed-forward layer after the block's last
            attention; fed: its output; fed_normed: the norm of its sum with the stream;
            word, after, known, shown: of a recurrent decoder the embedding of the word that is
            read, the state after the step, the input of its readout, and the output h.
        norm: the class of the norms, such as "LayerNorm"; empty where there is none.
        post: whether the stream is the norm of the sum (post-norm), and not the sum (pre-norm).
        processes: the classes of what the queries are put through after their projection.
        sharing: how many heads in a row have the same keys.
    """

    __pydantic_config__: ClassVar[dict[str, object]] = JUDGED

    arrays: Mapping[str, npt.NDArray[np.float32]]
    norm: str = ""
    post: bool = False
    biased: bool = True
    processes: tuple[str, ...] = ()
    sharing: int = 1
    cap: float | None = None
    scale: float | None = None


@dataclass(frozen=True)
class Walk:
    """The vectors around the attention modules of a pass, for the page's walk through one word.

    Attributes:
        normalizers: for each row of logits, the logarithm of the sum of their exponentials: a logit
            is the log-probability plus this number. None: nothing is predicted.
        entries: how many logits a row has.
    """

    __pydantic_config__: ClassVar[dict[str, object]] = JUDGED

    sites: Mapping[str, SiteWalk] = field(default_factory=dict)
    normalizers: npt.NDArray[np.float32] | None = None
    entries: int = 0


def findings_json(findings: TraceFindings) -> dict[str, Any]:
    """The findings as plain JSON: NaN is null, and what was not computed is left out."""
    plain: dict[str, Any] = _json_value(findings)
    return plain


def _json_value(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return _json_list(value)
    if is_dataclass(value):
        values = {each.name: getattr(value, each.name) for each in fields(value)}
        return {name: _json_value(each) for name, each in values.items() if each is not None}
    if isinstance(value, Mapping):
        return {name: _json_value(each) for name, each in value.items()}
    if isinstance(value, frozenset):
        return sorted(map(list, value))
    if isinstance(value, tuple):
        return [_json_value(each) for each in value]
    return value


def _significant_digits(array: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The numbers with `DIGITS` significant digits; what is not finite is 0."""
    known = np.nan_to_num(array, posinf=0.0, neginf=0.0)
    scale = 10.0 ** (DIGITS - 1 - np.floor(np.log10(np.clip(np.abs(known), JSON_SMALLEST, None))))
    rounded: npt.NDArray[np.float64] = np.rint(known * scale) / scale
    return rounded


def _json_list(array: npt.NDArray[np.float64]) -> list[Any]:
    """Nested lists; what is not finite is None."""
    finite = np.isfinite(array)
    numbers: npt.NDArray[Any] = _significant_digits(array)
    if not finite.all():
        numbers = numbers.astype(object)
        numbers[~finite] = None
    listed: list[Any] = numbers.tolist()
    return listed
