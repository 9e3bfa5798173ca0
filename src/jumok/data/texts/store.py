"""Texts as token ids on disk: created once, memory-mapped, and found by a hash of their content.

A store is a folder: `tokens.values` holds the ids of all documents one after another, each as
START, its tokens and END (uint16, or uint32 for a vocabulary beyond 65,536), `tokens.lengths` and
`tokens.ends` where they are (`data/flat.py`), and `store.json` their size in bytes.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from jumok.data.cache import cached_folder, opened
from jumok.data.flat import Flat, FlatWriter, map_flat
from jumok.data.texts.tokenizer import TextTokenizer
from jumok.data.tokenizer import END, START
from jumok.errors import DataError

VERSION = 1
BLOCK = 1 << 20  # characters encoded at once: a list of ids takes many times its size on disk


@dataclass(frozen=True)
class TextStore:
    """Prepared text.

    Attributes:
        key: names the content.
        tokens: START, the tokens and END of every document.
        bytes: of all documents in UTF-8.
    """

    key: str
    tokens: Flat
    bytes: int

    def __len__(self) -> int:
        return len(self.tokens.ends)

    @property
    def predictions(self) -> int:
        """The number of predictions in one epoch: every token but START."""
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
        cache: the folder of the stores; created if it is missing.

    Raises:
        DataError: there is not a text; the cache cannot be written.
    """
    kind = "uint16" if tokenizer.size <= 1 << 16 else "uint32"

    def fill(folder: Path) -> dict[str, object]:
        size = 0
        with FlatWriter(folder, "tokens", np.dtype(kind)) as writer:
            for text in texts:
                blocks = [np.array(tokenizer.encode(block), kind) for block in cut(text, BLOCK)]
                ids = np.concatenate([np.array([START], kind), *blocks, np.array([END], kind)])
                writer.append(ids, np.array([len(ids)]))
                size += len(text.encode())
        if size == 0:
            raise DataError("there is no text to prepare.")
        return {"bytes": size}

    folder = cached_folder(cache, ["text", VERSION, identity, tokenizer.hash], fill)
    with opened(folder, "text is", "text") as about:
        tokens = map_flat(folder, "tokens", np.dtype(kind), tokenizer.size)
        if tokens.lengths.min() < 2:
            raise ValueError("tokens.ends: a document without START and END")
        return TextStore(folder.name, tokens, about["bytes"])
