"""What the report makes of three losses."""

import pytest
from torch import nn

from jumok.lab.contest import Contest
from jumok.lab.experiments import norm
from jumok.lab.findings import Findings
from jumok.lab.small import Trained


def reported(pre: float, post: float, none: float) -> Findings:
    """40 steps each: a training loss of 2 over the first 20, and of the validation loss then."""
    runs = {
        name: [Trained(nn.Linear(2, 3), None, [2.0] * 20 + [loss] * 20, loss)]  # type: ignore[arg-type]
        for name, loss in (("pre", pre), ("post", post), ("none", none))
    }
    return norm.report(Contest(norm.NAMES, runs), {name: [1.0, 2.0] for name in runs})


def test_the_claim_needs_both_norms_to_lower_the_loss() -> None:
    assert reported(0.2, 0.3, 0.4).outcome == "holds"
    assert reported(0.2, 0.5, 0.4).outcome == "partly"
    assert reported(0.5, 0.2, 0.4).outcome == "partly"
    assert reported(0.395, 0.395, 0.4).outcome == "fails"  # by 1% alone


@pytest.mark.parametrize(
    ("losses", "en", "ko"),
    [
        (
            (0.201, 0.435, 0.350),
            "Pre-norm lowers the loss by 43% (0.201 against 0.350 without a norm); post-norm, as "
            "in the notes, raises it by 24% (0.435).",
            "정규화가 없으면 손실은 0.350입니다. pre-norm을 쓰면 43% 낮아집니다(0.201). 강의에 "
            "나온 post-norm을 쓰면 24% 높아집니다(0.435).",
        ),
        (
            (0.4, 0.3, 0.4),
            "Pre-norm leaves the loss as it is (0.400 against 0.400 without a norm); post-norm, "
            "as in the notes, lowers it by 25% (0.300).",
            "정규화가 없으면 손실은 0.400입니다. pre-norm을 쓰면 그대로입니다(0.400). 강의에 나온 "
            "post-norm을 쓰면 25% 낮아집니다(0.300).",
        ),
    ],
)
def test_the_sentence_says_what_each_norm_does(
    losses: tuple[float, float, float], en: str, ko: str
) -> None:
    sentence = reported(*losses).sentence
    assert sentence.en.startswith(en)
    assert sentence.ko.startswith(ko)


def test_a_loss_that_is_not_reached_is_said() -> None:
    found = reported(0.5, 1.5, 0.5)
    assert "of 1: pre-norm 40, post-norm (the notes) never, no norm 40." in found.sentence.en
    assert [row[-2] for row in found.rows] == ["40", "-", "40"]
