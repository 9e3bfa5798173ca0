"""The searcher protocol of torch and the native engine. Nothing here imports torch.

A searcher reads a batch of sources (token ids without END) and is then asked for hypotheses, for
the scores of given targets, and for what the targets' tokens attended to.
"""

from collections.abc import Sequence
from typing import Literal, Protocol, runtime_checkable

from jumok.alignment.setting import AlignmentSetting
from jumok.alignment.words import Weights
from jumok.decoding import DecodingOptions, Hypothesis
from jumok.decoding.beam import Report
from jumok.decoding.constraints import Constraints
from jumok.decoding.limits import Prefixes
from jumok.decoding.rank import Ranker


@runtime_checkable  # the tests check annotations while they run
class ReadSources(Protocol):
    """Sources that are read together, once.

    Attributes:
        left: the rows that the native engine had to leave to torch.
    """

    left: set[int]

    def select(self, rows: Sequence[int]) -> "ReadSources":
        """Some of them, in this order."""
        ...

    def search(
        self,
        options: DecodingOptions,
        prefixes: Prefixes | None = None,
        constraints: Sequence[Constraints] | None = None,
        report: Report | None = None,
    ) -> list[list[Hypothesis]]:
        """For each source its hypotheses, best first.

        Args:
            prefixes: the forced beginning of each target; None: nothing is forced.
            constraints: what each target has to contain; None: nothing.
            report: receives the candidates of every step; None: no one does.
        """
        ...

    def score(self, targets: Sequence[Sequence[int]], ranker: Ranker) -> list[Hypothesis]:
        """A given target for each source, with its log-probabilities."""
        ...

    def attention(
        self, targets: Sequence[Sequence[int]], setting: AlignmentSetting | None = None
    ) -> list[Weights]:
        """For each target how much its tokens attended to each source token, and to END.

        Args:
            setting: the layer, the step and the head; None: where alignments are extracted.
        """
        ...


@runtime_checkable
class Searcher(Protocol):
    """What finds translations.

    Attributes:
        name: how the option --engine names it.
    """

    name: Literal["torch", "native"]

    @property
    def layers(self) -> int:
        """The number of the decoder's cross-attentions; of several models the fewest."""
        ...

    def read(self, sources: Sequence[Sequence[int]]) -> ReadSources:
        """These sources in one batch."""
        ...
