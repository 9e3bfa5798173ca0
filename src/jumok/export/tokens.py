"""The names of tokens, as the programs of others have them in their vocabularies."""

from collections.abc import Sequence

from jumok.data.json_tokenizer import JsonTokenizer
from jumok.data.tagged_tokenizer import TaggedTokenizer
from jumok.data.texts.tokenizer import TextTokenizer


def token_names(tokenizer: TextTokenizer) -> list[str]:
    """By the ids, each name once: as the tokenizer's own library writes them."""
    whole = tokenizer.whole if isinstance(tokenizer, TaggedTokenizer) else tokenizer
    if isinstance(whole, JsonTokenizer):
        return unique(whole.names)
    return unique(whole.pieces(range(whole.size)))


def unique(names: Sequence[str]) -> list[str]:
    """The names, with the id behind those that were there before: no text is cut into these."""
    known: dict[str, int] = {}
    for id, name in enumerate(names):
        known[f"{name}#{id}" if name in known else name] = id
    return list(known)
