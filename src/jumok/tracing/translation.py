"""The trace of a translator's decisions on one sentence."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import torch

from jumok.data.tokenizer import END, START
from jumok.decoding.options import FOR_TRANSLATION
from jumok.decoding.torch_stepper import lengths_of
from jumok.inspection.findings import SearchTree, TraceFindings
from jumok.inspection.gradients_and_occlusion import ForcedTarget, written_from
from jumok.models.memory import SequenceToSequence
from jumok.shapes import Int, Tensor
from jumok.systems.catalog import OpenedModel
from jumok.systems.loading import read_bundles
from jumok.systems.native.models import FURTHEST
from jumok.systems.translation.on_engine import EngineSearcher, choose_engine
from jumok.systems.translation.on_torch import stepper_of
from jumok.systems.translation.translator import Translator
from jumok.tracing.adapters import ModelAdapter, writer_adapter
from jumok.tracing.checks import check_length, check_tokens, given_tokens
from jumok.tracing.forced import ForcedPass, Tracer, after_every_prefix, device_of
from jumok.tracing.request import TraceRequest
from jumok.tracing.search import searched


def force_translation(translator: Translator, text: str, request: TraceRequest) -> ForcedPass:
    """The translation of `text` by the model, or the target.

    If the system is an ensemble, its first model is traced; the translation is the ensemble's own.

    Raises:
        DataError: the text has no word, or is longer than the model reads at once.
    """
    tokenizer, model = translator.tokenizer, translator._models[0]
    read = tokenizer.encode(text)
    check_length(text, read, translator.max_tokens)
    source = torch.tensor([[*read, END]], device=device_of(model))
    search: SearchTree | None = SearchTree()
    if request.target is None:
        write, search = _searched(translator, source, request)
    else:
        write = given_tokens(request.target, tokenizer, translator.max_tokens)
    return ForcedPass(
        partial(after_every_prefix, model, source, write),
        text,
        [*write, END],
        tokenizer.decode(write),
        TraceFindings(written=tuple(write), search=search),
        target=partial(_target, model, source, write),
    )


def _target(
    model: SequenceToSequence, source: Int[Tensor, "1 source"], write: list[int]
) -> ForcedTarget:
    """The translation as a target that can be forced."""
    tokens = torch.tensor([[START, *write]], device=source.device)
    return written_from(model, source, tokens, torch.tensor([*write, END], device=source.device))


def _searched(
    translator: Translator,
    source: Int[Tensor, "1 source"],
    request: TraceRequest,
) -> tuple[list[int], SearchTree | None]:
    """The tokens of the best translation, and the tree of all hypotheses.

    Their attention weights are extracted by the alignment setting.
    """
    check_tokens(request.prefix, translator.tokenizer.size)
    if request.searcher is not None and not request.change and not request.extras.search_tree:
        return _searched_natively(
            request.searcher, translator.longest_target, source, request
        ), None
    memories = [model.encode(source) for model in translator._models]
    aligner = translator._aligner

    def looks(paths: Sequence[Sequence[int]]) -> Tensor:
        rows = torch.zeros(len(paths), dtype=torch.long, device=source.device)
        return aligner.between_pieces([memory.select(rows) for memory in memories], paths)

    (length,) = lengths_of(memories[0])
    stepper = stepper_of(translator._models, memories)
    return searched(
        stepper, length, translator.tokenizer, request, looks if aligner.aligns else None
    )


def _searched_natively(
    searcher: EngineSearcher,
    longest: int | None,
    source: Int[Tensor, "1 source"],
    request: TraceRequest,
) -> list[int]:
    """The tokens of the best translation; a longer one than `longest` is cut."""
    most = min(request.options.maximum_length, longest or FURTHEST, FURTHEST)
    options = replace(request.options, maximum_length=most)
    prefixes = [list(request.prefix)] if request.prefix else None
    ((best, *_),) = searcher.read([source[0, :-1].tolist()]).search(options, prefixes)
    return list(best.tokens)


def load_searcher(opened: OpenedModel, device: str = "auto") -> EngineSearcher | None:
    """The native engine in float32, to search for what these models write (`TraceRequest`).

    None: they do not translate, or torch computes, because the engine does not serve them or there
    is a GPU.

    Raises:
        BundleError: the bundles are not all for translation.
    """
    if opened.task != Translator.task:
        return None
    bundles = read_bundles(opened.parts, Translator.task)
    if not choose_engine(bundles, device, "fp32", "auto").native:
        return None
    return Translator.load(*bundles, precision="fp32", engine="native", threads=1).engine


def _adapter(translator: Translator, name: str) -> ModelAdapter:
    setting = translator._aligner.readings[0]
    return writer_adapter(translator._models[0], name, translator.tokenizer, setting)


TRANSLATION = Tracer(_adapter, force_translation, FOR_TRANSLATION)
