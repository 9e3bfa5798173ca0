"""Head cards of models of single texts, over a corpus.

Importance needs a loss. For a language model it is the negative log-probability of the text; for a
masked language model that of a seventh of its words, which are masked; for a classifier that of the
predicted label.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import TypeAlias

import torch
import torch.nn.functional as F
from torch import nn

from jumok.data.pairs.batches import fill
from jumok.data.texts.batches import MaskedBatch, batches_of_guesses, plain_batches
from jumok.data.texts.masking import Masking, word_starts
from jumok.data.tokenizer import END, PAD, START
from jumok.errors import DataError
from jumok.evaluation.agreement import TokenRows
from jumok.evaluation.heads.pairs import BATCHES_AHEAD
from jumok.inspection.heads.cards import AnyHeadCard
from jumok.inspection.heads.measures import HeadMeter, Pieces, mean_losses
from jumok.models.causal import CausalLanguageModel
from jumok.models.classifier import TextClassifier
from jumok.models.masked import MaskedLanguageModel
from jumok.shapes import Float, Int, Tensor
from jumok.systems.language_model import LanguageModel
from jumok.systems.masked_model import MaskedModel
from jumok.systems.text_classifier import TextClassification

TextSystem: TypeAlias = LanguageModel | MaskedModel | TextClassification
Pass = tuple[str, Int[Tensor, "batch length"], Callable[[], Float[Tensor, " batch"]]]
"""The site's part, the tokens that attend to one another, and what runs the model."""

TAKEN_OUT = 1 / 7


def text_head_cards_over(
    system: TextSystem, texts: Callable[[], Iterable[str]], batch_size: int = 64
) -> list[AnyHeadCard]:
    """A card for each head of the model.

    Args:
        texts: returns the corpus from its beginning; it is read twice, because rare tokens are
            known only after all are counted. A text that is too long is truncated.

    Raises:
        DataError: no text with a word.
    """
    model = system._model
    pairs = ((ids, ids) for chunk in _token_chunks(system, texts(), batch_size) for ids in chunk)
    meter = HeadMeter(model, Pieces.of(system.tokenizer, pairs))
    for chunk in _token_chunks(system, texts(), batch_size):
        for part, tokens, losses in _passes(system, model, chunk, batch_size):
            meter.watch({part: (tokens, tokens)}, losses)
    cards = meter.cards()
    if not cards:
        raise DataError("there is no text with a word.")
    return cards


def _token_chunks(
    system: TextSystem, texts: Iterable[str], batch_size: int
) -> Iterator[list[list[int]]]:
    limit = system.context if isinstance(system, LanguageModel) else system.max_tokens
    stream = iter(texts)
    while chunk := list(islice(stream, BATCHES_AHEAD * batch_size)):
        pieces = (system.tokenizer.encode(text)[: limit - 1] for text in chunk if text.strip())
        yield [ids for ids in pieces if ids]


def _passes(
    system: TextSystem, model: nn.Module, ids: TokenRows, batch_size: int
) -> Iterator[Pass]:
    device = next(model.parameters()).device
    if isinstance(model, CausalLanguageModel):
        order = sorted(ids, key=len)
        for first in range(0, len(order), batch_size):
            yield _continued(model, order[first : first + batch_size])
    elif isinstance(model, MaskedLanguageModel):
        assert isinstance(system, MaskedModel)
        opens = word_starts(system.tokenizer)
        masking = Masking(share=TAKEN_OUT, mask=1.0, random=0.0, whole_words=True, opens=opens)
        for batch in batches_of_guesses(ids, batch_size, masking):
            tokens = batch.tokens.to(device)
            yield "encoder", tokens, partial(guessing_losses, model, batch)
    else:
        assert isinstance(model, TextClassifier)
        for tokens, allowed, _ in plain_batches(ids, batch_size):
            tokens = tokens.to(device)
            real = None if allowed is None else allowed.to(device)
            yield "encoder", tokens, partial(_deciding_losses, model, tokens, real)


def _continued(model: CausalLanguageModel, ids: TokenRows) -> Pass:
    """A pass in which the model reads START and the tokens, and predicts the tokens and END."""
    device = model.decoder.embedding.table.device
    read, _ = fill([[START, *text] for text in ids])
    targets, _ = fill([[*text, END] for text in ids])
    tokens = torch.from_numpy(read).to(device)

    def losses() -> Float[Tensor, " batch"]:
        # Padding comes after all tokens, and no position attends to later ones.
        logits = model.decoder.logits(model.hidden(tokens))
        return mean_losses(logits, torch.from_numpy(targets).to(device))

    return "decoder", tokens, losses


def guessing_losses(model: MaskedLanguageModel, batch: MaskedBatch) -> Float[Tensor, " batch"]:
    """The mean negative log-probability of each text's masked tokens, in nats."""
    device = model.encoder.embedding.table.device
    chosen = batch.chosen.to(device)
    allowed = None if batch.allowed is None else batch.allowed.to(device)
    logits = model(batch.tokens.to(device), allowed)
    targets = torch.full_like(chosen, PAD, dtype=torch.long)
    targets[chosen] = batch.answers.to(device)
    return mean_losses(logits, targets)


def _deciding_losses(
    model: TextClassifier, tokens: Tensor, allowed: Tensor | None
) -> Float[Tensor, " batch"]:
    logits = model(tokens, allowed).float()
    return F.cross_entropy(logits, logits.detach().argmax(dim=1), reduction="none")
