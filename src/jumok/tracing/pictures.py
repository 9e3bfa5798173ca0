"""The trace of an image's classification: what its pixels attend to."""

from pathlib import Path

import numpy as np

from jumok.attention.role import Part
from jumok.data.pictures.batches import as_tensor
from jumok.inspection.hooks.capture import pixel_grids
from jumok.inspection.page.picture import TracePicture
from jumok.inspection.sites import Sequences
from jumok.inspection.trace import Trace, grid_axis
from jumok.systems.image_classifier import ImageClassification
from jumok.tracing.axes import LogProbabilities, steps_of
from jumok.tracing.request import Tracer, TraceRequest
from jumok.tracing.texts import label_of
from jumok.tracing.watch import findings_of, look


def trace_picture_class(
    system: ImageClassification,
    picture: Path | str,
    asked: TraceRequest,
) -> Trace:
    """Traces what every pixel of the feature maps attends to. The only step is the label.

    Of several models the first is traced, and its own label is shown.

    The target is the label whose probability is wanted, or [its index]; None: the most probable.
    Nothing is written, so options and prefix have no effect.

    Raises:
        DataError: the image cannot be read, or there is no such label.
        ModelError: the model has no attention, or not the heads that are named.
    """
    model = system.models[0]
    fitted = system.fit(Path(picture))
    read = as_tensor(np.stack([fitted])).to(model.output.weight.device)

    def run() -> LogProbabilities:
        return model(read).float().log_softmax(dim=-1)

    grids = pixel_grids(model, run)

    def sequences(site: str, _: Part) -> Sequences:
        return Sequences(_name(grids[site]), _name(grids[site]))

    said = label_of(asked.target, system.labels)
    looked = look(model, run, sequences, said, asked)
    found = looked.watched.result
    said = said or [int(found.argmax())]
    return Trace(
        model=asked.name,
        fingerprint=system.fingerprint,
        task=system.task,
        level=asked.level,
        text=Path(picture).name,
        output=system.labels[said[0]],
        axes={_name(grid): grid_axis(*grid) for grid in grids.values()},
        sites=looked.watched.sites,
        walk=looked.walk,
        steps=steps_of(lambda numbers: [system.labels[each] for each in numbers], said, found),
        findings=findings_of(said, looked),
        picture=TracePicture.of(np.asarray(fitted)),
    )


def _name(grid: tuple[int, int]) -> str:
    """The name of the axis of a grid's cells."""
    return f"grid {grid[0]}x{grid[1]}"


PICTURE_CLASS = Tracer(trace_picture_class)
