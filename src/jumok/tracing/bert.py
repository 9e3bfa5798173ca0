"""The trace of a pretrained BERT: what every token of a text attends to.

It has no output layer, so there are no steps, no ablations and no attributions.
"""

import torch

from jumok.errors import ConfigError
from jumok.inspection.trace import Axis
from jumok.shapes import Float, Tensor
from jumok.systems.bert import Bert
from jumok.tracing.adapters import AT_ITSELF, ModelAdapter
from jumok.tracing.checks import check_length
from jumok.tracing.forced import ForcedPass, Tracer, device_of
from jumok.tracing.request import TraceRequest


def force_nothing(system: Bert, text: str, request: TraceRequest) -> ForcedPass:
    """What every token attends to. Nothing is written: options and prefix have no effect.

    Raises:
        ConfigError: a target is given.
        DataError: the text has no word, or is longer than the model reads at once.
    """
    if request.target:
        raise ConfigError(
            "this model has no output layer.",
            got=f"{request.target!r}",
            do="leave the target out",
        )
    cut = system.cut(text)
    check_length(text, cut.ids[1:-1], system.max_tokens, "a shorter text")
    read = torch.tensor([cut.ids], device=device_of(system._model))

    def run(rows: int) -> Float[Tensor, "rows 0 1"]:
        return system._model.encoder(read.expand(rows, -1)).new_zeros(rows, 0, 1)

    axes = {"text": Axis(cut.pieces, cut.words, cut.texts)}
    return ForcedPass(run, text, [], text, axes=axes)


def _adapter(system: Bert, name: str) -> ModelAdapter:
    return ModelAdapter(system._model, "masked-lm", name, lambda *_: {}, sequences=AT_ITSELF)


BERT = Tracer(_adapter, force_nothing, recorded=False)
