"""The trace of a BERT that somebody else trained: what every piece of a text looked at.

It says nothing, so no step, no worth and no word that mattered is found.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch

from jumok.decoding import DecodingOptions
from jumok.errors import ConfigError
from jumok.inspection.intervene import UNCHANGED, Change
from jumok.inspection.trace import Axis, Level, Trace
from jumok.systems.bert import Bert
from jumok.systems.tracing_parts import (
    EVERYTHING,
    LEVEL,
    Extras,
    LogProbabilities,
    check_length,
    look,
    notes_of,
)
from jumok.systems.tracing_texts import DEFAULTS, at_itself


@torch.inference_mode()
def trace_bert(
    system: Bert,
    text: str,
    target: str | Sequence[int] | None = None,
    options: DecodingOptions = DEFAULTS,  # noqa: ARG001
    *,
    level: Level = LEVEL,
    change: Change = UNCHANGED,
    prefix: Sequence[int] = (),  # noqa: ARG001
    extras: Extras = EVERYTHING,
    name: str = "model",
) -> Trace:
    """What every piece looked at.

    Args:
        options, prefix: count for nothing, as nothing is written.
        level, change, extras, name: as in `trace_translation`.

    Raises:
        ConfigError: a target is given.
        DataError: a text without a word, or longer than the model reads at once.
        ModelError: no such head.
    """
    if target:
        raise ConfigError("this model says nothing.", got=f"--target {target}", do="leave it out")
    cut = system.cut(text)
    check_length(text, cut.ids[1:-1], system.max_tokens, "a shorter text")
    encoder = system.model.encoder
    read = torch.tensor([cut.ids], device=encoder.embedding.table.device)

    def run() -> LogProbabilities:
        states = encoder(read)
        return states.new_zeros(0, 1)

    extras = replace(extras, worth=False)  # to what, where nothing is said?
    looked = look(system.model, run, at_itself, [], level=level, change=change, extras=extras)
    return Trace(
        model=name,
        fingerprint=system.fingerprint,
        task="masked-lm",
        level=level,
        text=text,
        output=text,
        axes={"text": Axis(cut.pieces, cut.words, cut.texts)},
        sites=looked.watched.sites,
        streams=looked.watched.streams,
        steps=(),
        notes=notes_of([], looked) | {"gaps": []},
    )
