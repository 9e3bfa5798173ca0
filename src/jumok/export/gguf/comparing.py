"""A written file beside the model: as an import reads it, and as llama.cpp continues texts."""

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from torch import Tensor

from jumok.bundle.reading import TOKENIZER, Bundle
from jumok.data.special_tokens import END, START
from jumok.data.texts.tokenizer import TextTokenizer, load_text_tokenizer
from jumok.errors import BundleError, Location
from jumok.export.comparing import GreedyWriter, Rows, compare_written
from jumok.export.format import ExportOptions, ExportPrecision
from jumok.export.rows import ExportedRows
from jumok.interop.checking import TEXTS
from jumok.interop.importing import read_model
from jumok.interop.vocabulary import Vocabulary

CONTEXT = 160
"""Tokens of a compared text, what is written of it included."""


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
    """What llama.cpp continues texts with, beside the model: in words; "" if it is not installed.

    Args:
        context: the most tokens of a text there.

    Raises:
        BundleError: its ids of texts are others, or its tokens in float32, and no ties.
    """
    if importlib.util.find_spec("llama_cpp") is None:
        return ""
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
