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
from sphinx.pycode import ModuleAnalyzer

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

INTERNAL = {"LONE", "REGISTERED"}
"""Documented names of these modules that users do not need."""

COMMANDS = {
    "en": (
        "# Commands and options\n\nThe arguments and options of every command, with their values "
        "and defaults. `jumok COMMAND --help` prints the same texts.\n",
        "option | values | meaning",
    ),
    "ko": (
        "# 명령과 옵션\n\n모든 명령의 인자와 옵션을 값, 기본값과 함께 적었습니다. "
        "`jumok COMMAND --help`에도 같은 내용이 나옵니다.\n",
        "옵션 | 값 | 뜻",
    ),
}
KEYS = {
    "en": (
        "# Recipe keys\n\nThe keys of recipes, with their values and defaults. Each section is for "
        "one task, such as translation; `model.kind` determines the task and the keys of `model`. "
        "A key without a default is required. If a table is the same as for an earlier task, only "
        "that task is named. `jumok recipes show NAME` prints a recipe whose comments explain the "
        "keys.\n",
        "| key | values | default |\n|---|---|---|\n",
    ),
    "ko": (
        "# 레시피의 키\n\n레시피에 쓸 수 있는 키와 값, 기본값입니다. 과제(예: translation)마다 "
        "절이 하나씩 있습니다. 과제와 `model`의 키는 `model.kind`에 따라 정해집니다. 기본값이 "
        "빈칸인 키는 반드시 적어야 합니다. 앞에 나온 과제와 표가 같으면 그 과제의 이름만 "
        "적었습니다. `jumok recipes show NAME`으로 레시피를 출력하면 주석(영어)에 키의 설명이 "
        "있습니다.\n",
        "| 키 | 값 | 기본값 |\n|---|---|---|\n",
    ),
}
WORDS = {
    "en": {
        "str": "string",
        "int": "integer",
        "Path": "path",
        "list": "list: {}",
        "list of": "list of {}: {}",
        "top": "Top level",
        "as": "as for `{}`",
        "unset": "not set",
        "required": "Required.",
        "default": "Default: {}.",
    },
    "ko": {
        "str": "문자열",
        "int": "정수",
        "float": "실수",
        "Path": "경로",
        "list": "목록: {}",
        "list of": "값 {}개의 목록: {}",
        "top": "최상위",
        "as": "`{}`과 같음",
        "unset": "없음",
        "required": "반드시 주어야 합니다.",
        "default": "기본값: {}.",
    },
}
"""The words of the tables; the names of types are those of TOML."""
Words = dict[str, str]
API = {
    "en": "# Python reference\n\nThe public names of jumok, and of its modules for parts and kinds "
    "of models of your own.\n",
    "ko": "# 파이썬 참고 문서\n\n이 페이지의 설명은 영어입니다. jumok의 공개 이름이 나오고, 이어서 "
    "부품이나 모델의 종류를 직접 만들 때 쓰는 모듈의 공개 이름이 나옵니다.\n",
}


def cell(text: object) -> str:
    """Text for a table."""
    return " ".join(str(text).split()).replace("|", "\\|")


def options_of(command: Any, words: Words) -> Iterator[str]:
    """The rows of a command's arguments and options."""
    for each in command.params:
        text = getattr(each, "help", None)
        if text and not getattr(each, "hidden", False):
            argument = each.param_type_name == "argument"
            names = ", ".join(f"`{name}`" for name in (*each.opts, *each.secondary_opts))
            if argument:
                names = f"`{cell(each.metavar or each.name.upper())}`"
            elif each.required:
                text = f"{text} {words['required']}"
            if written := default_of_option(each):
                text = f"{text} {words['default'].format(written)}"
            values = "" if argument else cell(values_of_option(each, words))
            yield f"| {names} | {values} | {cell(text)} |\n"


def values_of_option(each: Any, words: Words) -> str:
    """The values that an option accepts; none for a flag."""
    if each.is_flag:
        return ""
    if each.metavar:
        return f"`{each.metavar}`"
    kind = each.type_descriptor.annotation
    text = described(get_args(kind)[0] if get_origin(kind) is list else kind, words)
    limits = (">= {}", each.min), ("<= {}", each.max)
    found = [form.format(value) for form, value in limits if value is not None and value < MACHINE]
    return ", ".join([text, *found])


def default_of_option(each: Any) -> str:
    """The default as code, unless the help of the option explains it."""
    explained = re.search("default:|기본값", each.help)
    if getattr(each, "is_flag", False) or explained or each.default in (None, "", ()):
        return ""
    return f"`{each.default}`"


def with_examples(help_: str) -> str:
    """The text of --help as Markdown: examples are code."""
    blocks = []
    for example, parts in groupby(help_.strip("\n").split("\n\n"), is_example):
        if example:
            lines = "\n".join(dedent(part) for part in parts).replace("\n  ", " \\\n  ")
            blocks.append(f"```bash\n{lines}\n```")
        else:
            blocks += parts
    return "\n\n".join(blocks)


def sections_of(command: Any, name: str, head: str, words: Words) -> Iterator[str]:
    """A command, and those below it."""
    about = with_examples(command.help or "")
    rows = "".join(options_of(command, words))
    yield f"\n## {name}\n\n{about}\n"
    if rows:
        yield f"\n| {head} |\n|---|---|---|\n{rows}"
    for below, each in getattr(command, "commands", {}).items():
        yield from sections_of(each, f"{name} {below}", head, words)


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
    return about + "".join(sections_of(root, "jumok", head, WORDS[language]))


MACHINE = 2**31
"""Bounds from here on are those of computers."""
LIMITS = {Ge: ">= {}", Gt: "> {}", Le: "<= {}", Lt: "< {}"}


def described(kind: Any, words: Words) -> str:
    """The values of a type."""
    if get_origin(kind) is Literal:
        return ", ".join(f"`{each}`" for each in get_args(kind))
    if get_origin(kind) in (Union, types.UnionType):
        found = (each for each in get_args(kind) if each is not type(None))
        return " / ".join(described(each, words) for each in found)
    if hasattr(kind, "__metadata__"):  # Annotated
        return limited(described(get_args(kind)[0], words), kind.__metadata__)
    if get_origin(kind) is tuple:
        first, *others = get_args(kind)
        if Ellipsis in others:
            return words["list"].format(described(first, words))
        return words["list of"].format(1 + len(others), described(first, words))
    if kind is bool:
        return "`true`, `false`"
    return words.get(name := getattr(kind, "__name__", str(kind)), name)


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


def titled(section: type[Section], path: str, words: Words) -> str:
    """The heading of a table, with the kind where a key has several kinds of section."""
    kind = section.model_fields.get("kind")
    kinds = get_args(kind.annotation) if kind else ()
    return f'{path}, `kind = "{kinds[0]}"`' if len(kinds) == 1 else path or words["top"]


def keys_of(
    section: type[Section], path: str, kind: str, seen: Seen, language: str
) -> Iterator[str]:
    """The tables of a section and of those below it; one that an earlier kind has is named."""
    words = WORDS[language]
    first = seen.setdefault((path, section), kind)
    if first != kind:
        yield f"\n**{titled(section, path, words)}**: {words['as'].format(first)}\n"
        return
    rows, below = "", []
    for name, field in section.model_fields.items():
        held = list(inner(field.annotation))
        below += [(each, f"{path}.{name}" if path else name) for each in held]
        if not held:
            values = limited(described(field.annotation, words), field.metadata)
            rows += f"| `{name}` | {cell(values)} | {default_of(field, words)} |\n"
    if rows:
        yield f"\n**{titled(section, path, words)}**\n\n{KEYS[language][1]}{rows}"
    for each, where in below:
        yield from keys_of(each, where, kind, seen, language)


def default_of(field: FieldInfo, words: Words) -> str:
    """The default as TOML; nothing for a required key."""
    if field.is_required():
        return ""
    value = field.get_default(call_default_factory=True)
    return words["unset"] if value is None else f"`{cell(json.dumps(value, default=str))}`"


def recipe_keys(language: str) -> str:
    """Every key that a recipe may have, by the kind of its model."""
    text, seen = KEYS[language][0], Seen()
    for name, kind in KINDS.items():
        if kind.recipe is None:  # it is not trained here
            continue
        tables = "".join(keys_of(kind.entry("recipe"), "", name, seen, language))
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
        lines.append(f"\n## {module}\n\n```{{eval-rst}}\n{members(module)}```\n")
    return "".join(lines)


def members(module: str) -> str:
    """The directives for a module: its tables without their values, which are long."""
    documented = ModuleAnalyzer.for_module(module).find_attr_docs()
    tables = [name for scope, name in documented if not scope]
    lines = [f".. automodule:: {module}\n", f"   :exclude-members: +{', '.join(tables)}\n\n"]
    for name in tables:
        if name not in INTERNAL:
            lines.append(f".. autodata:: {module}.{name}\n   :no-value:\n\n")
    return "".join(lines)


GENERATED: dict[str, Callable[[str], str]] = {
    "commands": commands,
    "recipe-keys": recipe_keys,
    "api": api,
}
"""What each page is made by."""
