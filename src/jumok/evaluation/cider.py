"""CIDEr-D: the similarity of captions, in n-grams weighted by how specific they are.

The weight of an n-gram is its inverse document frequency: log(images / images whose references have
it). A caption is then a vector of weighted counts, one for each n, and

    CIDEr-D = 10 · mean over n of mean over references of
              exp(-(l_c - l_r)² / 2σ²) · Σ min(c, r) · r / (‖c‖ ‖r‖)

with c and r the vectors of caption and reference, l their numbers of words, σ = 6, n = 1 to 4. The
minimum and the Gaussian are the additions of "-D": repetitions and long captions gain nothing.

Source: Vedantam et al. 2015, "CIDEr: Consensus-based Image Description Evaluation", section 3.
Lengths are counted in bigrams, as in its authors' program, which shifts both by one.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from jaxtyping import Float

LONGEST = 4
SIGMA = 6.0

NGram = tuple[str, ...]
Counts = list["Counter[NGram]"]
Vector = list[dict[NGram, float]]


def cider_d(
    outputs: Sequence[Sequence[str]], references: Sequence[Sequence[Sequence[str]]]
) -> Float[np.ndarray, " pictures"]:
    """CIDEr-D of every image's caption, given as words, with the factor 10.

    The corpus score is the mean. Weights are computed from `references`; for a single image they
    are all log 1 = 0, and so is its score.
    """
    counted = [[_counts(each) for each in group] for group in references]
    described = _described(counted)
    pictures = math.log(len(references))

    def vector(counts: Counts) -> Vector:
        return [
            {
                ngram: count * (pictures - math.log(max(1, described[ngram])))
                for ngram, count in each.items()
            }
            for each in counts
        ]

    scores = []
    for output, group in zip(outputs, counted, strict=True):
        counts = _counts(output)
        written = vector(counts)
        alike = [
            _alike(written, vector(each)) * _penalty(counts[1].total() - each[1].total())
            for each in group
        ]
        scores.append(10 * sum(alike) / len(alike))
    return np.array(scores)


def _counts(words: Sequence[str]) -> Counts:
    """The n-grams of a caption, for n = 1 to LONGEST."""
    return [
        Counter(tuple(words[start : start + n]) for start in range(len(words) - n + 1))
        for n in range(1, LONGEST + 1)
    ]


def _described(counted: Iterable[Iterable[Counts]]) -> "Counter[NGram]":
    """For each n-gram the number of images whose references have it."""
    found: Counter[NGram] = Counter()
    for group in counted:
        found.update({ngram for counts in group for each in counts for ngram in each})
    return found


def _alike(written: Vector, reference: Vector) -> float:
    """The mean over n of the clipped cosine."""
    cosines = []
    for mine, theirs in zip(written, reference, strict=True):
        product = sum(
            min(mine[each], theirs[each]) * theirs[each] for each in mine if each in theirs
        )
        norms = math.hypot(*mine.values()) * math.hypot(*theirs.values())
        cosines.append(product / norms if norms else 0.0)
    return sum(cosines) / len(cosines)


def _penalty(difference: int) -> float:
    return math.exp(-(difference**2) / (2 * SIGMA**2))
