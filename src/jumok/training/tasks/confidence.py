"""The calibration of a translator's confidence, on held-out pairs and on texts that it cannot know.

A model is most often sure of itself where it knows least. So the calibration is fitted to its
translations of texts that are unlike its training data, too: with typing errors, in another case,
in the target language, in no language at all, with markup.

Source: Kamath, Jia and Liang 2020, "Selective question answering under domain shift", who fit a
calibrator to known and odd inputs together.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from jumok.bundle.confidence import Calibration
from jumok.data.pairs.noise import other_case, typo
from jumok.evaluation.calibration import JudgedOutput, calibrated, right_translations
from jumok.systems.translation.result import Translation
from jumok.systems.translation.translator import Translator

MARKUPS = ("[[{}|{}]]", "**{}**", "\\emph{{{}}}", "`{}`", "=={}==", "[{}](#{})")
TYPOS = (1, 1, 1, 2, 3, 5)  # in a text, each as often
SHARE = 4  # a fourth of the texts of each kind that has no typing errors


@dataclass(frozen=True)
class OddText:
    """A text and the translation it should have; None: it can have none."""

    source: str
    reference: str | None


def calibration_of(
    translator: Translator,
    usual: Sequence[Translation],
    sources: Sequence[str],
    references: Sequence[str],
    exact: bool,
) -> Calibration | None:
    """The calibration of the confidence in these translations of held-out pairs.

    Args:
        exact: as in `right_translations`.
    """
    odd = list(odd_texts(sources, references))
    translated = translator.translate(
        [each.source for each in odd], beam=1, alignments=False, split="length", keep=False
    )
    right, meaning = right_translations([each.text for each in usual], references, exact)
    known = [each.reference or "" for each in odd]
    odd_right, _ = right_translations([each.text for each in translated], known, exact)
    truth = [*right, *(r and o.reference is not None for r, o in zip(odd_right, odd, strict=True))]
    texts = [*sources, *(each.source for each in odd)]
    judge = translator.judge
    outputs = [
        JudgedOutput(
            translation.confidence,
            its,
            judge.evidence(translation, text, unknown),
            row < len(usual),
        )
        for row, (translation, text, unknown, its) in enumerate(
            zip([*usual, *translated], texts, judge.unknown(texts), truth, strict=True)
        )
        if translation.confidence is not None
    ]
    return calibrated(
        outputs, meaning, f"{len(usual)} validation sentences and {len(odd)} odd ones"
    )


def odd_texts(sources: Sequence[str], references: Sequence[str]) -> Iterator[OddText]:
    """Texts unlike the training data, made of pairs; the same for the same pairs."""
    random = Random(0)
    alphabet = sorted({letter for text in sources for letter in text if letter.isalpha()})
    cipher = str.maketrans(dict(zip(alphabet, random.sample(alphabet, len(alphabet)), strict=True)))
    for row, (source, reference) in enumerate(zip(sources, references, strict=True)):
        text = source
        for _ in range(random.choice(TYPOS)):
            text = typo(text, random)
        yield OddText(text, reference)
        if row % SHARE == 0:
            yield OddText(reference, None)
            yield OddText(source.translate(cipher), None)
            yield OddText(with_markup(source, random), reference)
            yield OddText(other_case(source, random), reference)


def with_markup(text: str, random: Random) -> str:
    """With one or two of its words marked up."""
    words = text.split(" ")
    for place in random.sample(range(len(words)), min(2, len(words))):
        words[place] = random.choice(MARKUPS).format(words[place], words[place])
    return " ".join(words)
