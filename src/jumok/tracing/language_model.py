"""The trace of a causal language model: what the tokens of prompt and continuation attend to."""

from collections.abc import Sequence
from dataclasses import replace

import torch

from jumok.attention.observe import heads_of
from jumok.data.tokenizer import START
from jumok.decoding import DecodingOptions
from jumok.inspection.findings import SearchTree
from jumok.inspection.gradients_and_occlusion import written_alone
from jumok.inspection.hooks.intervene import changed
from jumok.inspection.sites import Sequences, by_part
from jumok.inspection.trace import Trace
from jumok.systems.language_model import LanguageModel
from jumok.tracing.axes import LogProbabilities, steps_of, text_axis
from jumok.tracing.checks import check_length, check_tokens, given_tokens
from jumok.tracing.request import Tracer, TraceRequest
from jumok.tracing.search import searched
from jumok.tracing.watch import findings_of, look, word_attributions

MOST_WRITTEN = 24
"""The default number of tokens that are written after a prompt."""


AT_WHAT_WAS_WRITTEN = by_part({"decoder": Sequences("text", "text")})
"""Self-attention over the text: every token to itself and those before it."""


def trace_language_model(
    system: LanguageModel,
    text: str,
    asked: TraceRequest,
) -> Trace:
    """Traces what every token attends to: those of the prompt `text`, and of its continuation.

    The search is for what follows the prompt; the steps are of all tokens, the prompt's too, as
    the model predicts each of them.

    The target is the continuation of the text; `options.maximum_length` limits its tokens, with
    `MOST_WRITTEN` as the default.

    Raises:
        DataError: the prompt and its continuation are longer than the model's context.
        ModelError: there is no such head.
    """
    tokenizer, model, names = system.tokenizer, system.model, system.tokenizer.pieces
    prompt, room = tokenizer.encode(text), system.context - 1  # for START
    check_length(text or "(nothing)", prompt or [START], room, "a shorter text")
    search: SearchTree | None = SearchTree()
    if asked.target is None:
        with changed(model, asked.change, heads_of(model)):
            write, search = _searched(system, prompt, asked)
    else:
        write = given_tokens(asked.target, tokenizer, room - len(prompt), "a shorter text")
    tokens = [*prompt, *write]

    def run() -> LogProbabilities:
        read = torch.tensor([[START, *tokens]], device=model.decoder.embedding.table.device)
        return model.decoder.logits(model.hidden(read))[0, :-1].float().log_softmax(dim=-1)

    looked = look(model, run, AT_WHAT_WAS_WRITTEN, tokens, asked, names)
    axes = {"text": text_axis(tokenizer, tokens, before=(START,))}
    told = written_alone(model.decoder, model.hidden, [START, *tokens])
    findings = replace(
        findings_of(write, looked, search),
        attribution=word_attributions(told, looked, axes, asked),
        prompt=len(prompt),
        own_rows=True,
    )
    return Trace(
        model=asked.name,
        fingerprint=system.fingerprint,
        task=system.task,
        level=asked.level,
        text=text,
        output=tokenizer.decode(tokens)[len(tokenizer.decode(prompt)) :],
        axes=axes,
        sites=looked.watched.sites,
        walk=looked.walk,
        streams=looked.watched.streams,
        steps=steps_of(names, tokens, looked.watched.result),
        findings=findings,
    )


def _searched(
    system: LanguageModel,
    prompt: Sequence[int],
    asked: TraceRequest,
) -> tuple[list[int], SearchTree | None]:
    """What is written after the prompt, and the tree of all hypotheses there."""
    check_tokens(asked.prefix, system.tokenizer.size)
    room = system.context - 1 - len(prompt)
    longest = len(prompt) + min(asked.options.maximum_length, MOST_WRITTEN, room)
    options = replace(
        asked.options, minimum_length=0, maximum_length=max(longest, 1), maximum_ratio=None
    )
    begun = replace(asked, options=options, prefix=[*prompt, *asked.prefix])
    model = system.model
    whole, search = searched(model.decoder, model.nothing(), system.tokenizer, begun)
    return whole[len(prompt) :], search


LANGUAGE_MODEL = Tracer(trace_language_model, DecodingOptions(beam=1, maximum_length=MOST_WRITTEN))
