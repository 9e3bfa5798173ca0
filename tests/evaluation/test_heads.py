"""Models that cannot be put side by side, and heads that are judged at their better step."""

from dataclasses import replace

import pytest

from jumok.alignment.setting import AlignmentSetting
from jumok.errors import ConfigError
from jumok.evaluation.alignment import AlignmentScores
from jumok.evaluation.heads.pairs import aligned, check_same_heads
from tests.inspection.test_measures import QUIET

CROSS = replace(QUIET, site="decoder.blocks.1.cross_attention", part="cross", layer=1, head=2)


def test_heads_are_judged_at_the_step_where_they_err_less():
    scores = {
        AlignmentSetting(1, False, 2): AlignmentScores(0.4, 0.7, 0.5, 11),
        AlignmentSetting(1, True, 2): AlignmentScores(0.3, 0.6, 0.8, 11),
    }
    own, cross = aligned([QUIET, CROSS], ["decoder.blocks.0.cross_attention", CROSS.site], scores)
    assert own == QUIET
    assert (cross.precision, cross.error_rate) == (0.6, 0.3)


def test_models_with_other_heads_are_refused():
    check_same_heads([[QUIET, CROSS], [QUIET, CROSS]])
    with pytest.raises(ConfigError) as fault:
        check_same_heads([[QUIET, CROSS], [QUIET]])
    assert str(fault.value).splitlines() == [
        "only models with the same heads can be compared.",
        "  expected: 2 heads, as the first model has",
        "  got:      1 heads, or at other places, in model 2",
        "  do:       give checkpoints of one run, or other models of its size",
    ]
