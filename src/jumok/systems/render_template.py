"""Renders a template of Jinja that came with a model, in a process of its own: it may loop for ever
or write without end. JSON on stdin, JSON on stdout; started by `conversation.py` as a script, which
imports nothing of jumok.

The environment and its functions are those of transformers (utils/chat_template_utils.py).
"""

import json
import sys
import time
from contextlib import suppress

from jinja2 import TemplateError
from jinja2.ext import loopcontrols
from jinja2.nodes import CallBlock
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

try:
    import resource
except ImportError:  # Windows has none
    resource = None  # type: ignore[assignment]

MOST_MEMORY = 1 << 28
"""Bytes of memory, where the system limits a process."""
MOST_CHARACTERS = 1 << 22
"""The longest text that is written."""
PROBE = "jumokturn"
"""An answer, to see what a template writes after it."""


class Generation(loopcontrols):
    """`break` and `continue`, and {% generation %}, whose content is written as it is."""

    tags = loopcontrols.tags | {"generation"}

    def parse(self, parser: Parser):  # type: ignore[no-untyped-def]
        if parser.stream.current.value != "generation":
            return super().parse(parser)
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return CallBlock(self.call_method("_written"), [], [], body).set_lineno(line)

    def _written(self, caller):  # type: ignore[no-untyped-def]
        return caller()


def refuse(message: object) -> None:
    """raise_exception of templates."""
    raise TemplateError(str(message))


def as_json(value: object, ensure_ascii: bool = False, indent: int | None = None) -> str:
    """The filter tojson, which escapes nothing for HTML."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent)


def written(template: str, values: dict[str, object]) -> str:
    """The template with these values; a TemplateError if it writes too much."""
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation]
    )
    environment.filters["tojson"] = as_json
    environment.globals["raise_exception"] = refuse
    environment.globals["strftime_now"] = time.strftime
    parts, length = [], 0
    for part in environment.from_string(template).generate(tools=None, documents=None, **values):
        parts.append(part)
        length += len(part)
        if length > MOST_CHARACTERS:
            raise TemplateError(f"it writes more than {MOST_CHARACTERS:,} characters")
    return "".join(parts)


def main() -> None:
    """Reads a conversation from standard input, and writes its text."""
    if resource is not None and sys.platform == "linux":
        limit = MOST_MEMORY
        with open("/proc/self/statm") as stream:
            limit += int(stream.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    asked = json.load(sys.stdin)
    template, values, messages = asked["template"], asked["values"], asked["messages"]
    answer: dict[str, str] = {}
    try:
        prompt = {"messages": messages, "add_generation_prompt": True}
        answer["text"] = written(template, values | prompt)
        turn = [{"role": "user", "content": "?"}, {"role": "assistant", "content": PROBE}]
        with suppress(TemplateError):
            whole = written(template, values | {"messages": turn, "add_generation_prompt": False})
            answer["after"] = whole.rpartition(PROBE)[2] if PROBE in whole else ""
    except TemplateError as error:
        answer["refused"] = f"{error}"
    except Exception as error:  # a template that fails on these messages
        answer["refused"] = f"{type(error).__name__}: {error}"
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
