"""The trace of a translator's decisions on one sentence."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import torch

from jumok.alignment.words import Weights
from jumok.data.tokenizer import END, START
from jumok.decoding.options import FOR_TRANSLATION
from jumok.inspection.findings import SearchTree, TraceFindings
from jumok.inspection.gradients_and_occlusion import ForcedTarget, written_from
from jumok.models.memory import SequenceToSequence
from jumok.shapes import Int, Tensor
from jumok.systems.catalog import OpenedModel
from jumok.systems.loading import read_bundles
from jumok.systems.native.models import LONGEST_TARGET, choose_engine
from jumok.systems.translation.on_engine import EngineSearcher
from jumok.systems.translation.on_torch import TorchSearcher
from jumok.systems.translation.searching import Searcher
from jumok.systems.translation.translator import Translator
from jumok.tracing.adapters import ModelAdapter, writer_adapter
from jumok.tracing.forced import ForcedPass, Tracer, after_every_prefix, device_of
from jumok.tracing.request import TraceRequest, check_length, check_tokens, given_tokens
from jumok.tracing.search_tree import search_with_tree


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
        write, search = _search_translation(translator, read, request)
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
    tokens = torch.tensor([[START, *write]], device=source.device)
    return written_from(model, source, tokens, torch.tensor([*write, END], device=source.device))


def _search_translation(
    translator: Translator, read: Sequence[int], request: TraceRequest
) -> tuple[list[int], SearchTree | None]:
    """The tokens of the best translation, and the tree of all hypotheses."""
    check_tokens(request.prefix, translator.tokenizer.size)
    searcher: Searcher = TorchSearcher(translator, translator._aligner)
    if request.searcher is not None and not request.change:
        searcher = request.searcher
        most = min(
            request.options.maximum_length,
            translator.longest_target or LONGEST_TARGET,
            LONGEST_TARGET,
        )
        request = replace(request, options=replace(request.options, maximum_length=most))
    sources = searcher.read([read])
    if searcher.name == "native" and not request.extras.search_tree:
        prefixes = [list(request.prefix)] if request.prefix else None
        ((best, *_),) = sources.search(request.options, prefixes)  # in C, which reports no steps
        return list(best.tokens), None

    def attention(paths: Sequence[Sequence[int]]) -> Sequence[Weights]:
        return sources.select([0] * len(paths)).attention(paths)

    attended = attention if translator._aligner.aligns else None
    return search_with_tree(sources.search, translator.tokenizer, request, attended)


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


def _translation_adapter(translator: Translator, name: str) -> ModelAdapter:
    setting = translator._aligner.readings[0]
    return writer_adapter(translator._models[0], name, translator.tokenizer, setting)


TRANSLATION = Tracer(_translation_adapter, force_translation, FOR_TRANSLATION)
