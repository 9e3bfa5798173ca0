"""Scores are sacreBLEU's, with the settings that the signature says."""

import math
import subprocess
import sys
from pathlib import Path

import pytest

from jumok.errors import ConfigError, DataError, MissingExtraError
from jumok.evaluation import text
from jumok.evaluation.text import bleu_tokenizer, score_text

HYPOTHESES = ["the cat sat on a mat", "dogs bark at night", "it rains"]
REFERENCES = ["the cat sat on the mat", "the dogs bark at night", "It rains again"]


def test_bleu_is_the_one_computed_by_hand() -> None:
    # Matches: words 4 of 5, pairs 3 of 4, triples 2 of 3, fours 1 of 2; both sides have 5 words.
    (bleu,) = score_text(["a b c d x"], ["a b c d e"], metrics=["bleu"])
    assert bleu.value == pytest.approx(100 * (4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** (1 / 4))


def test_brevity_is_penalised_as_by_hand() -> None:
    (bleu,) = score_text(["a b c d"], ["a b c d e"], metrics=["bleu"])
    assert bleu.value == pytest.approx(100 * math.exp(1 - 5 / 4))


def test_ter_is_edits_by_reference_words() -> None:
    (ter,) = score_text(["a b c d x"], ["a b c d e"], metrics=["ter"])
    assert ter.value == pytest.approx(100 * 1 / 5)


def test_chrf_is_the_one_computed_by_hand() -> None:
    # "ab" against "abc": precision and recall of characters 2/2 and 2/3, of pairs 1/1 and 1/2.
    # Longer ones do not occur on both sides and do not count. F2 = 5PR / (4P + R).
    precision, recall = (1 + 1) / 2, (2 / 3 + 1 / 2) / 2
    (chrf,) = score_text(["ab"], ["abc"], metrics=["chrf"])
    assert chrf.value == pytest.approx(100 * 5 * precision * recall / (4 * precision + recall))


def test_scores_and_intervals_are_those_of_sacrebleu_s_own_command(tmp_path: Path) -> None:
    for name, lines in (("h", HYPOTHESES), ("r", REFERENCES)):
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "sacrebleu", "r", "-i", "h", "-m", "bleu", "chrf", "ter"]
    command += ["--confidence", "-f", "text", "-w", "2"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    for line, score in zip(
        done.stdout.splitlines(), score_text(HYPOTHESES, REFERENCES), strict=True
    ):
        assert score.low is not None
        assert score.high is not None
        mean, half = (score.low + score.high) / 2, (score.high - score.low) / 2
        expected = f"{score.value:.2f} (μ = {mean:.2f} ± {half:.2f})"
        assert line.strip().startswith(f"{score.name}|{score.signature} = {expected}")


def test_signature_says_tokenizer_and_case() -> None:
    cased, lower = (
        score_text(HYPOTHESES, REFERENCES, metrics=["bleu"], tokenizer="none", lowercase=case)[0]
        for case in (False, True)
    )
    assert "case:mixed" in cased.signature
    assert "tok:none" in cased.signature
    assert "case:lc" in lower.signature
    assert lower.value > cased.value


def test_korean_is_cut_by_mecab_and_the_signature_says_so() -> None:
    (bleu,) = score_text(
        ["나는 학생이다."], ["나는 학생이다."], target_language="ko", metrics=["bleu"]
    )
    assert "tok:ko-mecab-" in bleu.signature
    assert bleu.value == pytest.approx(100)


def test_korean_without_mecab_is_cut_into_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "find_spec", lambda name: None)
    (bleu,) = score_text(["나는"], ["나는"], target_language="ko-KR", metrics=["bleu"])
    assert "tok:char" in bleu.signature
    with pytest.raises(MissingExtraError, match=r'pip install "jumok\[ko\]"'):
        score_text(["나"], ["나"], tokenizer="ko-mecab")
    with pytest.raises(ConfigError, match=r'pip install "sacrebleu\[ja\]"'):
        score_text(["a"], ["a"], tokenizer="ja-mecab")


@pytest.mark.parametrize(
    ("language", "tokenizer"),
    [("de", "13a"), ("", "13a"), ("zh-Hant", "zh"), ("ZHO", "zh"), ("th", "char")],
)
def test_language_chooses_the_tokenizer(language: str, tokenizer: str) -> None:
    assert bleu_tokenizer(language) == tokenizer


def test_corpus_of_which_some_samples_score_nothing_has_an_interval() -> None:
    # sacreBLEU's own corpus_score stops here: it cannot average floats with numpy's float32.
    bleu, *_ = score_text(["a", "the cat sat on the mat"], ["b", "the cat sat on the mat"])
    assert bleu.low is not None
    assert bleu.high is not None
    assert bleu.low < bleu.value < bleu.high


def test_chrf_plus_plus_adds_words() -> None:
    (score,) = score_text(HYPOTHESES, REFERENCES, metrics=["chrf++"], resamples=0)
    assert score.name == "chrF2++"
    assert "nw:2" in score.signature
    assert score.low is None


def test_different_line_counts_are_refused() -> None:
    with pytest.raises(DataError) as caught:
        score_text(["a"], ["a", "b"])
    assert "every translation needs its reference" in str(caught.value)
    assert "expected: 2 translations" in str(caught.value)
    assert "got:      1 translations" in str(caught.value)


def test_nothing_to_score_is_refused() -> None:
    with pytest.raises(DataError, match="there is nothing to score"):
        score_text([], [])


def test_unknown_tokenizer_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError) as caught:
        score_text(["a"], ["a"], tokenizer="moses")
    assert "BLEU has no such tokenizer" in str(caught.value)
    assert "13a | intl | char | zh | ko-mecab | ja-mecab | none" in str(caught.value)
    assert "'moses'" in str(caught.value)


def test_cutting_into_characters_for_want_of_a_package_is_said(monkeypatch) -> None:
    monkeypatch.setattr(text, "find_spec", lambda name: None)
    korean = 'ko not installed: BLEU over characters; pip install "jumok[ko]"'
    assert text.tokenizer_note("ko") == text.tokenizer_note("kor") == korean
    assert "sacrebleu[ja]" in text.tokenizer_note("ja")
    assert text.tokenizer_note("th") == text.tokenizer_note("en") == ""
    monkeypatch.setattr(text, "find_spec", lambda name: name)
    assert text.tokenizer_note("ko") == ""
