"""The trace of a BERT that somebody else trained: what every piece of a text looked at.

It says nothing, so no step, no worth and no word that mattered is found.
"""

from dataclasses import replace

import torch

from jumok.decoding import DecodingOptions
from jumok.errors import ConfigError
from jumok.inspection.trace import Axis, Trace
from jumok.systems.bert import Bert
from jumok.systems.tracing_parts import (
    LogProbabilities,
    TraceRequest,
    check_length,
    look,
    notes_of,
)
from jumok.systems.tracing_texts import at_itself

OPTIONS = DecodingOptions()
"""Nothing is searched."""


def trace_bert(
    system: Bert,
    text: str,
    asked: TraceRequest,
) -> Trace:
    """What every piece looked at. Nothing is written, so options and prefix count for nothing.

    Raises:
        ConfigError: a target is given.
        DataError: a text without a word, or longer than the model reads at once.
        ModelError: no such head.
    """
    if asked.target:
        raise ConfigError(
            "this model says nothing.", got=f"{asked.target!r}", do="leave the target out"
        )
    cut = system.cut(text)
    check_length(text, cut.ids[1:-1], system.max_tokens, "a shorter text")
    encoder = system.model.encoder
    read = torch.tensor([cut.ids], device=encoder.embedding.table.device)

    def run() -> LogProbabilities:
        states = encoder(read)
        return states.new_zeros(0, 1)

    # Worth to what, where nothing is said?
    asked = replace(asked, extras=replace(asked.extras, ablation=False))
    looked = look(system.model, run, at_itself, [], asked)
    return Trace(
        model=asked.name,
        fingerprint=system.fingerprint,
        task="masked-lm",
        level=asked.level,
        text=text,
        output=text,
        axes={"text": Axis(cut.pieces, cut.words, cut.texts)},
        sites=looked.watched.sites,
        streams=looked.watched.streams,
        steps=(),
        notes=notes_of([], looked) | {"gaps": []},
    )
