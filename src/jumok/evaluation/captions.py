"""Captions against several reference captions: BLEU-1 to BLEU-4, CIDEr-D, ROUGE-L and METEOR.

The outputs must be what a model wrote on its own, word after word. Scores of single words given
the words before them in a reference ("teacher-forced") are not captions and come out far higher.

Figures are percent, as papers print them: CIDEr-D of 1.134 by its authors' program appears as
113.4. They depend on how text is cut into words; the usual way is Stanford's Penn Treebank
tokenizer in lower case, without punctuation. `caption_words` does the same without Java: on the
5,625 captions of Flickr8k's first thousand photographs and of 125 from COCO, not one differs.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Float
from sacrebleu import __version__ as sacrebleu_version
from sacrebleu.metrics.bleu import BLEU

from jumok.bundle.card import Score
from jumok.errors import DataError
from jumok.evaluation.cider import LONGEST, SIGMA, cider_d
from jumok.evaluation.meteor import meteor_score
from jumok.evaluation.text import check_tokenizer

Words: TypeAlias = list[str]
RESAMPLES, SEED = 1000, 12345
BETA = 1.2  # of ROUGE-L: how much recall weighs against precision

TOKEN = re.compile(r"'(?:s|m|d|ll|re|ve)\b|\d+(?:[.,:]\d+)+|\w+(?:[-'./&]\w+)*|\.\.\.|--|[^\w\s]")
CLITIC = re.compile(r"(?<=\w)(?:n't|'s|'m|'d|'ll|'re|'ve)$")
PUNCTUATION = frozenset([*"'\"`“”‘.?!,:;-–—…(){}", "``", "''", "--", "..."])


def caption_words(text: str, tokenizer: str = "ptb") -> Words:
    """The words that captions are compared by, in lower case.

    Args:
        tokenizer: "ptb" parts words from punctuation and from what is contracted with them ("is
            n't", "dog 's") and drops punctuation; any other is one of sacreBLEU's
            (`jumok.evaluation.text.TOKENIZERS`), such as "ko-mecab" or "char", and drops nothing.

    Raises:
        ConfigError: an unknown tokenizer.
        MissingExtraError: a tokenizer that is not installed.
    """
    if tokenizer == "ptb":
        words = []
        for found in TOKEN.findall(text.lower().replace("’", "'")):
            whole = "can not" if found == "cannot" else CLITIC.sub(r" \g<0>", found)
            words += whole.split()
        return [word for word in words if word not in PUNCTUATION]
    check_tokenizer(tokenizer)
    return _cutter(tokenizer)(text.lower()).split()


@cache
def _cutter(tokenizer: str) -> Callable[[str], str]:
    """One of sacreBLEU's tokenizers; MeCab loads its dictionary again for each one."""
    cut: Callable[[str], str] = BLEU(tokenize=tokenizer).tokenizer
    return cut


class Counted(NamedTuple):
    """Captions cut into words: what a model wrote, and what people did, for every picture."""

    outputs: list[Words]
    references: list[list[Words]]


def score_captions(
    outputs: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    tokenizer: str = "ptb",
    meteor: bool = False,
    resamples: int = RESAMPLES,
) -> list[Score]:
    """BLEU-1 to BLEU-4, CIDEr-D and ROUGE-L of one caption a picture, and METEOR if asked for.

    The interval is the middle 95 % of the score over `resamples` bootstrap samples of the
    pictures; METEOR has none. CIDEr-D weighs words by how few of *these* pictures they describe,
    so its figures on different sets of pictures are not comparable, and of a single picture it
    is 0.

    Args:
        outputs: what the model wrote, one a picture.
        references: the reference captions, one or more for each picture.
        tokenizer: as `caption_words`.
        meteor: METEOR too, which is for English and needs Java.
        resamples: 0 leaves the intervals out.

    Raises:
        DataError: no picture, a picture without a reference, or more of one than of the other.
        ConfigError: an unknown tokenizer; METEOR without Java.
        MissingExtraError: what the tokenizer or METEOR needs is not installed.
    """
    _check(outputs, references)
    counted = Counted(
        [caption_words(each, tokenizer) for each in outputs],
        [[caption_words(each, tokenizer) for each in group] for group in references],
    )
    weights = _weights(len(outputs), resamples)
    numbers = {len(group) for group in references}
    shared = f"nrefs:{numbers.pop() if len(numbers) == 1 else 'var'}|case:lc|tok:{tokenizer}"
    signature = f"{shared}|smooth:none|reflen:closest|sacrebleu:{sacrebleu_version}"
    scores = [
        _score(f"BLEU-{order}", _bleu(order), _bleu_statistics(counted), weights, signature)
        for order in range(1, LONGEST + 1)
    ]
    means = {
        "CIDEr-D": (cider_d(*counted), f"{shared}|n:{LONGEST}|sigma:{SIGMA:g}|idf:references"),
        "ROUGE-L": (_rouge_l(counted), f"{shared}|beta:{BETA}"),
    }
    for name, (each, signature) in means.items():
        scores.append(_score(name, _mean, each[:, None], weights, signature))
    if meteor:
        value = 100 * meteor_score(*counted)
        scores.append(Score("METEOR", value, signature=f"{shared}|meteor:1.5"))
    return scores


def _check(outputs: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    if len(outputs) != len(references):
        raise DataError(
            "every caption needs its references.",
            expected=f"{len(references):,} captions, one for each picture",
            got=f"{len(outputs):,} captions",
        )
    if not outputs:
        raise DataError("there is nothing to score.", do="give at least one picture")
    bare = next((number for number, group in enumerate(references, 1) if not group), None)
    if bare is not None:
        raise DataError(
            "a picture has no reference.", expected="at least one caption", got=f"picture {bare:,}"
        )


Statistics: TypeAlias = Float[np.ndarray, "pictures columns"]
Totals: TypeAlias = Float[np.ndarray, "samples columns"]
Measure: TypeAlias = Callable[[Totals], Float[np.ndarray, " samples"]]


def _weights(pictures: int, resamples: int) -> Float[np.ndarray, "samples pictures"]:
    """How often each picture counts: once in row 0, and in the others as often as it was drawn."""
    random = np.random.default_rng(SEED)
    drawn = random.multinomial(pictures, np.full(pictures, 1 / pictures), size=resamples)
    return np.concatenate([np.ones((1, pictures)), drawn])


def _score(
    name: str, measure: Measure, statistics: Statistics, weights: np.ndarray, signature: str
) -> Score:
    """The measure of all pictures, and its interval where there are samples."""
    value, *samples = 100 * measure(weights @ statistics / weights.sum(1, keepdims=True))
    if not samples:
        return Score(name, float(value), signature=signature)
    low, high = np.percentile(samples, [2.5, 97.5])
    signature += f"|bs:{len(samples)}|seed:{SEED}"
    return Score(name, float(value), float(low), float(high), signature)


def _mean(totals: Totals) -> Float[np.ndarray, " samples"]:
    return totals[:, 0]


def _bleu_statistics(counted: Counted) -> Statistics:
    """For every picture: the n-grams that are right for n = 1 to 4, all of them, and both lengths.

    A reference's length is that of the nearest one; the shorter of two as near.
    """
    metric = BLEU(tokenize="none", effective_order=True)
    rows = []
    for output, group in zip(*counted, strict=True):
        found = metric.sentence_score(" ".join(output), [" ".join(each) for each in group])
        rows.append([*found.counts, *found.totals, found.sys_len, found.ref_len])
    return np.array(rows, dtype=float)


def _bleu(order: int) -> Measure:
    """BLEU with n-grams of 1 to `order`: brevity penalty times the precisions' geometric mean."""

    def measure(totals: Totals) -> Float[np.ndarray, " samples"]:
        right, all_of_them = totals[:, :order], totals[:, LONGEST : LONGEST + order]
        written, wanted = totals[:, -2], totals[:, -1]
        with np.errstate(divide="ignore", invalid="ignore"):
            precisions = np.where(all_of_them > 0, right / all_of_them, 0.0)
            geometric = np.exp(np.log(precisions).mean(1))
            brevity = np.where(written > 0, np.minimum(1.0, np.exp(1 - wanted / written)), 0.0)
        scores: np.ndarray = geometric * brevity
        return scores

    return measure


def _rouge_l(counted: Counted) -> Float[np.ndarray, " pictures"]:
    """ROUGE-L of each picture: best precision and best recall of the longest common subsequence
    over the references, (1 + β²) P R / (R + β² P). Source: Lin 2004; as in COCO's evaluation."""
    scores = []
    for output, group in zip(*counted, strict=True):
        common = [_common(output, each) for each in group]
        if not any(common):
            scores.append(0.0)
            continue
        precision = max(common) / len(output)
        recall = max(n / len(each) for n, each in zip(common, group, strict=True) if n)
        scores.append((1 + BETA**2) * precision * recall / (recall + BETA**2 * precision))
    return np.array(scores)


def _common(first: Words, second: Words) -> int:
    """The length of the longest subsequence that both share."""
    row = [0] * (len(second) + 1)
    for word in first:
        before = 0
        for index, other in enumerate(second, start=1):
            before, row[index] = (
                row[index],
                before + 1 if word == other else max(row[index], row[index - 1]),
            )
    return row[-1]
