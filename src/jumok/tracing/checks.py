"""Checks of what is to be traced."""

from collections.abc import Sequence

from jumok.data.texts.tokenizer import TextTokenizer
from jumok.data.tokenizer import START, Tokenizer
from jumok.errors import DataError, ModelError


def no_attention() -> ModelError:
    """The error for a model without attention."""
    return ModelError(
        "this model has no attention that could be shown.",
        do="train a model with attention: the lectures compare both (jumok lab)",
    )


def check_length(text: str, ids: Sequence[int], limit: int, what: str = "one sentence") -> None:
    """Raises a DataError if there is nothing to trace, or too much at once."""
    if not ids or len(ids) > limit:
        raise DataError(
            "this text cannot be traced in one pass.",
            expected=f"at least one word and at most {limit} tokens",
            got=f"{len(ids)} tokens: {text[:60]!r}",
            do=f"give {what}",
            known=("faultLong", len(ids), limit) if ids else ("faultEmpty",),
        )


def given_tokens(
    target: str | Sequence[int],
    tokenizer: Tokenizer | TextTokenizer,
    limit: int,
    what: str = "one sentence",
) -> list[int]:
    """The tokens of a target that was given.

    Raises:
        DataError: there is no token, there are more than `limit`, or the tokenizer lacks one.
    """
    pieces = tokenizer.encode(target) if isinstance(target, str) else list(target)
    check_length(str(target), pieces, limit, what)
    check_tokens(pieces, tokenizer.size)
    return pieces


def check_tokens(ids: Sequence[int], size: int) -> None:
    """Raises a DataError for a token that the tokenizer does not have, or that opens a text."""
    if not all(0 <= piece < size and piece != START for piece in ids):
        raise DataError(
            "the tokenizer has no such token.", expected=f"0 to {size - 1}", got=f"{ids}"
        )
