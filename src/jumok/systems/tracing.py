"""A translator's decisions on one sentence, as a trace."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import torch

from jumok.data.tokenizer import END, START, Tokenizer
from jumok.decoding import DecodingOptions, decode
from jumok.decoding.ensemble import join_memories
from jumok.errors import DataError
from jumok.inspection.capture import capture, heads_of
from jumok.inspection.intervene import Heads, switched_off, without_each_head
from jumok.inspection.theatre import Theatre
from jumok.inspection.trace import Axis, Level, Step, Trace
from jumok.shapes import Float, Int, Tensor
from jumok.systems.translator import DEFAULTS, Translator

BEST = 5
LEVEL: Level = "qk"


@torch.inference_mode()
def trace_translation(
    translator: Translator,
    text: str,
    target: str | Sequence[int] | None = None,
    options: DecodingOptions = DEFAULTS,
    *,
    level: Level = LEVEL,
    off: Heads | None = None,
    prefix: Sequence[int] = (),
    worth: bool = True,
    name: str = "model",
) -> Trace:
    """What the model looked at while it translated `text`, or would while it writes `target`.

    Of an ensemble the first model is traced; the translation is the ensemble's own.

    Args:
        target: a text, or its pieces; None: the model's own translation.
        level: "qk" keeps queries, keys and values besides the weights.
        prefix: pieces that the translation has to begin with.
        worth: find out what every head is worth, in a pass for each; never while some are off.
        off: heads that are switched off meanwhile, by the path of their site.
        name: what the trace calls the model.

    Raises:
        DataError: a text without a word, or longer than the model reads at once.
    """
    tokenizer = translator.tokenizer
    read = tokenizer.encode(text)
    _check(text, read, translator.max_tokens)
    model = translator.models[0]
    device = next(model.parameters()).device
    source = torch.tensor([[*read, END]], device=device)
    count = heads_of(model, source)
    with switched_off(model, off or {}, count):
        if target is None:
            write, search = _searched(translator, source, options, prefix)
        else:
            write, search = _given(translator, target), {}
        tokens = torch.tensor([[START, *write]], device=device)
        sites, log_probabilities = capture(model, source, tokens, level)
    written = torch.tensor([*write, END], device=device)
    changes = {}
    if worth and not off:
        changes = without_each_head(model, source, tokens, written, count)
    return Trace(
        model=name,
        level=level,
        text=text,
        output=tokenizer.decode(write),
        axes={
            "source": _axis(tokenizer, read, before=(), after=(END,)),
            "target": _axis(tokenizer, write, before=(START,), after=()),
        },
        sites=sites,
        steps=_steps(tokenizer, [*write, END], log_probabilities),
        notes=_notes(translator, write, search, changes),
    )


def _notes(
    translator: Translator,
    write: list[int],
    search: dict[str, Any],
    changes: Mapping[str, Float[Tensor, "heads target"]],
) -> dict[str, Any]:
    """What the page needs besides: where alignments are read, the pieces, the tree, the heads."""
    reading = translator.aligner.readings[0]
    return {
        **({"reading": asdict(reading)} if reading else {}),
        "written": write,
        "search": search,
        "without": {site: change.tolist() for site, change in changes.items()},
    }


def _searched(
    translator: Translator,
    source: Int[Tensor, "1 source"],
    options: DecodingOptions,
    prefix: Sequence[int],
) -> tuple[list[int], dict[str, Any]]:
    """The pieces of the best translation, and the tree of all that were weighed.

    Each leaf of the tree comes with what its pieces looked at, where the model's alignments are
    read; the hypotheses before it are the first rows of that.
    """
    _check_pieces(prefix, translator.tokenizer.size)
    memories = [model.encode(source) for model in translator.models]
    memory = memories[0] if len(memories) == 1 else join_memories(memories)
    theatre = Theatre()
    prefixes = [list(prefix)] if prefix else None
    (best, *_), *_ = decode(translator.decoder, memory, options, prefixes, watch=theatre)
    leaves = theatre.leaves()
    paths = [[piece for piece in theatre.path(leaf) if piece != END] for leaf in leaves]
    rows = torch.zeros(len(paths), dtype=torch.long, device=source.device)
    weights = translator.aligner.between_pieces(memory.select(rows), paths)
    shown = [
        {"node": leaf, "weights": weights[row, : len(path)].tolist()}
        for row, (leaf, path) in enumerate(zip(leaves, paths, strict=True))
    ]
    tokens = translator.tokenizer.pieces([node.token for node in theatre.nodes])
    nodes = [fact | {"piece": piece} for fact, piece in zip(theatre.facts(), tokens, strict=True)]
    return list(best.tokens), {"nodes": nodes, "leaves": shown}


def _given(translator: Translator, target: str | Sequence[int]) -> list[int]:
    """The pieces of a translation that was not searched for."""
    tokenizer = translator.tokenizer
    write = tokenizer.encode(target) if isinstance(target, str) else list(target)
    _check(str(target), write, translator.max_tokens)
    _check_pieces(write, tokenizer.size)
    return write


def _check(text: str, ids: Sequence[int], limit: int) -> None:
    if not ids or len(ids) > limit:
        raise DataError(
            "this text cannot be looked at in one piece.",
            expected=f"at least one word and at most {limit} pieces",
            got=f"{len(ids)} pieces: {text[:60]!r}",
            do="give one sentence",
        )


def _check_pieces(ids: Sequence[int], size: int) -> None:
    if not all(0 <= piece < size for piece in ids):
        raise DataError(
            "the tokenizer has no such piece.", expected=f"0 to {size - 1}", got=f"{ids}"
        )


def _axis(
    tokenizer: Tokenizer, ids: Sequence[int], before: tuple[int, ...], after: tuple[int, ...]
) -> Axis:
    words = tokenizer.words(ids)
    groups: dict[int, list[int]] = {}
    for word, piece in zip(words, ids, strict=True):
        groups.setdefault(word, []).append(piece)
    return Axis(
        tokens=tuple(tokenizer.pieces([*before, *ids, *after])),
        words=(*(None for _ in before), *words, *(None for _ in after)),
        texts=tuple(tokenizer.decode(group).strip() for group in groups.values()),
    )


def _steps(
    tokenizer: Tokenizer,
    written: Sequence[int],
    log_probabilities: Float[Tensor, "target vocabulary"],
) -> tuple[Step, ...]:
    values, places = log_probabilities.topk(min(BEST, log_probabilities.shape[1]), dim=1)
    steps = []
    for row, token in enumerate(written):
        (piece,) = tokenizer.pieces([token])
        best = tokenizer.pieces(places[row].tolist())
        steps.append(
            Step(
                piece,
                float(log_probabilities[row, token]),
                tuple(zip(best, values[row].tolist(), strict=True)),
            )
        )
    return tuple(steps)
