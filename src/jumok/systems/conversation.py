"""What a language model reads of a conversation: its messages, in the form it was trained with."""

import importlib.util
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jumok.bundle.card import ChatFormat
from jumok.data.json_tokenizer import JsonTokenizer
from jumok.data.texts.tokenizer import TextTokenizer
from jumok.data.tokenizer import END
from jumok.errors import ConfigError, MissingExtraError

MOST_SECONDS = 10.0
MOST_INPUT = 1 << 21
"""Characters of all messages."""
MOST_ERROR = 300
RENDERER = Path(__file__).with_name("render_template.py")
PARTS = {"role", "content"}

Messages = Sequence[Mapping[str, str]]
"""Each with its role ("system", "user", "assistant") and its content."""


@dataclass(frozen=True)
class Conversation:
    """A conversation up to where the model answers.

    Attributes:
        tokens: those that it reads, the first one in the place of START.
        stop: texts that end its turn, where they are not END.
    """

    tokens: tuple[int, ...]
    stop: tuple[str, ...] = ()


def text_before(prompt: str | Conversation) -> str:
    """What a text continues."""
    return prompt if isinstance(prompt, str) else ""


def conversation_of(
    messages: Messages, format: ChatFormat | None, tokenizer: TextTokenizer
) -> Conversation:
    """The messages as the template writes them.

    Raises:
        ConfigError: the model has no template, the template refuses or fails, or a message has the
            text of one of the template's marks.
        MissingExtraError: Jinja is not installed.
    """
    if format is None or not isinstance(tokenizer, JsonTokenizer):
        raise ConfigError(
            "this model has no chat template: it was not trained on conversations, or its folder "
            "did not say how.",
            do="continue a text: jumok generate MODEL PROMPT, or /v1/completions",
        )
    _check(messages, format)
    text, after = _rendered(messages, format)
    cutting = tokenizer.with_marks(format.marks)
    ids = cutting.encode(text)
    if not ids:
        raise ConfigError("the chat template writes nothing for these messages.")
    turn = after.strip()
    ends = cutting.encode(turn)[:1] == [END]
    return Conversation(tuple(ids), (turn,) if turn and not ends else ())


def _check(messages: Messages, format: ChatFormat) -> None:
    if not messages:
        raise ConfigError("a conversation has at least one message.")
    if sum(len(text) for each in messages for text in each.values()) > MOST_INPUT:
        raise ConfigError(f"the messages have more than {MOST_INPUT:,} characters.")
    for number, each in enumerate(messages, start=1):
        if each.keys() != PARTS:
            raise ConfigError(
                f"message {number} is none.", expected="role and content", got=", ".join(each)
            )
        for mark in format.marks:
            if any(mark in text for text in each.values()):
                raise ConfigError(
                    f"message {number} has the text of a mark of the chat template, which would "
                    "begin or end a turn.",
                    got=mark,
                    do="leave it out, or write it otherwise",
                )


def _rendered(messages: Messages, format: ChatFormat) -> tuple[str, str]:
    """The text that is read, and what the template writes after an answer."""
    if importlib.util.find_spec("jinja2") is None:
        raise MissingExtraError("reading a chat template", extra="huggingface")
    values = {"bos_token": format.start, "eos_token": format.end}
    asked = {"template": format.template, "values": values, "messages": [*map(dict, messages)]}
    command = [sys.executable, "-P", str(RENDERER)]
    try:
        done = subprocess.run(
            command,
            check=False,
            input=json.dumps(asked).encode(),
            capture_output=True,
            timeout=MOST_SECONDS,
        )
        answer = json.loads(done.stdout) if done.returncode == 0 else {}
        fault = answer.get("refused") or "it takes too much memory"
    except subprocess.TimeoutExpired:
        answer, fault = {}, f"it takes more than {MOST_SECONDS:.0f} seconds"
    if "text" not in answer:
        raise ConfigError("the chat template cannot be followed.", got=fault[:MOST_ERROR])
    return answer["text"], answer.get("after", "")
