"""What the page says of an effect, compared with the probabilities before and after it."""

import math
import re

from jumok.inspection.trace import Trace

EFFECT = re.compile(
    r"about as probable as before"
    r"|(?P<how>less probable|more probable|nearly impossible)"
    r" \((?P<before>[\d.]+ %) → (?P<after>[\d.]+ %)\)"
    r"|(?P<share>\d+) % (?P<by>less|more) probable"
    r"|(?:over )?(?P<times>[\d,.]+) times (?P<as>less|more) probable"
)
IMPROBABLE = 0.001


def is_shown(text: str, share: float) -> bool:
    """Whether a percentage is this share, as far as its digits go."""
    number = text.removesuffix(" %")
    digits = len(number.partition(".")[2])
    return abs(float(number) - 100 * share) <= max(0.51 * 10**-digits, 1e-6 * 100)


def says_effect(said: str, nats: float, before: float) -> bool:
    """Whether a sentence states this drop of the logarithm of a probability."""
    match = EFFECT.search(said)
    assert match is not None, said
    after = min(1.0, before * math.exp(-nats))
    if match["how"]:
        falls = before >= 0.0101 and after < 0.99 * IMPROBABLE
        right = {
            "less probable": nats > 0 and not falls,
            "more probable": nats < 0,
            "nearly impossible": before >= 0.0099 and after < 1.01 * IMPROBABLE,
        }
        shown = is_shown(match["before"], before) and is_shown(match["after"], after)
        return shown and right[match["how"]]
    if match["share"] or match["times"]:
        assert max(before, after) < IMPROBABLE * 1.01
    if match["share"]:
        stated = math.log(1 + int(match["share"]) / 100 * (-1 if match["by"] == "less" else 1))
        return abs(-stated - nats) < 0.06
    if match["times"]:
        times = math.log(float(match["times"].replace(",", "")))
        return abs(times * (1 if match["as"] == "less" else -1) - nats) < 0.06
    return abs(nats) < 0.06


def steps_of_word(recorded: Trace, own: str, row: int) -> list[int]:
    """The steps that wrote a word: each writes its token before that is read."""
    return [token - 1 for token, word in enumerate(recorded.axes[own].words) if word == row]


def chance(recorded: Trace, steps: list[int] | None = None) -> float:
    """The probability of these steps together; None: of the whole output."""
    chosen = range(len(recorded.steps)) if steps is None else steps
    return math.exp(sum(recorded.steps[step].log_probability for step in chosen))
