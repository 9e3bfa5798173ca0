"""Hooks that connect a recorder to a model's methods, modules and attention sites."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TypeVar

import torch
from torch import nn

from jumok.attention.convolution import PixelAttention
from jumok.attention.events import Listener, ReentrancyGuard, listening_to
from jumok.attention.observe import observe
from jumok.attention.overrides import hooked
from jumok.inspection.hooks.recording import RecordedPass, Recorder, Shared
from jumok.inspection.trace import Level
from jumok.layers.block import Stack
from jumok.models.causal import CausalLanguageModel
from jumok.models.memory import SequenceToSequence
from jumok.models.recurrent_decoder import GatedDecoder
from jumok.shapes import Float, Int, Tensor

PassResult = TypeVar("PassResult")

Hear = Callable[[str, int, Float[Tensor, "batch new dim"]], None]
"""Receives the stack's path in the model, the layer (0: the embedding), and its stream."""


def record_pass(
    model: nn.Module, run: Callable[[], PassResult], level: Level
) -> tuple[RecordedPass, PassResult]:
    """One pass over one batch of inputs, and its result, which is the same as without recording.

    The parallel pass over a decoder's output gives the same states as decoding step by step.
    """
    passes: list[RecordedPass] = []
    shared = Shared(passes.append)
    with torch.inference_mode(), listening(model, Recorder(level, shared)):
        result = run()
    shared.close()
    (recorded,) = passes
    return recorded, result


@contextmanager
def listening(model: nn.Module, recorder: Recorder) -> Iterator[None]:
    """Reports every use of this model inside the block, in this context, to the recorder."""
    working = ReentrancyGuard()
    with ExitStack() as stack:
        stack.enter_context(observe(model, recorder.on_attention))
        if recorder.level == "full":
            stack.enter_context(watch_streams(model, recorder.on_residual))
        if isinstance(model, SequenceToSequence):
            stack.enter_context(listening_to(model, {"encode": Listener(recorder.on_source)}))
            stack.enter_context(_decoder_heard(model.decoder, recorder, working))
        elif isinstance(model, CausalLanguageModel):
            whole = Listener(partial(_read_whole, recorder), None, working)
            stack.enter_context(listening_to(model, {"hidden": whole}))
            stack.enter_context(_decoder_heard(model.decoder, recorder, working))
        else:
            reads = dict(model.named_children()).get("encoder", model)
            stack.enter_context(hooked(reads, lambda given: recorder.on_source(*given[:2])))
            for path, module in model.named_modules():
                if isinstance(module, PixelAttention):
                    stack.enter_context(hooked(module, _sized(recorder, path)))
            stack.enter_context(hooked(model, after=recorder.on_logits))
        yield


def _sized(recorder: Recorder, path: str) -> Callable[..., None]:
    return lambda given: recorder.on_grid(path, given[0])


@contextmanager
def _decoder_heard(
    decoder: nn.Module, recorder: Recorder, working: ReentrancyGuard
) -> Iterator[None]:
    ears = {
        "start": Listener(lambda memory: recorder.on_start(len(memory.states)), None, working),
        "step": Listener(
            lambda tokens, _: recorder.on_tokens(tokens[:, None]),
            lambda made: recorder.on_logits(made[0][:, None]),
            working,
        ),
        "read_all": Listener(  # an RNN has none: it reads step by step
            lambda tokens, _: recorder.on_tokens(tokens),
            lambda made: recorder.on_logits(made[0]),
            working,
        ),
        "hidden": Listener(lambda _, tokens, *__: _read_whole(recorder, tokens), None, working),
        "reorder": Listener(lambda _, rows: recorder.on_reorder(rows), None, working),
        "forward": Listener(None, recorder.on_logits, working),
    }
    with ExitStack() as stack:
        stack.enter_context(listening_to(decoder, ears))
        if isinstance(decoder, GatedDecoder):
            stack.enter_context(hooked(decoder.gate, after=recorder.on_gate))
        yield


def _read_whole(
    recorder: Recorder, tokens: Int[Tensor, "rows length"], documents: Tensor | None = None
) -> None:
    """Records all positions at once, as in training; documents in one row are not separated."""
    del documents
    recorder.on_start(len(tokens))
    recorder.on_tokens(tokens)


@contextmanager
def watch_streams(model: nn.Module, hear: Hear) -> Iterator[None]:
    """Reports the stream after every layer of every stack inside the block.

    The first row is the input of the first norm.
    """
    with ExitStack() as watching:
        for path, module in model.named_modules():
            if not isinstance(module, Stack):
                continue
            parent = path.rpartition(".")[0]
            first = model.get_submodule(f"{parent}.first_norm" if parent else "first_norm")
            watching.enter_context(hooked(first, before=_embedding(hear, parent)))
            for layer, block in enumerate(module, start=1):
                watching.enter_context(hooked(block, after=_layer(hear, parent, layer)))
        yield


def _embedding(hear: Hear, stack: str) -> Callable[[tuple[Tensor]], None]:
    return lambda given: hear(stack, 0, given[0])


def _layer(hear: Hear, stack: str, layer: int) -> Callable[[tuple[Tensor, Tensor]], None]:
    return lambda left: hear(stack, layer, left[0])
