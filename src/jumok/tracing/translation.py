"""The trace of a translator's decisions on one sentence."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import torch

from jumok.attention.observe import heads_of
from jumok.data.tokenizer import END, START, Tokenizer
from jumok.decoding.ensemble import join_memories
from jumok.inspection.findings import SearchTree
from jumok.inspection.gradients_and_occlusion import ForcedTarget, written_from
from jumok.inspection.hooks.intervene import changed
from jumok.inspection.sites import of_writers
from jumok.inspection.trace import Axis, Trace
from jumok.models.memory import SequenceToSequence
from jumok.shapes import Int, Tensor
from jumok.systems.catalog import open_model
from jumok.systems.loading import read_bundles
from jumok.systems.native.models import FURTHEST
from jumok.systems.translation.on_engine import EngineSearcher, choose_engine
from jumok.systems.translation.translator import DEFAULTS, Translator
from jumok.tracing.axes import steps_of, text_axis
from jumok.tracing.checks import check_length, check_tokens, given_tokens
from jumok.tracing.request import Tracer, TraceRequest
from jumok.tracing.search import searched
from jumok.tracing.watch import after_every_prefix, findings_of, look, word_attributions


def trace_translation(
    translator: Translator,
    text: str,
    asked: TraceRequest,
) -> Trace:
    """Traces what the model attends to while it translates `text`, or writes the target.

    If the system is an ensemble, its first model is traced; the translation is the ensemble's own.

    Raises:
        DataError: the text has no word, or is longer than the model reads at once.
        ModelError: the model has no attention, or not the heads that are named.
    """
    tokenizer, model = translator.tokenizer, translator.models[0]
    read = tokenizer.encode(text)
    check_length(text, read, translator.max_tokens)
    source = torch.tensor([[*read, END]], device=next(model.parameters()).device)
    if asked.target is None:
        with changed(model, asked.change, heads_of(model)):
            write, search = _searched(translator, source, asked)
    else:
        write, search = given_tokens(asked.target, tokenizer, translator.max_tokens), SearchTree()
    run = partial(after_every_prefix, model, source, write)
    written = [*write, END]
    looked = look(model, run, of_writers(), written, asked, tokenizer.pieces)
    axes = _axes(tokenizer, read, write)
    findings = replace(
        findings_of(write, looked, search),
        attribution=word_attributions(_told(model, source, write), looked, axes, asked),
        setting=translator.aligner.readings[0],
    )
    return Trace(
        model=asked.name,
        fingerprint=translator.fingerprint,
        task=translator.task,
        level=asked.level,
        text=text,
        output=tokenizer.decode(write),
        axes=axes,
        sites=looked.watched.sites,
        walk=looked.walk,
        streams=looked.watched.streams,
        steps=steps_of(tokenizer.pieces, written, looked.watched.result),
        findings=findings,
    )


def _axes(tokenizer: Tokenizer, read: list[int], write: list[int]) -> dict[str, Axis]:
    return {
        "source": text_axis(tokenizer, read, after=(END,)),
        "target": text_axis(tokenizer, write, before=(START,)),
    }


def _told(
    model: SequenceToSequence, source: Int[Tensor, "1 source"], write: list[int]
) -> ForcedTarget:
    """The translation as a target that can be forced."""
    tokens = torch.tensor([[START, *write]], device=source.device)
    return written_from(model, source, tokens, torch.tensor([*write, END], device=source.device))


def _searched(
    translator: Translator,
    source: Int[Tensor, "1 source"],
    asked: TraceRequest,
) -> tuple[list[int], SearchTree | None]:
    """The tokens of the best translation, and the tree of all hypotheses.

    Their attention weights are extracted by the alignment setting.
    """
    check_tokens(asked.prefix, translator.tokenizer.size)
    if asked.searcher is not None and not asked.change and not asked.extras.search_tree:
        return _searched_natively(asked.searcher, translator.longest_target, source, asked), None
    memories = [model.encode(source) for model in translator.models]
    memory = memories[0] if len(memories) == 1 else join_memories(memories)
    looks = translator.aligner.between_pieces if translator.aligner.aligns else None
    return searched(translator.decoder, memory, translator.tokenizer, asked, looks)


def _searched_natively(
    searcher: EngineSearcher,
    longest: int | None,
    source: Int[Tensor, "1 source"],
    asked: TraceRequest,
) -> list[int]:
    """The tokens of the best translation; a longer one than `longest` is cut."""
    most = min(asked.options.maximum_length, longest or FURTHEST, FURTHEST)
    options = replace(asked.options, maximum_length=most)
    prefixes = [list(asked.prefix)] if asked.prefix else None
    ((best, *_),) = searcher.read([source[0, :-1].tolist()]).search(options, prefixes)
    return list(best.tokens)


def load_searcher(*folders: Path | str, device: str = "auto") -> EngineSearcher | None:
    """The native engine in float32, to search for what these models write (`TraceRequest`).

    None: they do not translate, or torch computes, because the engine does not serve them or there
    is a GPU.

    Raises:
        BundleError: a bundle is missing, damaged or unsafe, or its task is not known.
    """
    opened = open_model(*folders)
    if opened.task != Translator.task:
        return None
    bundles = read_bundles(opened.parts, Translator.task)
    if not choose_engine(bundles, device, "fp32", "auto").native:
        return None
    return Translator.load(*bundles, precision="fp32", engine="native", threads=1).engine


TRANSLATION = Tracer(trace_translation, DEFAULTS)
