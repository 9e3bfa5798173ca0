"""The pages made from the code: commands, recipe keys and the public Python names."""

import json
import re
import types
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import groupby
from textwrap import dedent
from typing import Any, Literal, Union, get_args, get_origin

import typer
from annotated_types import Ge, Gt, Le, Lt
from pydantic.fields import FieldInfo

import jumok
from jumok.cli.language import is_example, table, translate_texts
from jumok.cli.main import app
from jumok.config.section import Section
from jumok.kinds import KINDS

MODULES = (
    "jumok.plot",
    "jumok_lectures",
    "jumok.parts",
    "jumok.kinds",
    "jumok.plugins",
    "jumok.attention.interfaces",
    "jumok.layers.interfaces",
    "jumok.positions.interfaces",
    "jumok.data.files.tables",
    "jumok.decoding.options",
    "jumok.errors",
)
"""The modules whose names users meet, besides `jumok` itself."""

COMMANDS = {
    "en": (
        "# Commands and options\n\nThe help of every command: `jumok COMMAND --help` prints it.\n",
        "option | meaning",
    ),
    "ko": (
        "# 명령과 옵션\n\n`jumok COMMAND --help`로 볼 수 있는, 모든 명령의 도움말입니다.\n",
        "옵션 | 뜻",
    ),
}
KEYS = {
    "en": (
        "# Recipe keys\n\nThe keys of a recipe for each kind of model (`model.kind`), with their "
        "values and defaults. If a table is the same as for an earlier kind, only the name of that "
        "kind is given. A key without a default is required; `jumok recipes show NAME` prints a "
        "recipe whose comments explain the keys.\n",
        "| key | values | default |\n|---|---|---|\n",
    ),
    "ko": (
        "# 레시피의 키\n\n모델의 종류(`model.kind`)마다 레시피에 쓸 수 있는 키와 값, 기본값을 "
        "적었습니다. 앞에 나온 종류와 표가 같으면 그 종류의 이름만 적었습니다. 기본값이 빈칸인 "
        "키는 반드시 적어야 합니다(not set: 적지 않음). 키의 뜻은 레시피의 주석에 있습니다"
        "(`jumok recipes show NAME`, 영어).\n",
        "| 키 | 값 | 기본값 |\n|---|---|---|\n",
    ),
}
API = {
    "en": "# Python reference\n\nThe public names of jumok and its modules.\n",
    "ko": "# 파이썬 참고 문서\n\njumok과 그 모듈의 공개 이름입니다. 설명은 영어입니다.\n",
}


REMARK = re.compile(r"\[dim\]- (.*?)\[/dim\]")
"""A remark after an example, in the markup of rich."""


def cell(text: object) -> str:
    """Text for a table."""
    return " ".join(str(text).split()).replace("|", "\\|")


def options_of(command: Any) -> Iterator[str]:
    """The rows of a command's arguments and options."""
    for each in command.params:
        text = getattr(each, "help", None)
        if text and not getattr(each, "hidden", False):
            names = ", ".join(f"`{name}`" for name in (*each.opts, *each.secondary_opts))
            if each.param_type_name == "argument":
                names = f"`{cell(each.metavar or each.name.upper())}`"
            yield f"| {names} | {cell(text)} |\n"


def with_examples(help_: str) -> str:
    """The text of --help as Markdown: examples are code."""
    blocks = []
    for example, parts in groupby(help_.strip("\n").split("\n\n"), is_example):
        if example:
            lines = "\n".join(dedent(part) for part in parts).replace("\n  ", " \\\n  ")
            lines = REMARK.sub(r"# \1", lines)
            blocks.append(f"```bash\n{lines}\n```")
        else:
            blocks += parts
    return "\n\n".join(blocks)


def sections_of(command: Any, name: str, head: str) -> Iterator[str]:
    """A command, and those below it."""
    about = with_examples(command.help or "")
    rows = "".join(options_of(command))
    yield f"\n## {name}\n\n{about}\n"
    if rows:
        yield f"\n| {head} |\n|---|---|\n{rows}"
    for below, each in getattr(command, "commands", {}).items():
        yield from sections_of(each, f"{name} {below}", head)


def in_korean(command: Any, name: str) -> None:
    """Gives a command, and those below it, their Korean texts."""
    translate_texts(command, name)
    for below, each in getattr(command, "commands", {}).items():
        in_korean(each, f"{name} {below}".strip())


def commands(language: str) -> str:
    """Every command with its options."""
    root: Any = typer.main.get_command(app)
    about, head = COMMANDS[language]
    if language == "ko":
        in_korean(root, "")
        root.help = table()["root"]["about"]
    return about + "".join(sections_of(root, "jumok", head))


MACHINE = 2**31
"""Bounds from here on are those of computers."""
TYPES = {"str": "string", "int": "integer", "bool": "`true`, `false`", "Path": "path"}
"""The names of types in TOML, where they are others than in Python."""
LIMITS = {Ge: ">= {}", Gt: "> {}", Le: "<= {}", Lt: "< {}"}


def described(kind: Any) -> str:
    """The values that a type has."""
    if get_origin(kind) is Literal:
        return ", ".join(f"`{each}`" for each in get_args(kind))
    if get_origin(kind) in (Union, types.UnionType):
        return " / ".join(described(each) for each in get_args(kind) if each is not type(None))
    if hasattr(kind, "__metadata__"):  # Annotated
        return limited(described(get_args(kind)[0]), kind.__metadata__)
    if get_origin(kind) is tuple:
        first, *others = get_args(kind)
        number = "" if Ellipsis in others else f"{1 + len(others)} "
        return f"list of {number}{described(first)}"
    return TYPES.get(name := getattr(kind, "__name__", str(kind)), name)


def limited(name: str, metadata: Any) -> str:
    """With the bounds that pydantic checks."""
    found = []
    for each in metadata:
        for held in getattr(each, "metadata", [each]):
            for limit, form in LIMITS.items():
                if isinstance(held, limit):
                    value = getattr(held, type(held).__name__.lower())
                    found += [form.format(value)] if value < MACHINE else []
    return ", ".join([name, *found])


def inner(kind: Any) -> Iterator[type[Section]]:
    """The sections that a type holds."""
    if isinstance(kind, type) and issubclass(kind, Section):
        yield kind
    for each in get_args(kind):
        yield from inner(each)


Seen = dict[tuple[str, type[Section]], str]


def titled(section: type[Section], path: str) -> str:
    """The heading of a table, with the kind where a key has several kinds of section."""
    kind = section.model_fields.get("kind")
    kinds = get_args(kind.annotation) if kind else ()
    return f'{path}, `kind = "{kinds[0]}"`' if len(kinds) == 1 else path or TOP


TOP = "name, seed, plugins"
"""The heading of the keys that belong to no section."""


def keys_of(section: type[Section], path: str, kind: str, seen: Seen, head: str) -> Iterator[str]:
    """The tables of a section and of those below it; one that an earlier kind has is named."""
    first = seen.setdefault((path, section), kind)
    if first != kind:
        yield f"\n**{titled(section, path)}**: `{first}`\n"
        return
    rows, below = "", []
    for name, field in section.model_fields.items():
        held = list(inner(field.annotation))
        below += [(each, f"{path}.{name}" if path else name) for each in held]
        if not held:
            values = limited(described(field.annotation), field.metadata)
            rows += f"| `{name}` | {cell(values)} | {default_of(field)} |\n"
    if rows:
        yield f"\n**{titled(section, path)}**\n\n{head}{rows}"
    for each, where in below:
        yield from keys_of(each, where, kind, seen, head)


def default_of(field: FieldInfo) -> str:
    """The default as TOML; nothing for a required key."""
    if field.is_required():
        return ""
    value = field.get_default(call_default_factory=True)
    return "not set" if value is None else f"`{cell(json.dumps(value, default=str))}`"


def recipe_keys(language: str) -> str:
    """Every key that a recipe may have, by the kind of its model."""
    about, head = KEYS[language]
    text, seen = about, Seen()
    for name, kind in KINDS.items():
        if kind.recipe is None:  # it is not trained here
            continue
        tables = "".join(keys_of(kind.entry("recipe"), "", name, seen, head))
        text += f"\n## {name}\n{tables}"
    return text


def api(language: str) -> str:
    """The public names, as Sphinx's autodoc documents them."""
    names = [name for name in jumok.__all__ if name != "plot"]
    lines = [API[language], "\n## jumok\n\n```{eval-rst}\n"]
    for name in names:
        found = getattr(jumok, name)
        kind = "class" if isinstance(found, type) else "function" if callable(found) else "data"
        if isinstance(found, type) and issubclass(found, Exception):
            kind = "exception"
        fields = isinstance(found, type) and issubclass(found, Section)
        signature = "(**keys)" if fields else ""  # the page of recipe keys has them
        lines.append(f".. auto{kind}:: jumok.{name}{signature}\n")
    lines.append("```\n")
    for module in MODULES:
        import_module(module)
        lines.append(f"\n## {module}\n\n```{{eval-rst}}\n.. automodule:: {module}\n```\n")
    return "".join(lines)


GENERATED: dict[str, Callable[[str], str]] = {
    "commands": commands,
    "recipe-keys": recipe_keys,
    "api": api,
}
"""What each page is made by."""
