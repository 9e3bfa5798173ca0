"""A written file beside the model: as an import reads it, and as llama.cpp continues texts."""

import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from jumok.bundle.reading import TOKENIZER, Bundle
from jumok.data.special_tokens import END, PAD, START, UNKNOWN
from jumok.data.texts.tokenizer import TextTokenizer, load_text_tokenizer
from jumok.decoding.options import DecodingOptions
from jumok.errors import BundleError, Location
from jumok.export.comparing import TIE
from jumok.export.format import ExportPrecision
from jumok.interop.checking import TEXTS
from jumok.interop.importing import read_model
from jumok.interop.vocabulary import Vocabulary
from jumok.systems.language_model import LanguageModel

TOKENS = 20
"""Tokens that are written after each text."""


def compare_read(
    file: Path,
    bundle: Bundle,
    written: Mapping[str, Tensor],
    vocabulary: Vocabulary,
    precision: ExportPrecision,
) -> None:
    """Reads the file as `jumok import`.

    Raises:
        BundleError: it cannot be read, its tensors are not those that were written, or its
            tokenizer gives other ids.
    """
    imported = read_model(file)
    ours = dict(imported.model.state_dict())
    for name, tensor in imported.table.write(ours, imported.vocabulary).items():
        if precision == "fp32" and not tensor.equal(written[name]):
            raise _differs(
                bundle,
                "the file is read as another model: nothing was written.",
                "the same numbers",
                name,
            )
    mine, other = load_text_tokenizer(bundle.folder / TOKENIZER), imported.tokenizer
    assert other is not None
    for text in TEXTS:
        wanted = [vocabulary.order[id] for id in mine.encode(text)]
        found = [imported.vocabulary.order[id] for id in other.encode(text)]
        if found != wanted:
            what = "the file's tokenizer cuts a text otherwise: nothing was written."
            raise _differs(bundle, what, str(wanted), f"{found}: {text}")


def compare_in_llama(
    file: Path, bundle: Bundle, vocabulary: Vocabulary, precision: ExportPrecision, context: int
) -> str:
    """What llama.cpp continues texts with, beside the model: in words; "" if it is not installed.

    Args:
        context: the most tokens of a text there.

    Raises:
        BundleError: its tokens are others in float32, and no ties.
    """
    if importlib.util.find_spec("llama_cpp") is None:
        return ""
    import llama_cpp

    system = LanguageModel.load(bundle)
    context = min(context, 8 * TOKENS)
    there = llama_cpp.Llama(
        str(file), n_ctx=context, n_threads=1, n_threads_batch=1, logits_all=True, verbose=False
    )
    never = {vocabulary.order[id] for id in (PAD, UNKNOWN, START)} - {vocabulary.order[END]}
    equal = ties = 0
    for text in TEXTS:
        text = shortened(text, system.tokenizer, context)
        ids = [vocabulary.order[id] for id in (START, *system.tokenizer.encode(text))]
        found = there.tokenize(text.encode(), add_bos=True, special=False)
        if found != ids:
            what = "llama.cpp's tokenizer cuts a text otherwise: nothing was written."
            raise _differs(bundle, what, str(ids), f"{found}: {text}")
        count = min(TOKENS, context - len(ids))
        written = list(system.generate_tokens(text, DecodingOptions(beam=1), max_tokens=count))
        wanted = [vocabulary.order[id] for id in (*written, END)[:count]]
        apart = margin(there, ids, wanted, tuple(never))
        equal, ties = equal + (apart is None), ties + (apart is not None and apart < TIE)
        if precision == "fp32" and apart is not None and apart >= TIE:
            what = "llama.cpp continues a text otherwise: nothing was written."
            raise _differs(bundle, what, "equal tokens", f"logits {apart:.2g} apart after {text!r}")
    named = f", {ties} but for a tie" if ties else ""
    return f"{equal} of {len(TEXTS)} continuations in llama.cpp have equal tokens{named}"


def margin(
    there: Any, ids: Sequence[int], wanted: Sequence[int], never: Sequence[int]
) -> float | None:
    """By how much llama.cpp prefers its own token to the first one that is not the same; None: all
    are the same.

    Args:
        never: rows of tokens that jumok writes in no text, whatever their probability.
    """
    there.reset()
    there.eval(list(ids))
    for token in wanted:
        logits = np.array(there.scores[there.n_tokens - 1])
        logits[list(never)] = -np.inf
        best = int(logits.argmax())
        if best != token:
            return float(logits[best] - logits[token])
        there.eval([token])
    return None


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
