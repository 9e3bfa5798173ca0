"""Tokens as they are written, as text: a character may be written in several of them."""

from collections.abc import Iterable, Iterator

from jumok.data.texts.tokenizer import TextTokenizer

BROKEN = "\ufffd"
"""What a tokenizer decodes to where bytes are no whole character."""


def certain_text(tokenizer: TextTokenizer, prompt: str, tokens: Iterable[int]) -> Iterator[str]:
    """The text of `tokens`, which continue `prompt`, as soon as later tokens cannot change it.

    Joined, the parts are what decoding everything at once gives after the prompt's text.
    """
    text = CertainText(tokenizer, prompt)
    for token in tokens:
        if part := text.add(token):
            yield part
    if rest := text.rest():
        yield rest


class CertainText:
    """The text of tokens that continue a prompt, in parts that later tokens cannot change.

    A character may be written in several tokens; it is handed out with the last of them.
    """

    def __init__(self, tokenizer: TextTokenizer, prompt: str) -> None:
        self._tokenizer = tokenizer
        self._line = tokenizer.encode(prompt.rpartition("\n")[2])
        self._known = len(tokenizer.decode(self._line))

    def add(self, token: int) -> str:
        """What has become certain by a further token; may be empty."""
        self._line.append(token)
        text, known = self._tokenizer.decode(self._line), self._known
        part = ""
        if not text.endswith(BROKEN) and len(text) > known:
            part, self._known = text[known:], len(text)
        if text.endswith("\n"):  # what follows a line break does not depend on what precedes it
            self._line, self._known = [], 0
        return part

    def rest(self) -> str:
        """What was not certain, after the last token."""
        return self._tokenizer.decode(self._line)[self._known :]
