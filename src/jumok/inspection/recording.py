"""A recording: the traces of everything that a model did in a block of `jumok.record`."""

from collections.abc import Iterable
from pathlib import Path

from jumok.errors import ModelError
from jumok.inspection.trace import Trace, write_traces
from jumok.inspection.trace_file import load_traces


class Recording:
    """The traces of a block, in the order of the inputs; empty until the block ends.

        with jumok.record(model) as recording:
            model.translate(["I am a student.", "The cat saw a dog."], beam=5)
        recording.trace             # of the first sentence, and the best output for it
        recording.traces            # of all of them
        recording.save("all.npz")

    Attributes:
        traces: one for each output. `Trace.index` is the number of its input, from 0: an n-best
            list has several traces with one index, best first, and a long sentence that is read in
            segments has one for each.
    """

    def __init__(self, traces: Iterable[Trace] = ()) -> None:
        self.traces = tuple(traces)

    @classmethod
    def load(cls, file: Path | str) -> "Recording":
        """The recording that `save` wrote."""
        return cls(load_traces(file))

    @property
    def trace(self) -> Trace:
        """The trace of the first input, and of the best output for it.

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
