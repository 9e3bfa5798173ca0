"""A head without a role is told by the rule that it comes nearest to."""

from dataclasses import replace

from tests.inspection.test_measures import QUIET


def test_the_nearest_rule_is_named_with_its_measure_and_its_bound():
    assert QUIET.role == "no clear role"
    assert QUIET.nearest is None, "half way to none"
    cross = replace(QUIET, part="cross", confidence=0.71)
    assert cross.nearest == ("aligned", 0.71, 0.8)
    assert cross.facts()["nearest"] == ["aligned", 0.71, 0.8]
    assert replace(QUIET, most_previous=0.8).nearest == ("previous", 0.8, 0.9)
    assert replace(QUIET, confidence_with_end=0.125).nearest == ("broad", 0.125, 0.1)
    assert replace(QUIET, previous=0.6).nearest is None, "it has a role"
    assert replace(QUIET, part="cross", most_previous=0.8).nearest == ("aligned", 0.5, 0.8)
