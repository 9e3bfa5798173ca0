"""Connects a recorder to a model: to its methods, modules and attention sites."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

from torch import nn

from jumok.attention.convolution import PixelAttention
from jumok.attention.heard import Ear, Working, listening_to
from jumok.attention.observe import observe
from jumok.inspection.hooks.intercept import hooked
from jumok.inspection.hooks.recording import Recorder
from jumok.inspection.hooks.streams import watch_streams
from jumok.models.causal import CausalLanguageModel
from jumok.models.image_classifier import ImageClassifier
from jumok.models.memory import SequenceToSequence
from jumok.models.recurrent_decoder import GatedDecoder
from jumok.shapes import Int, Tensor


@contextmanager
def listening(model: nn.Module, recorder: Recorder) -> Iterator[None]:
    """Reports every use of this model inside the block, in this context, to the recorder."""
    working = Working()
    with ExitStack() as stack:
        stack.enter_context(observe(model, recorder.looked))
        if recorder.level == "full":
            stack.enter_context(watch_streams(model, recorder.streamed))
        if isinstance(model, SequenceToSequence):
            stack.enter_context(listening_to(model, {"encode": Ear(recorder.encoded)}))
            stack.enter_context(_decoder_heard(model.decoder, recorder, working))
        elif isinstance(model, CausalLanguageModel):
            whole = Ear(partial(_read_whole, recorder), None, working)
            stack.enter_context(listening_to(model, {"hidden": whole}))
            stack.enter_context(_decoder_heard(model.decoder, recorder, working))
        else:
            reads = model if isinstance(model, ImageClassifier) else model.get_submodule("encoder")
            stack.enter_context(hooked(reads, lambda given: recorder.encoded(*given[:2])))
            for path, module in model.named_modules():
                if isinstance(module, PixelAttention):
                    stack.enter_context(hooked(module, _sized(recorder, path)))
            stack.enter_context(hooked(model, after=recorder.wrote))
        yield


def _sized(recorder: Recorder, path: str) -> Callable[..., None]:
    return lambda given: recorder.sized(path, given[0])


@contextmanager
def _decoder_heard(decoder: nn.Module, recorder: Recorder, working: Working) -> Iterator[None]:
    ears = {
        "start": Ear(lambda memory: recorder.started(len(memory.states)), None, working),
        "step": Ear(
            lambda tokens, _: recorder.read(tokens[:, None]),
            lambda made: recorder.wrote(made[0][:, None]),
            working,
        ),
        "read_all": Ear(  # an RNN has none: it reads step by step
            lambda tokens, _: recorder.read(tokens), lambda made: recorder.wrote(made[0]), working
        ),
        "hidden": Ear(lambda _, tokens, *__: _read_whole(recorder, tokens), None, working),
        "reorder": Ear(lambda _, rows: recorder.reordered(rows), None, working),
        "forward": Ear(None, recorder.wrote, working),
    }
    with ExitStack() as stack:
        stack.enter_context(listening_to(decoder, ears))
        if isinstance(decoder, GatedDecoder):
            stack.enter_context(hooked(decoder.gate, after=recorder.gated))
        yield


def _read_whole(
    recorder: Recorder, tokens: Int[Tensor, "rows length"], documents: Tensor | None = None
) -> None:
    """Records all positions at once, as in training; documents in one row are not separated."""
    del documents
    recorder.started(len(tokens))
    recorder.read(tokens)
