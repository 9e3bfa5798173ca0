"""The traces of filling a text's gaps and of classifying it: what its words attend to."""

from collections.abc import Sequence
from dataclasses import replace

import torch

from jumok.attention.observe import heads_of
from jumok.data.tokenizer import END, START
from jumok.errors import DataError
from jumok.inspection.hooks.intervene import changed
from jumok.inspection.sites import Sequences, by_part
from jumok.inspection.trace import Trace
from jumok.systems.masked_model import MaskedModel
from jumok.systems.text_classifier import TextClassification
from jumok.tracing.axes import LogProbabilities, Names, steps_of, text_axis
from jumok.tracing.checks import check_length, check_tokens
from jumok.tracing.request import Tracer, TraceRequest
from jumok.tracing.watch import findings_of, look

MASK = "[MASK]"


AT_ITSELF = by_part({"encoder": Sequences("text", "text")})
"""Self-attention over the text: every word to every word."""


def trace_gaps(
    system: MaskedModel,
    text: str,
    asked: TraceRequest,
) -> Trace:
    """Traces what every word attends to, and what fills the gaps, written `[MASK]` or `___`.

    A step is a gap; a text without a gap has none.

    The target is for each gap the token whose probability is wanted, or one text of them; None:
    the most probable, which `MaskedModel.fill` would use. Nothing is written from left to right, so
    options and prefix have no effect.

    Raises:
        DataError: the text has no word, or is longer than the model reads at once; there is not
            one token for each gap.
        ModelError: there is no such head.
    """
    model, names = system.model, WithMask(system.tokenizer, system.model.mask)
    ids, opens = system.encode(text)
    check_length(text, ids, system.max_tokens)
    read = torch.tensor([[START, *ids, END]], device=model.encoder.embedding.table.device)
    gaps = [place for place, piece in enumerate(ids, start=1) if piece == model.mask]

    def run() -> LogProbabilities:
        return model.head(model.encoder(read)[0, gaps]).float().log_softmax(dim=-1)

    if asked.target is None:
        with changed(model, asked.change, heads_of(model)):
            likely = zip(run().exp().cpu(), opens, strict=True)
        filled = [int(system.fitting(row, opens_word, 1)[1]) for row, opens_word in likely]
    else:
        filled = _given(system, asked.target, len(gaps))
    looked = look(model, run, AT_ITSELF, filled, asked, names.pieces)
    places = iter(filled)
    whole = [next(places) if piece == model.mask else piece for piece in ids]
    return Trace(
        model=asked.name,
        fingerprint=system.fingerprint,
        task=system.task,
        level=asked.level,
        text=text,
        output=system.tokenizer.decode(whole),
        axes={"text": text_axis(names, ids, before=(START,), after=(END,))},
        sites=looked.watched.sites,
        walk=looked.walk,
        streams=looked.watched.streams,
        steps=steps_of(names.pieces, filled, looked.watched.result),
        findings=replace(findings_of(filled, looked), gaps=tuple(gaps)),
    )


def _given(system: MaskedModel, target: str | Sequence[int], gaps: int) -> list[int]:
    """The token that is wanted in each gap."""
    given = system.tokenizer.encode(target) if isinstance(target, str) else list(target)
    check_tokens(given, system.tokenizer.size)
    if len(given) != gaps:
        raise DataError(
            "every gap needs its token.", expected=f"{gaps} tokens", got=f"{len(given)}: {target}"
        )
    return given


class WithMask:
    """A tokenizer that can name MASK, too: the row after its last subword, and a word of its
    own."""

    def __init__(self, names: Names, mask: int) -> None:
        self._names, self._mask = names, mask

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Each id by its name."""
        return [MASK if id == self._mask else self._names.pieces([id])[0] for id in ids]

    def words(self, ids: Sequence[int]) -> list[int]:
        """For each id the index of its word, from 0."""
        words: list[int] = []
        run: list[int] = []
        for id in [*ids, self._mask]:
            if id != self._mask:
                run.append(id)
                continue
            first = words[-1] + 1 if words else 0
            words += [first + word for word in self._names.words(run)] if run else []
            words.append(words[-1] + 1 if words else 0)
            run = []
        return words[:-1]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of the ids."""
        return MASK if list(ids) == [self._mask] else self._names.decode(ids)


def trace_text_class(
    system: TextClassification,
    text: str,
    asked: TraceRequest,
) -> Trace:
    """Traces what every word attends to when the text is classified. The only step is the label.

    Only the beginning of a long text is read, as in `TextClassification.classify`.

    The target is the label whose probability is wanted, or [its index]; None: the most probable.
    Nothing is written, so options and prefix have no effect.

    Raises:
        DataError: the text has no word, or there is no such label.
        ModelError: there is no such head.
    """
    model, tokenizer = system.model, system.tokenizer
    ids = tokenizer.encode(text)[: system.max_tokens]
    check_length(text, ids, system.max_tokens)
    read = torch.tensor([[START, *ids, END]], device=model.encoder.embedding.table.device)

    def run() -> LogProbabilities:
        return model(read).float().log_softmax(dim=-1)

    said = label_of(asked.target, system.labels)
    looked = look(model, run, AT_ITSELF, said, asked)
    found = looked.watched.result
    said = said or [int(found.argmax())]
    return Trace(
        model=asked.name,
        fingerprint=system.fingerprint,
        task=system.task,
        level=asked.level,
        text=text,
        output=system.labels[said[0]],
        axes={"text": text_axis(tokenizer, ids, before=(START,), after=(END,))},
        sites=looked.watched.sites,
        walk=looked.walk,
        streams=looked.watched.streams,
        steps=steps_of(lambda numbers: [system.labels[each] for each in numbers], said, found),
        findings=findings_of(said, looked),
    )


def label_of(target: str | Sequence[int] | None, labels: Sequence[str]) -> list[int] | None:
    """The index of the given label, alone in a list; None if no label is given."""
    if target is None:
        return None
    if isinstance(target, str) and target in labels:
        return [labels.index(target)]
    if not isinstance(target, str) and len(target) == 1 and 0 <= target[0] < len(labels):
        return list(target)
    raise DataError("the model has no such label.", expected=", ".join(labels), got=str(target))


GAPS = Tracer(trace_gaps)


TEXT_CLASS = Tracer(trace_text_class)
