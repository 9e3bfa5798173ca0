"""Texts as token ids on disk: created once, and memory-mapped (`jumok.data.store`).

The column `tokens` holds all documents, each as START, its tokens and END.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from jumok.data.store import Ragged, StoreWriter, cached_store, id_type
from jumok.data.texts.tokenizer import TextTokenizer
from jumok.data.tokenizer import END, START
from jumok.errors import DataError

BLOCK_CHARACTERS = 1 << 20  # at once: a list of ids takes many times its size on disk


@dataclass(frozen=True)
class TextStore:
    """Prepared text.

    Attributes:
        tokens: START, the tokens and END of every document.
        bytes: of all documents in UTF-8.
    """

    key: str
    tokens: Ragged
    bytes: int

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def predictions(self) -> int:
        """Of one epoch: every token but START."""
        return len(self.tokens.values) - len(self)


def cut(text: str, size: int) -> Iterator[str]:
    """The text in blocks of about `size` characters that end with a line break, if possible."""
    start = 0
    while start < len(text):
        line_end = text.find("\n", start + size)
        end = len(text) if line_end < 0 else line_end + 1
        yield text[start:end]
        start = end


def prepare_texts(
    texts: Iterable[str], identity: object, tokenizer: TextTokenizer, cache: Path
) -> TextStore:
    """The texts as token ids, from the cache if the same content was prepared before.

    Args:
        identity: JSON that changes whenever the texts change.

    Raises:
        DataError: there is not a text; the cache cannot be written.
    """
    kind = id_type(tokenizer.size)

    def fill(writer: StoreWriter) -> dict[str, object]:
        size = 0
        for text in texts:
            parts = cut(text, BLOCK_CHARACTERS)
            blocks = [np.array(tokenizer.encode(part), kind) for part in parts]
            ids = np.concatenate([np.array([START], kind), *blocks, np.array([END], kind)])
            writer.add_sequences("tokens", ids, np.array([len(ids)]))
            size += len(text.encode())
        if size == 0:
            raise DataError("there is no text to prepare.")
        return {"bytes": size}

    with cached_store(cache, ["text", identity, tokenizer.hash], fill) as store:
        tokens = store.sequences("tokens", tokenizer.size)
        if tokens.lengths().min() < 2:
            raise ValueError("tokens: a document without START and END")
        return TextStore(store.key, tokens, store.about["bytes"])
