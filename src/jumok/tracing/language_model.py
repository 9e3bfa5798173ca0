"""The trace of a causal language model: what the tokens of prompt and continuation attend to."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import torch

from jumok.data.tokenizer import START
from jumok.decoding import DecodingOptions
from jumok.decoding.torch_stepper import decode
from jumok.inspection.findings import SearchTree, TraceFindings
from jumok.inspection.gradients_and_occlusion import written_alone
from jumok.shapes import Float, Tensor
from jumok.systems.language_model import LanguageModel
from jumok.tracing.adapters import language_adapter
from jumok.tracing.forced import ForcedPass, Tracer, device_of
from jumok.tracing.request import TraceRequest, check_length, check_tokens, given_tokens
from jumok.tracing.search_tree import search_with_tree

MOST_CONTINUED = 24
"""The default number of tokens that are written after a prompt."""


def force_continuation(system: LanguageModel, text: str, request: TraceRequest) -> ForcedPass:
    """The prompt `text` and its continuation by the model, or the target.

    The search is for what follows the prompt; the steps are of all tokens, the prompt's too, as
    the model predicts each of them. `options.maximum_length` limits the continuation's tokens, with
    `MOST_CONTINUED` as the default.

    Raises:
        DataError: the prompt and its continuation are longer than the model's context.
    """
    tokenizer, model = system.tokenizer, system._model
    prompt, room = tokenizer.encode(text), system.context - 1  # for START
    check_length(text or "(nothing)", prompt or [START], room, "a shorter text")
    search: SearchTree | None = SearchTree()
    if request.target is None:
        write, search = _search_continuation(system, prompt, request)
    else:
        write = given_tokens(request.target, tokenizer, room - len(prompt), "a shorter text")
    tokens = [*prompt, *write]
    read = torch.tensor([[START, *tokens]], device=device_of(model))

    def run(rows: int) -> Float[Tensor, "rows positions vocabulary"]:
        logits = model.decoder.logits(model.hidden(read.expand(rows, -1)))
        return logits[:, :-1].float().log_softmax(dim=-1)

    return ForcedPass(
        run,
        text,
        tokens,
        tokenizer.decode(tokens)[len(tokenizer.decode(prompt)) :],
        TraceFindings(written=tuple(write), search=search, prompt=len(prompt), own_rows=True),
        target=lambda _: written_alone(model.decoder, model.hidden, [START, *tokens]),
    )


def _search_continuation(
    system: LanguageModel,
    prompt: Sequence[int],
    request: TraceRequest,
) -> tuple[list[int], SearchTree | None]:
    """What is written after the prompt, and the tree of all hypotheses there."""
    check_tokens(request.prefix, system.tokenizer.size)
    room = system.context - 1 - len(prompt)
    longest = len(prompt) + min(request.options.maximum_length, MOST_CONTINUED, room)
    options = replace(
        request.options, minimum_length=0, maximum_length=max(longest, 1), maximum_ratio=None
    )
    begun = replace(request, options=options, prefix=[*prompt, *request.prefix])
    model = system._model
    search = partial(decode, model.decoder, model.nothing())
    whole, tree = search_with_tree(search, system.tokenizer, begun)
    return whole[len(prompt) :], tree


LANGUAGE_MODEL = Tracer(
    lambda system, name: language_adapter(system._model, name, system.tokenizer),
    force_continuation,
    DecodingOptions(beam=1, maximum_length=MOST_CONTINUED),
)
