"""The vectors around the attention modules of a pass, for the page's walk through one word.

A site has an attention module's queries, keys, values and weights. A walk has the
rest of the way: the state that the query is projected from, what the output projection makes of the
weighted sums, the residual stream, the norm, the feed-forward layer, and for each prediction the
number that turns logits into log-probabilities.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from jumok.inspection.findings import JUDGED

Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True)
class SiteWalk:
    """The way of every query through one attention module, and on to the next one.

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
    """

    __pydantic_config__: ClassVar[dict[str, object]] = JUDGED

    arrays: Mapping[str, Vectors]
    norm: str = ""
    post: bool = False
    biased: bool = True
    processes: tuple[str, ...] = ()
    cap: float | None = None
    scale: float | None = None


@dataclass(frozen=True)
class Walk:
    """The ways through all attention modules of a pass.

    Attributes:
        normalizers: for each row of logits, the logarithm of the sum of their exponentials: a logit
            is the log-probability plus this number. None: nothing is predicted.
        entries: how many logits a row has.
    """

    __pydantic_config__: ClassVar[dict[str, object]] = JUDGED

    sites: Mapping[str, SiteWalk] = field(default_factory=dict)
    normalizers: Vectors | None = None
    entries: int = 0
