"""The trace of a captioner's decisions on one image: what each word attends to."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch

from jumok.alignment.extract import attention_at_setting
from jumok.alignment.words import Weights
from jumok.data.tokenizer import END, START
from jumok.decoding.options import FOR_CAPTIONS
from jumok.decoding.torch_stepper import decode
from jumok.inspection.findings import SearchTree, TraceFindings
from jumok.inspection.gradients_and_occlusion import written_log_probabilities, written_over
from jumok.models.memory import Memory
from jumok.shapes import Tensor
from jumok.systems.captioner import Captioner
from jumok.tracing.adapters import ModelAdapter, writer_adapter
from jumok.tracing.forced import (
    ForcedPass,
    Tracer,
    after_every_prefix,
    device_of,
    effect_of_pixels,
)
from jumok.tracing.request import TraceRequest, check_tokens, given_tokens
from jumok.tracing.search_tree import search_with_tree


def force_caption(captioner: Captioner, picture: str, request: TraceRequest) -> ForcedPass:
    """The model's caption of `picture`, or the target.

    Args:
        picture: an image file; for a model that reads features, the file of these.

    Raises:
        DataError: the image cannot be read, or the caption has no word, or is too long.
    """
    tokenizer, model = captioner.tokenizer, captioner._model
    read = captioner.read(Path(picture))[None].to(device_of(model))
    search: SearchTree | None = SearchTree()
    if request.target is None:
        write, search = _search_caption(captioner, read, request)
    else:
        write = given_tokens(request.target, tokenizer, captioner.max_tokens, "one caption")
    begun = torch.tensor([[START, *write]], device=read.device)
    written = torch.tensor([*write, END], device=read.device)
    cells = model.editable is not None  # one vector gives none to cells

    def score(pixels: Tensor) -> Tensor:
        return written_log_probabilities(model, model.encode(pixels), begun, written)

    return ForcedPass(
        partial(after_every_prefix, model, read, write),
        Path(picture).name,
        [*write, END],
        tokenizer.decode(write),
        TraceFindings(written=tuple(write), search=search),
        target=(lambda _: written_over(model, read, begun, written)) if cells else None,
        measures=(lambda _: {})
        if captioner.reads_features
        else partial(effect_of_pixels, score, read, "picture", request.extras.check_cancelled),
    )


def _search_caption(
    captioner: Captioner,
    read: Tensor,
    request: TraceRequest,
) -> tuple[list[int], SearchTree | None]:
    """The tokens of the best caption, and the tree of all hypotheses."""
    check_tokens(request.prefix, captioner.tokenizer.size)
    longest = min(request.options.maximum_length, captioner.max_tokens)
    model = captioner._model
    memory = model.encode(read)
    return search_with_tree(
        partial(decode, model.decoder, memory),
        captioner.tokenizer,
        replace(request, options=replace(request.options, maximum_length=longest)),
        None if captioner.reading is None else partial(_caption_attention, captioner, memory),
    )


def _caption_attention(
    captioner: Captioner, memory: Memory, paths: Sequence[Sequence[int]]
) -> list[Weights]:
    """The attention weights (tokens cells) of captions of the one image."""
    longest, device = max(map(len, paths)), memory.states.device
    tokens = torch.tensor(
        [[START, *path, *[END] * (longest - len(path))] for path in paths], device=device
    )
    assert captioner.reading is not None
    rows = torch.zeros(len(paths), dtype=torch.long, device=device)
    weights = attention_at_setting(captioner._model, memory.select(rows), tokens, captioner.reading)
    return list(weights.float().cpu().numpy())


def _caption_adapter(captioner: Captioner, name: str) -> ModelAdapter:
    return writer_adapter(captioner._model, name, captioner.tokenizer, captioner.reading)


CAPTION = Tracer(_caption_adapter, force_caption, FOR_CAPTIONS)
