"""What the pixels of a picture looked at while its label was found, as a trace."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from jumok.data.picture_batches import as_tensor
from jumok.decoding import DecodingOptions
from jumok.inspection.capture import Edge, pixel_grids
from jumok.inspection.intervene import UNCHANGED, Change
from jumok.inspection.picture import Picture
from jumok.inspection.trace import Level, Trace, grid_axis
from jumok.systems.image_classifier import ImageClassification
from jumok.systems.tracing_parts import (
    EVERYTHING,
    LEVEL,
    Extras,
    LogProbabilities,
    look,
    notes_of,
    steps_of,
)
from jumok.systems.tracing_texts import DEFAULTS, label_of


@torch.inference_mode()
def trace_picture_class(
    system: ImageClassification,
    picture: Path | str,
    target: str | Sequence[int] | None = None,
    options: DecodingOptions = DEFAULTS,  # noqa: ARG001
    *,
    level: Level = LEVEL,
    change: Change = UNCHANGED,
    prefix: Sequence[int] = (),  # noqa: ARG001
    extras: Extras = EVERYTHING,
    name: str = "model",
) -> Trace:
    """What every pixel of the feature maps looked at. The only step is the label.

    Of several models the first is traced, and its own label is shown.

    Args:
        target: the label whose probability is wanted, or [its number]; None: the likeliest.
        options, prefix: count for nothing, as nothing is written.
        level, change, extras, name: as in `trace_translation`.

    Raises:
        DataError: a picture that cannot be read, or no such label.
        ModelError: a model without attention, or without the heads that are named.
    """
    model = system.models[0]
    fitted = system.fit(Path(picture))
    read = as_tensor(np.stack([fitted])).to(model.output.weight.device)

    def run() -> LogProbabilities:
        return model(read).float().log_softmax(dim=-1)

    grids = pixel_grids(model, run)

    def edge(site: str) -> Edge:
        return Edge("image", _name(grids[site]), _name(grids[site]))

    said = label_of(target, system.labels)
    looked = look(model, run, edge, said, level=level, change=change, extras=extras)
    found = looked.watched.result
    said = said or [int(found.argmax())]
    return Trace(
        model=name,
        fingerprint=system.fingerprint,
        task="image-classification",
        level=level,
        text=Path(picture).name,
        output=system.labels[said[0]],
        axes={_name(grid): grid_axis(*grid) for grid in grids.values()},
        sites=looked.watched.sites,
        steps=steps_of(lambda numbers: [system.labels[each] for each in numbers], said, found),
        notes=notes_of(said, looked),
        picture=Picture.of(np.asarray(fitted)),
    )


def _name(grid: tuple[int, int]) -> str:
    """Of the axis of a grid's cells."""
    return f"grid {grid[0]}x{grid[1]}"
