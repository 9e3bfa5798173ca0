"""The trace of an image's classification: what its pixels attend to."""

from pathlib import Path

import numpy as np

from jumok.data.pictures.batches import as_tensor
from jumok.shapes import Float, Tensor
from jumok.systems.image_classifier import ImageClassification
from jumok.tracing.adapters import image_adapter
from jumok.tracing.forced import ForcedPass, Tracer, device_of
from jumok.tracing.request import TraceRequest
from jumok.tracing.texts import label_of


def force_picture_class(
    system: ImageClassification, picture: str, request: TraceRequest
) -> ForcedPass:
    """The classification of an image. The only step is the label.

    Of several models the first is traced, and its own label is shown.

    The target is the label whose probability is wanted, or [its index]; None: the most probable.
    Nothing is written, so options and prefix have no effect.

    Raises:
        DataError: the image cannot be read, or there is no such label.
    """
    model = system._models[0]
    read = as_tensor(np.stack([system.fit(Path(picture))])).to(device_of(model))

    def run(rows: int) -> Float[Tensor, "rows 1 labels"]:
        logits = model(read.expand(rows, *read.shape[1:]))
        return logits[:, None].float().log_softmax(dim=-1)

    return ForcedPass(run, Path(picture).name, label_of(request.target, system.labels))


PICTURE_CLASS: Tracer[ImageClassification] = Tracer(
    lambda system, name: image_adapter(system._models[0], name, system.labels), force_picture_class
)
