"""What would have made a claim fail, as it is published, is what the lab tests."""

import importlib
import inspect
import json
import re
from collections.abc import Mapping
from pathlib import Path
from string import Formatter
from typing import Any

import pytest

from jumok_lectures.catalog import LABS
from jumok_lectures.entry import Lab
from jumok_lectures.experiments import bottleneck, errata
from jumok_lectures.learning import data, gradients
from jumok_lectures.texts import Texts
from jumok_lectures.vectors import mix

PUBLISHED = Path(__file__).parents[2] / "docs" / "lab"
CRITERIA = {entry["name"]: entry["would_fail"] for entry in Texts("claims").read["lab"]}
BARE = re.compile(r"\d\s?(%|points?\b|nats?\b|점|포인트|배\b|e-\d)")


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
@pytest.mark.parametrize("language", ["en", "ko"])
def test_the_criteria_have_every_bound_of_the_lab_and_no_other(lab: Lab, language: str) -> None:
    text = CRITERIA[lab.name][language]
    bounds = Texts(lab.name).bounds
    named = [field for _, field, *_ in Formatter().parse(text) if field] if bounds else []
    assert sorted(named) == sorted(bounds)
    assert not BARE.search(re.sub(r"\{[^}]*\}", "", text))


def test_a_bound_is_written_as_it_is_tested() -> None:
    (order,) = (lab for lab in LABS if lab.name == "order")
    assert "more than rounding (1e-05)" in order.would_fail.en
    assert "differs from the expected output by 5% or less" in order.would_fail.en
    (positions,) = (lab for lab in LABS if lab.name == "positions")
    assert "gains 25 percentage points or less" in positions.would_fail.en


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_the_published_results_were_judged_by_these_bounds(lab: Lab) -> None:
    record = json.loads((PUBLISHED / f"{lab.name}.json").read_text("utf-8"))
    for language in ("en", "ko"):
        assert record["text"][language]["would_fail"] == lab.would_fail.of(language)
        assert record["text"][language]["claim"] == lab.claim.of(language)
    declared = [
        (re.sub(r"\\{[^}]*\\}", ".+", re.escape(each["en"])), bound_of(each))
        for each in Texts(lab.name).read.get("conditions", {}).values()
    ]
    judged: set[int] = set()
    for each in record["conditions"]:
        bound = each["bound"], each["above"]
        found = {at for at, (name, _) in enumerate(declared) if re.fullmatch(name, each["name"])}
        same = {at for at in found if declared[at][1] == bound}
        assert same, (each["name"], bound)
        judged |= same
    assert judged == set(range(len(declared)))


def bound_of(entry: dict[str, Any]) -> tuple[float, bool]:
    return entry.get("above", entry.get("below")), "above" in entry


NUMBER = re.compile(r"(?<![\w.])\d(?:[\d,]*\d)?(?:\.\d+)?")
# What a text says in a number that its lab computes, or has in a default or a layer's name.
COMPUTED = {
    "errata": [len([each for note in errata.NOTES for each in note.slips((1,))])],
    "heads": [1, 2, 4, 8],  # the names of what is trained
    "norm": [0, 1],  # the mean and the deviation of the note
    "bottleneck": [bottleneck.CLAUSE * bottleneck.LONGEST],
    "convolution": [3],  # the size of nn.Conv2d in the tower
    "mix": [1 - mix.WEIGHT, 100 * mix.WEIGHT, 100 * (1 - mix.WEIGHT)],
    "data": data.Amounts().sizes,
    "gradients": [*inspect.signature(gradients.run).parameters["lengths"].default, 10],
}


def numbers_in(value: object) -> set[float]:
    """All numbers of a constant, in what it holds, too."""
    if isinstance(value, int | float):
        return {float(value)}
    if isinstance(value, Mapping):
        value = [*value.keys(), *value.values()]
    if isinstance(value, list | tuple):
        return {number for each in value for number in numbers_in(each)}
    return set()


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
@pytest.mark.parametrize("language", ["en", "ko"])
def test_the_other_numbers_of_claim_and_criteria_are_the_labs_constants(
    lab: Lab, language: str
) -> None:
    module = vars(importlib.import_module(lab.module))
    known = numbers_in([value for name, value in module.items() if name.isupper()])
    known |= {round(number, 9) for number in numbers_in(list(COMPUTED.get(lab.name, ())))}
    text = f"{CRITERIA[lab.name][language]} {lab.claim.of(language)}"
    said = NUMBER.findall(re.sub(r"\{[^}]*\}", "", text))
    assert {number for number in said if float(number.replace(",", "")) not in known} == set()
