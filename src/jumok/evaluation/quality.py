"""How much a model may lose by fewer bits, and what is said of one that lost more."""

from collections.abc import Sequence

from jumok.bundle.card import MeasuredQuality

MOST_DROP = 0.3
"""Points of BLEU, chrF or accuracy."""
MOST_RISE = 0.01
"""The share by which the perplexity may rise."""
LEAST_EQUAL = 0.97
"""The share of tokens, or of a classifier's labels, that have to be equal."""

LOWER_IS_BETTER = ("loss", "perplexity", "bits per byte")


def faults_of(quality: MeasuredQuality) -> Sequence[str]:
    """The limits that the model exceeds, with its figures; none: the model is good enough."""
    faults = []
    for before, after in zip(quality.before, quality.after, strict=True):
        if before.known and not after.known:
            faults.append(f"{after.name} is not a number")
        if before.name == "perplexity" and after.value > before.value * (1 + MOST_RISE):
            rise = after.value / before.value - 1
            faults.append(
                f"{before.name} rose by {rise:.1%}, from {before.value:.3f} to {after.value:.3f} "
                f"(at most {MOST_RISE:.0%})"
            )
        drop = before.value - after.value
        if before.name not in LOWER_IS_BETTER and drop > MOST_DROP:
            faults.append(
                f"{before.name} fell by {drop:.2f}, from {before.value:.2f} to {after.value:.2f} "
                f"(at most {MOST_DROP})"
            )
    if quality.equal < LEAST_EQUAL:
        faults.append(
            f"{quality.equal:.2%} of {quality.tokens:,} {quality.unit} are equal (at least "
            f"{LEAST_EQUAL:.0%})"
        )
    return faults
