"""The traces of models that write nothing: gaps filled, texts and images classified.

Options and prefix have no effect.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from jumok.data.pictures.batches import as_tensor
from jumok.data.tokenizer import END, START
from jumok.errors import DataError
from jumok.inspection.attribution import AxisMatrices
from jumok.inspection.findings import TraceFindings
from jumok.inspection.gradients_and_occlusion import ForcedTarget, labelled, labelled_text
from jumok.inspection.rollout import finest_axis
from jumok.inspection.trace import Trace
from jumok.shapes import Float, Tensor
from jumok.systems.image_classifier import ImageClassification
from jumok.systems.masked_model import MaskedModel
from jumok.systems.text_classifier import TextClassification
from jumok.tracing.adapters import WithMask, image_adapter, reader_adapter
from jumok.tracing.forced import ForcedPass, Tracer, device_of, effect_of_pixels
from jumok.tracing.request import TraceRequest, check_length, check_tokens


def force_gaps(system: MaskedModel, text: str, request: TraceRequest) -> ForcedPass:
    """What fills the gaps of a text, written `[MASK]` or `___`: each is a step.

    The target is for each gap the token whose probability is wanted, or one text of them; None:
    the most probable, which `MaskedModel.fill` would use.

    Raises:
        DataError: the text has no word, or is longer than the model reads at once; there is not
            one token for each gap.
    """
    model = system._model
    ids, opens = system.encode(text)
    check_length(text, ids, system.max_tokens)
    read = torch.tensor([[START, *ids, END]], device=device_of(model))
    gaps = [place for place, piece in enumerate(ids, start=1) if piece == model.mask]

    def run(rows: int) -> Float[Tensor, "rows gaps vocabulary"]:
        states = model.encoder(read.expand(rows, -1))
        return model.head(states[:, gaps]).float().log_softmax(dim=-1)

    if request.target is None:
        likely = zip(run(1)[0].exp().cpu(), opens, strict=True)
        filled = [int(system.fitting(row, opens_word, 1)[1]) for row, opens_word in likely]
    else:
        filled = _wanted_tokens(system, request.target, len(gaps))
    places = iter(filled)
    whole = [next(places) if piece == model.mask else piece for piece in ids]
    findings = TraceFindings(written=tuple(filled), gaps=tuple(gaps))
    return ForcedPass(run, text, filled, system.tokenizer.decode(whole), findings)


def _wanted_tokens(system: MaskedModel, target: str | Sequence[int], gaps: int) -> list[int]:
    tokens = system.tokenizer.encode(target) if isinstance(target, str) else list(target)
    check_tokens(tokens, system.tokenizer.size)
    if len(tokens) != gaps:
        raise DataError(
            "every gap needs its token.", expected=f"{gaps} tokens", got=f"{len(tokens)}: {target}"
        )
    return tokens


def force_text_class(system: TextClassification, text: str, request: TraceRequest) -> ForcedPass:
    """The classification of a text; of a long one only the beginning. The only step is the label.

    The target is the label whose probability is wanted, or [its index]; None: the most probable.

    Raises:
        DataError: the text has no word, or there is no such label.
    """
    ids = system.tokenizer.encode(text)[: system.max_tokens]
    check_length(text, ids, system.max_tokens)
    read = torch.tensor([[START, *ids, END]], device=device_of(system._model))

    def run(rows: int) -> Float[Tensor, "rows 1 labels"]:
        return system._model(read.expand(rows, -1))[:, None].float().log_softmax(dim=-1)

    chosen = label_of(request.target, system.labels) or run(1)[0].argmax(1).tolist()
    return ForcedPass(
        run, text, chosen, target=lambda _: labelled_text(system._model, read, chosen[0])
    )


def label_of(target: str | Sequence[int] | None, labels: Sequence[str]) -> list[int] | None:
    """The index of the given label, alone in a list; None if no label is given."""
    if target is None:
        return None
    if isinstance(target, str) and target in labels:
        return [labels.index(target)]
    if not isinstance(target, str) and len(target) == 1 and 0 <= target[0] < len(labels):
        return list(target)
    raise DataError("the model has no such label.", expected=", ".join(labels), got=str(target))


GAPS: Tracer[MaskedModel] = Tracer(
    lambda system, name: reader_adapter(
        system._model, system.task, name, WithMask(system.tokenizer, system._model.mask)
    ),
    force_gaps,
)


TEXT_CLASS: Tracer[TextClassification] = Tracer(
    lambda system, name: reader_adapter(
        system._model, system.task, name, system.tokenizer, system.label_names
    ),
    force_text_class,
)


def force_picture_class(
    system: ImageClassification, picture: str, request: TraceRequest
) -> ForcedPass:
    """The classification of an image by the first model. The only step is the label.

    The target is as in `force_text_class`.
    Raises:
        DataError: the image cannot be read, or there is no such label.
    """
    model = system._models[0]
    read = as_tensor(np.stack([system.fit(Path(picture))])).to(device_of(model))

    def run(rows: int) -> Float[Tensor, "rows 1 labels"]:
        logits = model(read.expand(rows, *read.shape[1:]))
        return logits[:, None].float().log_softmax(dim=-1)

    chosen = label_of(request.target, system.labels) or run(1)[0].argmax(1).tolist()

    def target(trace: Trace) -> ForcedTarget:
        axis = finest_axis(trace.sites, trace.axes)
        return labelled(model, read, chosen[0], axis, len(trace.axes[axis].tokens))

    def score(pixels: Tensor) -> Float[Tensor, "rows 1"]:
        return model(pixels).float().log_softmax(dim=-1)[:, chosen]

    def pixels(trace: Trace) -> dict[str, AxisMatrices]:
        axis = finest_axis(trace.sites, trace.axes)
        return effect_of_pixels(score, read, axis, request.extras.check_cancelled, trace)

    return ForcedPass(run, Path(picture).name, chosen, None, target=target, measures=pixels)


PICTURE_CLASS: Tracer[ImageClassification] = Tracer(
    lambda system, name: image_adapter(system._models[0], name, system.labels), force_picture_class
)
