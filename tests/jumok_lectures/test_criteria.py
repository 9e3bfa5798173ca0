"""What would have made a claim fail, as it is published, is what the lab tests."""

import json
import re
from pathlib import Path
from string import Formatter

import pytest

from jumok_lectures.catalog import LABS
from jumok_lectures.entry import Lab
from jumok_lectures.texts import Texts

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
    assert "by 5% or less" in order.would_fail.en
    (positions,) = (lab for lab in LABS if lab.name == "positions")
    assert "gains 25 points or less" in positions.would_fail.en


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_the_published_results_were_judged_by_these_bounds(lab: Lab) -> None:
    record = json.loads((PUBLISHED / f"{lab.name}.json").read_text("utf-8"))
    for language in ("en", "ko"):
        assert record["text"][language]["would_fail"] == lab.would_fail.of(language)
        assert record["text"][language]["claim"] == lab.claim.of(language)
    entries = Texts(lab.name).read.get("conditions", {}).values()
    declared = {(each.get("above", each.get("below")), "above" in each) for each in entries}
    tested = {(each["bound"], each["above"]) for each in record["conditions"]}
    assert tested == declared
