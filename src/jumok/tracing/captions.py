"""The trace of a captioner's decisions on one image: what each word attends to."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import nn

from jumok.alignment.extract import cross_attention
from jumok.attention.observe import heads_of
from jumok.data.tokenizer import END, START
from jumok.inspection.attribution import Measure
from jumok.inspection.findings import Attributions, SearchTree
from jumok.inspection.gradients_and_occlusion import occlude_patches, written_over
from jumok.inspection.hooks.intercept import hooked
from jumok.inspection.hooks.intervene import changed
from jumok.inspection.page.picture import TracePicture
from jumok.inspection.sites import of_writers
from jumok.inspection.trace import Axis, Trace, grid_axis
from jumok.models.captioner import CaptionerModel as Model
from jumok.models.captioner import GridWriter
from jumok.models.memory import Memory
from jumok.models.recurrent_decoder import GatedDecoder
from jumok.shapes import Float, Int, Tensor
from jumok.systems.captioner import DEFAULTS, Captioner
from jumok.tracing.axes import LogProbabilities, steps_of, text_axis
from jumok.tracing.checks import check_tokens, given_tokens
from jumok.tracing.request import Tracer, TraceRequest
from jumok.tracing.search import searched
from jumok.tracing.watch import Looked, after_every_prefix, findings_of, look, word_attributions


def trace_caption(
    captioner: Captioner,
    picture: Path | str,
    asked: TraceRequest,
) -> Trace:
    """Traces what the model attends to while it describes `picture`, or writes the target.

    Args:
        picture: an image file; for a model that reads features, the file of these.

    Raises:
        DataError: the image cannot be read, or the caption has no word, or is too long.
        ModelError: the model has no attention, or not the heads that are named.
    """
    tokenizer, model = captioner.tokenizer, captioner.model
    pixels = captioner.read(Path(picture))
    read = pixels[None].to(next(model.parameters()).device)
    search: SearchTree | None = SearchTree()
    if asked.target is None:
        with changed(model, asked.change, heads_of(model)):
            write, search = _searched(captioner, read, asked)
    else:
        write = given_tokens(asked.target, tokenizer, captioner.max_tokens, "one caption")
    run, written = partial(after_every_prefix, model, read, write), [*write, END]
    looked = look(model, run, of_writers("picture", "image"), written, asked, tokenizer.pieces)
    with changed(model, asked.change, heads_of(model)):
        gates = _gates(model.decoder, run)
    axes = {
        "picture": grid_axis(*model.grid),
        "target": text_axis(tokenizer, write, before=(START,)),
    }
    findings = replace(
        findings_of(write, looked, search),
        attribution=_attribution(captioner, read, write, looked, axes, asked),
        setting=captioner.reading,
    )
    return Trace(
        model=asked.name,
        fingerprint=captioner.fingerprint,
        task=captioner.task,
        level=asked.level,
        text=Path(picture).name,
        output=tokenizer.decode(write),
        axes=axes,
        sites=looked.watched.sites,
        walk=looked.walk,
        streams=looked.watched.streams,
        steps=steps_of(tokenizer.pieces, written, looked.watched.result, gates),
        findings=findings,
        picture=None if captioner.reads_features else TracePicture.of(_rows(pixels)),
    )


def _searched(
    captioner: Captioner,
    read: Tensor,
    asked: TraceRequest,
) -> tuple[list[int], SearchTree | None]:
    """The tokens of the best caption, and the tree of all hypotheses.

    Their attention weights are extracted by the setting that `Captioner.caption` uses.
    """
    check_tokens(asked.prefix, captioner.tokenizer.size)
    longest = min(asked.options.maximum_length, captioner.max_tokens)
    model = captioner.model
    return searched(
        model.decoder,
        model.encode(read),
        captioner.tokenizer,
        replace(asked, options=replace(asked.options, maximum_length=longest)),
        None if captioner.reading is None else _Looks(captioner),
    )


def _attribution(
    captioner: Captioner,
    read: Tensor,
    write: Sequence[int],
    looked: Looked,
    axes: Mapping[str, Axis],
    asked: TraceRequest,
) -> Mapping[Literal["pieces", "words"], Attributions] | None:
    """The attributions to cells and words; one vector gives none to cells."""
    model = captioner.model
    if not isinstance(model.writer, GridWriter):
        return None
    begun = torch.tensor([[START, *write]], device=read.device)
    told = model, read, begun, torch.tensor([*write, END], device=read.device)
    patches = partial(_patches, captioner, *told, asked.extras.check_cancelled)
    return word_attributions(written_over(*told), looked, axes, asked, patches)


def _patches(
    captioner: Captioner,
    model: Model,
    read: Tensor,
    target: Int[Tensor, "1 target"],
    written: Int[Tensor, " target"],
    heed: Callable[[], None],
) -> dict[str, Measure]:
    """The effect of occluding the pixels of each cell; features have no pixels."""
    if captioner.reads_features:
        return {}
    costs = occlude_patches(model, read, target, written, heed)
    return {"patch": {"picture": costs.double().cpu().numpy()}}


class _Looks:
    """Computes the attention weights of captions, each with a row of the memory."""

    def __init__(self, captioner: Captioner) -> None:
        self._captioner = captioner

    def __call__(
        self, memory: Memory, paths: Sequence[Sequence[int]]
    ) -> Float[Tensor, "rows tokens cells"]:
        longest = max(map(len, paths))
        tokens = torch.tensor(
            [[START, *path, *[END] * (longest - len(path))] for path in paths],
            device=memory.states.device,
        )
        assert self._captioner.reading is not None
        return cross_attention(self._captioner.model, memory, tokens, self._captioner.reading)


def _gates(decoder: nn.Module, run: Callable[[], LogProbabilities]) -> list[float] | None:
    """The gate of the context vector at every step of `run`: sigmoid(w s)."""
    if not isinstance(decoder, GatedDecoder):
        return None
    gates: list[float] = []
    with hooked(decoder.gate, after=lambda raw: gates.append(float(torch.sigmoid(raw[0, 0])))):
        run()
    return gates


def _rows(pixels: Tensor) -> np.ndarray:
    """(3 height width) -> (height width 3)."""
    return pixels.permute(1, 2, 0).contiguous().numpy()


CAPTION = Tracer(trace_caption, DEFAULTS)
