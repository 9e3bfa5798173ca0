"""What the page is told of a run: true to the log, and small however long the run was."""

import json
import math

import pytest

from jumok.bundle.card import Score
from jumok.data.files.run_log import RunLog
from jumok.inspection.page import run_report
from jumok.inspection.page.run_report import RunReport, UnseenExample, averaged, thinned


def step(number: int, loss: float | None) -> dict[str, object]:
    rate = 0.001 / number
    return {"kind": "step", "step": number, "seconds": 6.0 * number, "loss": loss} | {
        "learning_rate": rate
    }


def check(number: int, loss: float, best: bool, **scores: float) -> dict[str, object]:
    seconds = {"seconds": 6.0 * number, "took": 1.0}
    return {"kind": "validation", "step": number, "loss": loss, "best": best} | seconds | scores


def test_a_short_log_is_told_point_by_point():
    log = RunLog("a", [step(10, 3.5), step(20, None)], [check(20, 2.0, True, bleu=31.0)])
    score = Score("BLEU", 30.123456, on="300")
    told = RunReport(
        log, {"look": "jumok look a"}, (UnseenExample("x", "y", "z"),), (score,), 7
    ).payload()
    assert told == {
        "name": "a",
        "steps": 20,
        "minutes": 2.0,
        "best": 20,
        "parameters": 7,
        "training": {
            "loss": [(10, 1.0, 3.5)],
            "learning_rate": [(10, 1.0, 0.0001), (20, 2.0, 0.00005)],
        },
        "validation": {"loss": [(20, 2.0, 2.0)], "bleu": [(20, 2.0, 31.0)]},
        "tested": [["BLEU", 30.12, "300"]],
        "examples": [["x", "y", "z"]],
        "commands": [("look", "jumok look a")],
    }


def test_a_long_training_is_averaged_over_equal_stretches():
    steps = [step(number, float(number)) for number in range(1, 1001)]
    points = averaged(steps, "loss")
    assert 100 < len(points) <= run_report.MOST_POINTS
    assert points[0] == (7, 0.7, 4.0)  # the mean of 1 to 7, at the end of the stretch
    assert points[-1][0] == 1000


def test_of_many_validations_the_best_and_the_last_stay():
    checks = [check(number, 1.0, number in (1, 333)) for number in range(1, 1001)]
    told = [point[0] for point in thinned(checks, "loss")]
    assert len(told) <= run_report.MOST_POINTS
    assert {1, 333, 1000} <= set(told)
    assert told == sorted(told)
    assert thinned([], "loss") == []


@pytest.mark.parametrize("wrong", [math.nan, math.inf, None, "many"])
def test_what_is_no_number_is_left_out(wrong):
    """JSON has no NaN: one would keep the page from opening."""
    log = RunLog("a", [step(10, wrong)], [check(10, 1.0, True, bleu=wrong)])
    told = RunReport(log).payload()
    assert told["training"]["loss"] == []
    json.dumps(told, allow_nan=False)


def test_the_story_of_a_long_run_stays_small():
    many = {f"score-{number}": 12.3456789 for number in range(40)}
    steps = [step(number, 3.14159265) for number in range(1, 50_001)]
    checks = [check(number, 1.23456789, False, **many) for number in range(1, 2_001)]
    examples = tuple(UnseenExample("a " * 900, "b " * 900, "c " * 900) for _ in range(90))
    told = RunReport(RunLog("a", steps, checks), {}, examples).payload()
    assert len(json.dumps(told)) < 45_000
