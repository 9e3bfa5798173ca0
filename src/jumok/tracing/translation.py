"""The trace of a translator's decisions on one segment of a text."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import torch

from jumok.alignment.words import Weights
from jumok.computation import cancel_scope
from jumok.data.tokenizer import END, START
from jumok.decoding.options import FOR_TRANSLATION
from jumok.errors import DataError
from jumok.inspection.findings import SearchTree, TraceFindings
from jumok.inspection.gradients_and_occlusion import ForcedTarget, written_from
from jumok.models.memory import SequenceToSequence
from jumok.shapes import Int, Tensor
from jumok.systems.translation.cutting import CutLines
from jumok.systems.translation.segments import Segment
from jumok.systems.translation.translator import Translator
from jumok.tracing.adapters import ModelAdapter, writer_adapter
from jumok.tracing.forced import ForcedPass, Tracer, after_every_prefix, device_of
from jumok.tracing.frequent import frequent_words
from jumok.tracing.request import TraceRequest, check_length, check_tokens, given_tokens
from jumok.tracing.search_tree import search_with_tree


def force_translation(translator: Translator, text: str, request: TraceRequest) -> ForcedPass:
    """A segment of `text` with its part of the translation, or the target.

    The output is the translation of the whole text, as `Translator.translate` returns it. If the
    system is an ensemble, its first model is traced; the translation is the ensemble's own.

    Raises:
        DataError: the text has no segment, or no such one; it is read whole, for a target, and is
            longer than the model reads at once.
    """
    tokenizer, model = translator.tokenizer, translator._models[0]
    if request.target is not None and request.segment is None:
        cut, number = CutLines.whole(text, tokenizer.encode(text)), None
    else:
        cut = translator.cut([text])
        number = _chosen(cut.parts, request.segment)
    part = cut.parts[number or 0] if cut.parts else Segment(0, [])
    search: SearchTree | None = SearchTree()
    if request.target is None:
        output, write, search = _search_translation(translator, cut, number or 0, request)
        copied = bool(output) and not part.ids
    else:
        copied = False
        write = given_tokens(request.target, tokenizer.target, translator.max_tokens)
        output = tokenizer.decode(write)
    if not copied:
        check_length(text, part.ids, translator.max_tokens)
    source = torch.tensor([[*part.ids, END]], device=device_of(model))
    return ForcedPass(
        partial(after_every_prefix, model, source, write),
        text,
        [*write, END],
        output,
        TraceFindings(
            written=tuple(write),
            search=search,
            frequent=frequent_words(tokenizer, part.ids),
            unseen=tuple(translator.judge.unknown_words(tokenizer.decode(part.ids))),
        ),
        target=lambda _: _target(model, source, write),
        copied=copied,
        segment=number,
        segments=max(len(cut.parts), 1),
    )


def _chosen(parts: Sequence[Segment], wanted: int | None) -> int:
    """The segment that is wanted, or the first that is read."""
    if wanted is None:
        return next((number for number, part in enumerate(parts) if part.ids), 0)
    last = max(len(parts) - 1, 0)
    if not 0 <= wanted <= last:
        raise DataError("the text has no such segment.", expected=f"0 to {last}", got=str(wanted))
    return wanted


def _target(
    model: SequenceToSequence, source: Int[Tensor, "1 source"], write: list[int]
) -> ForcedTarget:
    tokens = torch.tensor([[START, *write]], device=source.device)
    return written_from(model, source, tokens, torch.tensor([*write, END], device=source.device))


def _search_translation(
    translator: Translator, cut: CutLines, number: int, request: TraceRequest
) -> tuple[str, list[int], SearchTree | None]:
    """The translation of the text, the segment's tokens of it, and the tree of all hypotheses for
    these: empty if the search alone did not write them.
    """
    tokenizer, options = translator.tokenizer, translator.settled(request.options)
    check_tokens(request.prefix, tokenizer.size)
    opening = tokenizer.target.opening
    request = replace(request, options=options, prefix=request.prefix or opening)
    forced = None
    if request.prefix:
        own = range(len(cut.parts))
        forced = [list(request.prefix if at == number else opening) for at in own]
    with cancel_scope(request.extras.check_cancelled):
        written = translator.write(cut, options, forced, alignments=cut.tagged)
    (answer,) = cut.joined(written, None if options.sample else options.nbest, False)
    if not cut.parts or not cut.parts[number].ids:
        return answer.text, [], None
    best = tokenizer.ids(written[number][0].tokens)
    if not request.extras.search_tree:
        return answer.text, best, None
    sources = translator.searcher_for(options).read([cut.parts[number].ids])

    def attention(paths: Sequence[Sequence[int]]) -> Sequence[Weights]:
        return sources.select([0] * len(paths)).attention(paths)

    attended = attention if translator.aligns else None
    found, tree = search_with_tree(sources.search, tokenizer, request, attended)
    return answer.text, best, tree if found == best else SearchTree()


def _translation_adapter(translator: Translator, name: str) -> ModelAdapter:
    setting = translator._aligner.readings[0]
    return writer_adapter(translator._models[0], name, translator.tokenizer, setting)


TRANSLATION = Tracer(_translation_adapter, force_translation, FOR_TRANSLATION)
