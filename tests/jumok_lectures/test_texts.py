"""The texts of the labs: what the code asks for is in its file, and nothing else is."""

import ast
from collections import defaultdict
from pathlib import Path
from string import Formatter
from typing import Any

import pytest

import jumok_lectures
from jumok_lectures.text import Text
from jumok_lectures.texts import HOME, Texts, filled
from tests.jumok_lectures.test_report import HANGUL

FILES = sorted(file.stem for file in HOME.glob("*.toml") if file.stem != "claims")
METHODS = {"named": "", "quote": "quotes", "column": "column", "condition": "conditions"}
PANELS = {
    "chart": {"title", "x", "y"},
    "bars": {"title", "x"},
    "grid": {"title", "row", "column"},
}
FINDINGS = {"rows", "figures", "conditions", "panels", "columns"}
Asked = dict[tuple[str, str], set[str]]
"""By table ("": none) and key the values that are filled in."""


def asked() -> dict[str, Asked]:
    """What every module asks of its file."""
    found: dict[str, Asked] = {}
    for module in Path(jumok_lectures.__file__).parent.rglob("*.py"):
        tree = ast.parse(module.read_text("utf-8"))
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        [*names] = (call.args[0].value for call in calls if ast.unparse(call.func) == "Texts")
        for name in names[:1] if module.name not in ("texts.py", "catalog.py") else ():
            keys = found.setdefault(name, defaultdict(set))  # modules may share a file
            for node in ast.walk(tree):
                if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "T.read":
                    keys["", ast.literal_eval(node.slice)] |= set()  # a table, as a whole
            for call in calls:
                head, _, method = ast.unparse(call.func).partition(".")
                if head == "T" and method in PANELS:
                    numbers = call.args[1:] if method != "grid" else ()
                    number = "".join(ast.literal_eval(each) for each in numbers)
                    for part in PANELS[method] - {each.arg for each in call.keywords}:
                        keys["", f"{method}_{part}{number}"] |= set()
                elif head == "T" and method == "findings":
                    keys["", "sentence"] |= {each.arg for each in call.keywords} - FINDINGS
                elif head == "slip":
                    name_of_slip = ast.literal_eval(call.args[1])
                    keys["quotes", name_of_slip] |= set()
                    keys["", f"{name_of_slip}_right"] |= set()
                    keys["", f"{name_of_slip}_computed"] |= {each.arg for each in call.keywords}
                elif head == "T" and call.args and isinstance(call.args[0], ast.Constant):
                    values = {each.arg for each in call.keywords} - {"bound"}
                    keys[METHODS.get(method, ""), call.args[0].value] |= values
    return found


ASKED = asked()


def entries(name: str) -> dict[tuple[str, str], list[Any]]:
    """What a file has: by table and key its texts, those of `named` together."""
    found: dict[tuple[str, str], list[Any]] = {}
    for key, value in Texts(name).read.items():
        if key in METHODS.values():
            found |= {(key, inner): [entry] for inner, entry in value.items()}
        elif key not in ("note", "columns"):
            found["", key] = [value] if "en" in value else list(value.values())
    return found


@pytest.mark.parametrize("name", FILES)
def test_a_file_has_what_its_module_asks_for_and_no_more(name: str) -> None:
    assert set(entries(name)) == set(ASKED[name])


@pytest.mark.parametrize("name", FILES)
def test_texts_are_filled_with_what_the_module_gives(name: str) -> None:
    for place, texts in entries(name).items():
        if place[0] == "quotes":
            continue
        fields = set()
        for language in ("en", "ko"):
            for text in texts:
                assert (language == "ko") or not HANGUL.search(text["en"]), text
                if ASKED[name][place]:
                    fields |= {field for _, field, *_ in Formatter().parse(text[language]) if field}
        assert {field.partition("[")[0] for field in fields} == ASKED[name][place], place


def test_a_text_takes_values_of_its_own_language_and_of_every_seed() -> None:
    entry = {"en": "{name}: {gains:.0%}, {least[0]:.1f}", "ko": "{name}은 {gains:.0%}"}
    # 0.1 and 0.3: mean 0.2, standard deviation 0.1414; t = 12.706 at one degree of freedom
    text = filled(entry, {"name": Text("one", "하나"), "gains": [0.1, 0.3], "least": [1.26]})
    assert text == Text("one: 20 ± 127%, 1.3", "하나은 20 ± 127%")
    assert filled({"en": "{x}", "ko": "{x}"}, {}) == Text("{x}", "{x}")
