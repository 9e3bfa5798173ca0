"""The trace of a pretrained BERT: what every token of a text attends to.

It has no output layer, so there are no steps, no ablations and no attributions.
"""

from dataclasses import replace

import torch

from jumok.errors import ConfigError
from jumok.inspection.trace import Axis, Trace
from jumok.systems.bert import Bert
from jumok.tracing.axes import LogProbabilities
from jumok.tracing.checks import check_length
from jumok.tracing.request import Tracer, TraceRequest
from jumok.tracing.texts import AT_ITSELF
from jumok.tracing.watch import findings_of, look


def trace_bert(
    system: Bert,
    text: str,
    asked: TraceRequest,
) -> Trace:
    """Traces what every token attends to. Nothing is written: options and prefix have no effect.

    Raises:
        ConfigError: a target is given.
        DataError: the text has no word, or is longer than the model reads at once.
        ModelError: there is no such head.
    """
    if asked.target:
        raise ConfigError(
            "this model has no output layer.", got=f"{asked.target!r}", do="leave the target out"
        )
    cut = system.cut(text)
    check_length(text, cut.ids[1:-1], system.max_tokens, "a shorter text")
    encoder = system.model.encoder
    read = torch.tensor([cut.ids], device=encoder.embedding.table.device)

    def run() -> LogProbabilities:
        states = encoder(read)
        return states.new_zeros(0, 1)

    # Without predictions there is nothing that heads could have an effect on.
    asked = replace(asked, extras=replace(asked.extras, ablation=False))
    looked = look(system.model, run, AT_ITSELF, [], asked)
    return Trace(
        model=asked.name,
        fingerprint=system.fingerprint,
        task="masked-lm",
        level=asked.level,
        text=text,
        output=text,
        axes={"text": Axis(cut.pieces, cut.words, cut.texts)},
        sites=looked.watched.sites,
        walk=looked.walk,
        streams=looked.watched.streams,
        steps=(),
        findings=findings_of([], looked),
    )


BERT = Tracer(trace_bert)
