"""The modules of `web/` as one script, which a page without a network can hold.

They use a part of the language of modules: imports of names, and exports at the declaration, each
in a line of its own. Everything else is an error here, because it would be one in the page.
"""

import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from jumok.errors import ConfigError, Location
from jumok.inspection.page.source import source_folder

IMPORT = re.compile(
    r"^import \{ (?P<names>\w+(?:, \w+)*) \} from \"(?P<path>[./][^\"]+)\";\n", re.MULTILINE
)
EXPORT = re.compile(
    r"^export (?P<what>(?:async )?(?:function|class|const) (?P<name>\w+))", re.MULTILINE
)
OTHERWISE = re.compile(r"^[ \t]*(?:import|export)(?=[\s{*\"']).*", re.MULTILINE)


@cache
def bundle(entry: str = "page.js") -> str:
    """All modules that `entry` needs as one script, each after the modules that it imports.

    Raises:
        ConfigError: a module is not there, lacks an imported name, imports itself by way of others,
            or imports or exports in another form than this file knows.
    """
    modules = _Modules()
    modules.add(source_folder() / entry)
    return '"use strict";\n(() => {\n' + "\n".join(modules.texts.values()) + "})();\n"


@dataclass
class _Modules:
    """The modules so far, as functions with scopes of their own, and the names that they export."""

    texts: dict[Path, str] = field(default_factory=dict)
    exports: dict[Path, tuple[str, ...]] = field(default_factory=dict)
    coming: list[Path] = field(default_factory=list)

    def add(self, module: Path) -> None:
        """Adds the imports of a module, then the module."""
        if module in self.texts:
            return
        self.coming.append(module)
        text = module.read_text(encoding="utf-8")
        for statement in IMPORT.finditer(text):
            self._import(module, text, statement)
        numbers = {path: number for number, path in enumerate(self.texts)}

        def taken(statement: re.Match[str]) -> str:
            number = numbers[_target(module, statement)]
            return f"const {{ {statement['names']} }} = module{number};\n"

        self.exports[module] = tuple(statement["name"] for statement in EXPORT.finditer(text))
        _refuse_other_forms(module, text)
        body = EXPORT.sub(r"\g<what>", IMPORT.sub(taken, text))
        exported = ", ".join(self.exports[module])
        number = len(self.texts)
        self.texts[module] = (
            f"const module{number} = (() => {{\n{body}return {{ {exported} }};\n}})();\n"
        )
        self.coming.pop()

    def _import(self, module: Path, text: str, statement: re.Match[str]) -> None:
        place = _place(module, text, statement.start())
        imported = _target(module, statement)
        if imported in self.coming:
            circle = [*self.coming[self.coming.index(imported) :], imported]
            raise ConfigError(
                "modules import each other in a circle.",
                got=" -> ".join(path.name for path in circle),
                do="move what both need into a module of its own",
                place=place,
            )
        if not imported.is_file():
            raise ConfigError("there is no such module.", got=statement["path"], place=place)
        self.add(imported)
        for name in statement["names"].split(", "):
            if name not in self.exports[imported]:
                raise ConfigError(
                    f"{imported.name} does not export this name.",
                    expected=", ".join(self.exports[imported]),
                    got=name,
                    place=place,
                )


def _target(module: Path, statement: re.Match[str]) -> Path:
    return (module.parent / statement["path"]).resolve()


def _place(module: Path, text: str, at: int) -> Location:
    return Location(module, text.count("\n", 0, at) + 1)


def _refuse_other_forms(module: Path, text: str) -> None:
    """An error at the first import or export that is of another form."""
    known = {each.start() for pattern in (IMPORT, EXPORT) for each in pattern.finditer(text)}
    for statement in OTHERWISE.finditer(text):
        if statement.start() not in known:
            raise ConfigError(
                "the page cannot hold an import or export of this form.",
                expected='import { NAME, NAME } from "./FILE.js"; or export function NAME (class, '
                "const), in one line",
                got=statement[0].strip()[:200],
                place=_place(module, text, statement.start()),
            )
