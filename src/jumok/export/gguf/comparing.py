"""A written file beside the model: as an import reads it, and as llama.cpp continues texts."""

import importlib.util
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from jumok.bundle.card import Score
from jumok.bundle.reading import TOKENIZER, Bundle
from jumok.bundle.weights import load_model
from jumok.data.special_tokens import END, START
from jumok.data.texts.tokenizer import TextTokenizer, load_text_tokenizer
from jumok.errors import BundleError, Location
from jumok.export.comparing import (
    SCORED_TOKENS,
    UNKNOWN_LOSS,
    GreedyWriter,
    Rows,
    check_loss,
    compare_written,
)
from jumok.export.format import ExportOptions
from jumok.export.rows import ExportedRows
from jumok.interop.checking import LARGEST_DIFFERENCE, TEXTS
from jumok.interop.importing import Imported, read_model
from jumok.models.causal import CausalLanguageModel

CONTEXT = 160
"""Tokens of a compared text, what is written of it included."""
AGAIN = "the file as jumok reads it"
ABSENT = "llama.cpp is not installed"


def compare_read(
    file: Path,
    bundle: Bundle,
    written: Mapping[str, Tensor],
    names: ExportedRows,
    options: ExportOptions,
    context: int,
) -> str:
    """Reads the file as `jumok import`, and scores texts with both models: in words.

    Args:
        written: its tensors in float32.
        names: the rows of our tokens there.
        context: the most tokens of a text there.

    Raises:
        BundleError: it cannot be read, its tensors are not those that were written, its tokenizer
            gives other ids, or in float32 its logits are others.
        ConfigError: it loses too much.
    """
    imported = read_model(file)
    what = "the file is read as another model: nothing was written."
    ours = dict(imported.model.state_dict())
    for name, tensor in imported.table.write(ours, imported.vocabulary).items():
        if options.precision == "fp32" and not tensor.equal(written[name]):
            raise _differs(bundle, what, "the same numbers", name)
    mine, other = load_text_tokenizer(bundle.folder / TOKENIZER), imported.tokenizer
    assert other is not None
    for text in TEXTS:
        wanted = [names.order[id] for id in mine.encode(text)]
        found = [imported.vocabulary.order[id] for id in other.encode(text)]
        if found != wanted:
            cut = "the file's tokenizer cuts a text otherwise: nothing was written."
            raise _differs(bundle, cut, str(wanted), f"{found}: {text}")
    texts = [text for text, _ in options.held_out] or TEXTS
    most = min(SCORED_TOKENS, context) - 1
    read = _scored(bundle, imported, names, [mine.encode(text)[:most] for text in texts])
    if options.precision == "fp32":
        limit = LARGEST_DIFFERENCE * max(1.0, read.largest)
        if not read.difference <= limit:
            got = f"logits that differ by {read.difference:.1e}"
            raise _differs(bundle, what, f"differences of at most {limit:.1e}", got)
        return f"{AGAIN}: {read}"
    if not options.held_out:
        return f"{AGAIN}: {read}; {UNKNOWN_LOSS}"
    on = f"{read.tokens:,} tokens held out"
    before, after = ([Score("perplexity", math.exp(loss), on=on)] for loss in read.losses)
    return f"{AGAIN}: {check_loss(bundle, options.precision, before, after)}; {read}"


@dataclass(frozen=True)
class BothScored:
    """The same tokens in the model and in the file.

    Attributes:
        equal: the share whose most probable token is the same.
        difference: the largest one between two logits.
        largest: the largest logit.
        losses: of both, in nats per token.
    """

    tokens: int
    equal: float
    difference: float
    largest: float
    losses: tuple[float, float]

    def __str__(self) -> str:
        return (
            f"at {self.tokens:,} tokens {self.equal:.1%} of the most probable ones as here, and "
            f"logits up to {self.largest:.3g} that differ by {self.difference:.1e} at most"
        )


@torch.inference_mode()
def _scored(bundle: Bundle, imported: Imported, names: ExportedRows, texts: Rows) -> BothScored:
    """Both read the same texts, END included."""
    model, other = load_model(bundle), imported.model
    assert isinstance(model, CausalLanguageModel)
    assert isinstance(other, CausalLanguageModel)
    kept, here = names.kept(), imported.vocabulary.predicted()
    rows = [here[row] for row in range(names.rows)]
    tokens, equal, difference, largest, losses = 0, 0, 0.0, 0.0, [0.0, 0.0]
    for text in texts:
        there = [names.order[id] for id in (*text, END)]
        given = (
            torch.tensor([[START, *text]]),
            torch.tensor([[START, *(here[row] for row in there[:-1])]]),
        )
        ours = model.decoder.logits(model.hidden(given[0]))[0][:, kept]
        theirs = other.decoder.logits(other.hidden(given[1]))[0][:, rows]
        tokens += len(there)
        equal += int((ours.argmax(1) == theirs.argmax(1)).sum())
        difference = max(difference, float((ours - theirs).abs().max()))
        largest = max(largest, float(ours.abs().max()))
        for place, logits in enumerate((ours, theirs)):
            total = F.cross_entropy(logits, torch.tensor(there), reduction="sum")
            losses[place] += float(total)
    return BothScored(
        tokens, equal / tokens, difference, largest, (losses[0] / tokens, losses[1] / tokens)
    )


class LlamaEngine:
    """A file in llama.cpp, on one thread, with its cache in float32.

    Args:
        names: the rows of our tokens there.
        context: the most tokens of a text there, what is written of it included.
    """

    def __init__(self, file: Path, names: ExportedRows, context: int) -> None:
        import llama_cpp

        self._names, self._here = names, names.kept()
        self._engine = llama_cpp.Llama(
            str(file), n_ctx=context, n_threads=1, n_threads_batch=1, logits_all=True,
            type_k=llama_cpp.GGML_TYPE_F32, type_v=llama_cpp.GGML_TYPE_F32, verbose=False,
        )  # fmt: skip

    def tokenized(self, text: str) -> list[int]:
        """Its ids of a text, START first."""
        found: list[int] = self._engine.tokenize(text.encode(), add_bos=True, special=False)
        return found

    def written(self, rows: Rows, longest: int) -> list[list[int]]:
        """What it writes greedily after each prompt, without END."""
        return [[self._here[id] for id in self._continued(row, longest)] for row in rows]

    def _continued(self, row: Sequence[int], longest: int) -> Iterator[int]:
        engine, order = self._engine, self._names.order
        engine.reset()
        engine.eval([order[id] for id in (START, *row)])
        for _ in range(longest):
            logits = np.array(engine.scores[engine.n_tokens - 1])
            logits[self._names.forbidden] = -np.inf
            best = int(logits.argmax())
            if best == order[END]:
                return
            yield best
            engine.eval([best])


def compare_in_llama(
    file: Path, bundle: Bundle, names: ExportedRows, options: ExportOptions, context: int
) -> str:
    """What llama.cpp continues texts with, beside the model: in words, if it is installed.

    Args:
        context: the most tokens of a text there.

    Raises:
        BundleError: its ids of texts are others, or its tokens in float32, and no ties.
    """
    if importlib.util.find_spec("llama_cpp") is None:
        return ABSENT
    writer = GreedyWriter(bundle)
    context = min(context, CONTEXT)
    there, longest = LlamaEngine(file, names, context), min(writer.longest, context // 2)
    for text in TEXTS:
        text = shortened(text, writer.tokenizer, context)
        ids = [names.order[id] for id in (START, *writer.tokenizer.encode(text))]
        found = there.tokenized(text)
        if found != ids:
            what = "llama.cpp's tokenizer cuts a text otherwise: nothing was written."
            raise _differs(bundle, what, str(ids), f"{found}: {text}")
    rows = [row[: context // 2 - 1] for row in writer.inputs(options.examples)]
    theirs = there.written(rows, longest)
    if options.precision == "fp32":
        return compare_written(writer, rows, theirs, "llama.cpp", longest)
    equal = sum(map(list.__eq__, writer.written(rows, longest), theirs))
    return f"{equal} of {len(rows)} lines in {options.precision} as in fp32"


def shortened(text: str, tokenizer: TextTokenizer, context: int) -> str:
    """The first words of a text, after which there is room for as many tokens."""
    words = text.split(" ")
    while words and 2 * len(tokenizer.encode(" ".join(words))) + 2 > context:
        del words[-1]
    return " ".join(words)


def _differs(bundle: Bundle, what: str, expected: str, got: str) -> BundleError:
    return BundleError(
        what, expected=expected, got=got, do="report it, with its settings",
        place=Location(bundle.folder),
    )  # fmt: skip
