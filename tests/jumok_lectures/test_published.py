"""The texts of docs/lab/*.json are those of the code, filled with the numbers beside them."""

import json
import re
from pathlib import Path
from string import Formatter
from typing import Any

import pytest

from jumok.environment import LANGUAGES, Language
from jumok_lectures.catalog import LABS
from jumok_lectures.entry import Lab
from jumok_lectures.experiments import bottleneck, context, norm, parallel, positions
from jumok_lectures.findings import Findings, table, verdict_of
from jumok_lectures.puzzle import Solved
from jumok_lectures.texts import Texts

PUBLISHED = Path(__file__).parents[2] / "docs" / "lab"
WORD = re.compile("[A-Za-z가-힣]")
SHARED = {"contest": ("heads", "cheating", "residual", "norm")}


def record(name: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((PUBLISHED / f"{name}.json").read_text("utf-8"))
    return read


def fitted(template: str, text: str) -> dict[str, str] | None:
    """What a template is filled with in a text; None where the text is another."""
    pattern, names = "", list[str]()
    for words, field, *_ in Formatter().parse(template):
        pattern += re.escape(words)
        if field is not None:
            again = field in names
            names += [] if again else [field]
            pattern += f"(?P=v{names.index(field)})" if again else f"(?P<v{names.index(field)}>.*?)"
    found = re.fullmatch(pattern, text)
    return found and {name: found[f"v{at}"] for at, name in enumerate(names)}


def values(name: str, language: Language) -> dict[str, str]:
    """What the sentence of a published verdict is filled with."""
    read = record(name)
    said = verdict_of([each["state"] for each in read["conditions"]]).of(language)
    sentence = read["text"][language]["verdict"].removeprefix(said).strip()
    found = fitted(Texts(name).read["sentence"][language], sentence)
    assert found, sentence
    return found


def columns(name: str) -> list[dict[str, str]]:
    """The columns that a lab can have."""
    files = [name, *(shared for shared, labs in SHARED.items() if name in labs)]
    read = [Texts(file).read for file in files]
    return [
        column
        for each in read
        for column in (*each.get("columns", ()), *each.get("column", {}).values())
    ]


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_lab_is_published_with_the_words_of_its_file(lab: Lab, language: Language) -> None:
    read, texts = record(lab.name), Texts(lab.name).read
    text = read["text"][language]
    assert text["title"] == lab.title.of(language)
    assert values(lab.name, language)
    for column in text["columns"]:
        assert any(fitted(each[language], column) is not None for each in columns(lab.name)), column
    names = [each[language] for each in texts.get("conditions", {}).values()]
    for name, *_ in text["conditions"][1]:
        assert any(fitted(each, name) is not None for each in names), name


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_both_languages_have_the_same_numbers(lab: Lab) -> None:
    english, korean = (values(lab.name, language) for language in LANGUAGES)
    for name in english.keys() & korean.keys():
        # A text has its own words in each language, and is empty where the next one begins with it.
        if english[name] and korean[name] and not WORD.search(english[name] + korean[name]):
            assert english[name] == korean[name], name


def again(name: str) -> Findings:
    """What the code says of the published figures."""
    figures = record(name)["figures"]
    if name == "bottleneck":
        rows = record(name)["text"]["en"]["rows"]
        counts = (int(row[1].replace(",", "")) for row in rows)
        curves = {kind: figures[kind]["loss_by_length"] for kind in bottleneck.NAMES}
        return bottleneck.report(curves, dict(zip(curves, counts, strict=True)))
    if name == "norm":
        return norm.report(figures["losses"], [norm.Vector(**each) for each in figures["vectors"]])
    if name == "context":
        meanings = {
            kind: [context.Meanings(each, figures["chance"]) for each in own]
            for kind, own in figures["same_meaning"].items()
        }
        return context.report(figures["same_kind"], meanings, figures["translations_tell"])
    if name == "parallel":
        counts = figures["multiplications"] | {
            f"{layer}_chain": figures["chains"][layer] for layer in ("gru", "attention")
        }
        core = parallel.T("n1_core")
        runs = [[parallel.Timed(core, **seed[core.en])] for seed in figures["seconds"]]
        return parallel.report(runs, parallel.Counts(**counts))
    measured = {
        kind: positions.Wishes(
            **{part: figures[kind][part] for part in ("apart", "drift", "largest", "repeats")}
        )
        for kind in positions.KINDS
    }
    solved = {
        kind: [
            Solved(accuracy=both, losses=(), parameters=1)
            for both in zip(figures[kind]["usual"], figures[kind]["longer"], strict=True)
        ]
        for kind in positions.KINDS
    }
    return positions.report(measured, solved)


@pytest.mark.parametrize("name", ["bottleneck", "norm", "context", "parallel", "positions"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_published_figures_give_the_published_text(name: str, language: Language) -> None:
    findings, read = again(name), record(name)
    text = read["text"][language]
    headings, rows = table(findings, language)
    assert (text["columns"], text["rows"]) == (headings, rows)
    said = verdict_of([each["state"] for each in read["conditions"]])
    assert text["verdict"] == f"{said.of(language)} {findings.sentence.of(language)}"
    published = [row[:-1] for row in text["conditions"][1]]
    assert published == [row[:-1] for row in findings.judged(language)[1]]


def test_a_text_is_fitted_to_its_template() -> None:
    assert fitted("{a:.2f} and {b}, {a:.2f}", "0.10 and c, 0.10") == {"a": "0.10", "b": "c"}
    assert fitted("{a} and {a}", "1 and 2") is None
