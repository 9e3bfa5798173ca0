"""What a causal language model looked at in a prompt and in what it wrote after it, as a trace."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from jumok.data.tokenizer import START
from jumok.decoding import DecodingOptions
from jumok.inspection.capture import Edge, heads_of
from jumok.inspection.influence import written_alone
from jumok.inspection.intervene import UNCHANGED, Change, changed
from jumok.inspection.trace import Level, Trace
from jumok.systems.language_model import LanguageModel
from jumok.systems.tracing_parts import (
    EVERYTHING,
    LEVEL,
    Extras,
    LogProbabilities,
    check_length,
    check_pieces,
    given_pieces,
    look,
    notes_of,
    searched,
    steps_of,
    text_axis,
    words_worth,
)

MOST_WRITTEN = 24
"""Tokens that are written after a prompt, where nobody says how many."""

DEFAULTS = DecodingOptions(beam=1, maximum_length=MOST_WRITTEN)


OWN_ROW = {"at_input": True}
"""Where a word's map is read: it stands for itself, not for the one before it, which wrote it."""


def at_what_was_written(_: str) -> Edge:
    """Every token at itself and those before it."""
    return Edge("decoder", "text", "text")


@torch.inference_mode()
def trace_language_model(
    system: LanguageModel,
    text: str,
    target: str | Sequence[int] | None = None,
    options: DecodingOptions = DEFAULTS,
    *,
    level: Level = LEVEL,
    change: Change = UNCHANGED,
    prefix: Sequence[int] = (),
    extras: Extras = EVERYTHING,
    name: str = "model",
) -> Trace:
    """What every token looked at: those of the prompt `text`, and those that were written after it.

    The search is for what follows the prompt; the steps are of all tokens, the prompt's too, as
    the model has an opinion on each of them.

    Args:
        target: how the text goes on, as a text or as tokens; None: as the model would have it.
            `options.maximum_length` counts what is written, and `MOST_WRITTEN` is the most.
        options, level, change, prefix, extras, name: as in `trace_translation`.

    Raises:
        DataError: a prompt and a text after it that are longer than the model's context.
        ModelError: no such head.
    """
    tokenizer, model, names = system.tokenizer, system.model, system.tokenizer.pieces
    prompt, room = tokenizer.encode(text), system.context - 1  # for START
    check_length(text or "(nothing)", prompt or [START], room, "a shorter text")
    search: dict[str, Any] = {}
    if target is None:
        with changed(model, change, heads_of(model)):
            write, search = _searched(system, prompt, options, prefix, extras)
    else:
        write = given_pieces(target, tokenizer, room - len(prompt), "a shorter text")
    tokens = [*prompt, *write]

    def run() -> LogProbabilities:
        read = torch.tensor([[START, *tokens]], device=model.decoder.embedding.table.device)
        return model.decoder.logits(model.hidden(read))[0, :-1].float().log_softmax(dim=-1)

    looked = look(
        model, run, at_what_was_written, tokens, names, level=level, change=change, extras=extras
    )
    axes = {"text": text_axis(tokenizer, tokens, before=(START,))}
    told = written_alone(model.decoder, model.hidden, [START, *tokens])
    notes = notes_of(write, looked, search) | words_worth(told, looked, axes, change, extras)
    return Trace(
        model=name,
        fingerprint=system.fingerprint,
        task="language-model",
        level=level,
        text=text,
        output=tokenizer.decode(tokens)[len(tokenizer.decode(prompt)) :],
        axes=axes,
        sites=looked.watched.sites,
        streams=looked.watched.streams,
        steps=steps_of(names, tokens, looked.watched.result),
        notes=notes | {"prompt": len(prompt), "reading": OWN_ROW},
    )


def _searched(
    system: LanguageModel,
    prompt: Sequence[int],
    options: DecodingOptions,
    prefix: Sequence[int],
    extras: Extras,
) -> tuple[list[int], dict[str, Any]]:
    """What is written after the prompt, and the tree of all that was weighed there."""
    check_pieces(prefix, system.tokenizer.size)
    room = system.context - 1 - len(prompt)
    longest = len(prompt) + min(options.maximum_length, MOST_WRITTEN, room)
    whole, search = searched(
        system.model.decoder,
        system.model.nothing(),
        system.tokenizer,
        replace(options, minimum_length=0, maximum_length=max(longest, 1), maximum_ratio=None),
        [*prompt, *prefix],
        None,
        extras,
    )
    return whole[len(prompt) :], search
