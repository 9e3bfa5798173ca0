"""The checks of the course: the right answer passes, each known wrong one gets its own hint."""

import json
import math

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from jumok.attention.core import merge_heads, softmax_of_allowed, split_heads
from jumok.errors import ConfigError
from jumok.positions.sinusoidal import sinusoids
from jumok_lectures.course import check
from jumok_lectures.course.catalog import EXERCISES, solutions
from jumok_lectures.course.checking import check_file
from jumok_lectures.course.exercise import Exercise, Question, judge
from jumok_lectures.texts import Texts
from tests.jumok_lectures.test_report import HANGUL

FUNCTIONS = [each for each in EXERCISES.values() if isinstance(each, Exercise)]
QUESTIONS = [each for each in EXERCISES.values() if isinstance(each, Question)]
HINTS = Texts("course").read["hint"]
WRONG = [(each, *wrong) for each in FUNCTIONS for wrong in each.wrong()]


@pytest.mark.parametrize("exercise", FUNCTIONS, ids=lambda each: each.name)
def test_the_right_answer_passes(exercise):
    verdict = judge(exercise, exercise.right)
    assert verdict.right, verdict.words.en


@pytest.mark.parametrize(
    ("exercise", "hint", "wrong"),
    WRONG,
    ids=lambda each: each if isinstance(each, str) else getattr(each, "name", ""),
)
def test_a_known_mistake_gets_its_own_hint(exercise, hint, wrong):
    verdict = judge(exercise, wrong)
    assert not verdict.right
    assert verdict.hint == hint
    assert verdict.words.en.startswith(HINTS[hint]["en"])
    assert verdict.words.ko.startswith(HINTS[hint]["ko"])


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda each: each.name)
def test_numbers(question):
    assert judge(question, question.right).right
    assert judge(question, str(question.right)).right
    for hint, number in question.mistakes.items():
        assert judge(question, number).hint == hint
    assert not judge(question, None).right
    assert not judge(question, math.nan).right


def test_every_hint_is_used_and_in_both_languages():
    used = {hint for each in EXERCISES.values() for hint in each.mistakes}
    assert used == set(HINTS)
    for hint in HINTS.values():
        assert HANGUL.search(hint["ko"])
        assert not HANGUL.search(hint["en"])


def loops(scores):
    """A softmax of a table, in plain Python."""
    rows = []
    for row in scores.tolist():
        largest = max(row)
        powers = [math.exp(each - largest) for each in row]
        rows.append([power / sum(powers) for power in powers])
    return torch.tensor(rows, dtype=scores.dtype)


def through_numpy(scores):
    return torch.from_numpy(np.exp(F.log_softmax(scores, -1).detach().numpy()))


def in_place(scores):
    scores -= scores.max(dim=-1, keepdim=True).values
    return scores.exp() / scores.exp().sum(dim=-1, keepdim=True)


def over_columns(scores):
    values = scores.detach().numpy()
    powers = np.exp(values - values.max(0))
    return torch.from_numpy(powers / powers.sum(0))


def new_tensor(words, w, u):
    """A state of the default precision, as in the chapter."""
    h = torch.zeros(u.shape[0])
    for x in words:
        h = torch.tanh(x @ w + h @ u)
    return h


def shared_again(scores, allowed):
    """The softmax of all scores; what is permitted is divided by its sum."""
    powers = (scores - scores.masked_fill(~allowed, -math.inf).amax(-1, keepdim=True)).exp()
    kept = torch.where(allowed, powers, 0.0)
    return kept / kept.sum(-1, keepdim=True).clamp(min=1)


def emptied_in_place(scores, allowed):
    weights = torch.softmax(torch.where(allowed, scores, -math.inf), -1)
    weights[torch.isnan(weights)] = 0
    return weights


def changed_in_place(scores, allowed):
    scores[~allowed] = -math.inf
    return scores.softmax(-1).nan_to_num()


def without_each(weights, values):
    falls = []
    for word in range(len(weights)):
        rest = torch.cat([weights[:word], weights[word + 1 :]])
        others = torch.cat([values[:word], values[word + 1 :]])
        falls.append(weights @ values - rest / rest.sum() @ others)
    return torch.stack(falls)


def pointing(weights, boxes):
    pairs = zip(weights.flatten(1), boxes.flatten(1), strict=True)
    return sum(float(box[map_.argmax()]) for map_, box in pairs) / len(weights)


def ranks(first, second):
    sides = [each.argsort().argsort() for each in (first, second)]
    count = len(first)
    return float(1 - 6 * ((sides[0] - sides[1]) ** 2).sum() / (count * (count**2 - 1)))


# Answers written otherwise than the checks' own.
@pytest.mark.parametrize(
    ("name", "answer", "words"),
    [
        ("00.softmax", lambda s: F.softmax(s, -1), "right"),
        ("00.softmax", loops, "right. The gradients"),
        ("00.softmax", through_numpy, "right. The gradients"),
        ("00.softmax", in_place, "changes its input"),
        ("00.softmax", over_columns, "columns sum to 1"),
        ("00.softmax", lambda s: None, "not written yet"),
        ("00.softmax", lambda s: s.tolist(), "not list"),
        ("00.softmax", lambda s: 1 / 0, "ZeroDivisionError"),
        ("00.softmax", lambda s: s.sum(), "the shape is ()"),
        ("00.softmax", lambda s: torch.full_like(s, 0.5), "0.5 at [0, 0], expected 0.88"),
        ("00.softmax", 3, "not int"),
        ("00.attention", F.scaled_dot_product_attention, "right"),
        ("00.attention", lambda q, k, v: F.softmax(q @ k.mT, -1) @ v, "not divided"),
        ("03.distances", lambda q, k: torch.cdist(q[None], k)[0], "right"),
        ("07.masked_softmax", softmax_of_allowed, "right"),
        ("07.masked_softmax", lambda s, a: F.softmax(s + a.double().log(), -1), "NaN"),
        ("07.causal_mask", lambda n: torch.arange(n)[:, None] >= torch.arange(n), "right"),
        ("07.causal_mask", lambda n: torch.arange(n)[:, None] <= torch.arange(n), "transposed"),
        ("08.sinusoidal", sinusoids, "right"),
        ("09.split_heads", lambda x, h: split_heads(x[None], h)[0], "right"),
        ("09.merge_heads", lambda x: merge_heads(x[None])[0], "right"),
        ("09.split_heads", lambda x, h: x.view(h, x.shape[0], -1), "mixes the words"),
        ("10.layer_norm", lambda x, g, b: F.layer_norm(x, x.shape[-1:], g, b), "right"),
        (
            "10.layer_norm",
            lambda x, g, b: g * (x - x.mean(-1, True)) / x.std(-1, True) + b,
            "n - 1",
        ),
        ("01.encode", new_tensor, "right"),
        ("05.scaled_scores", lambda q, k: q @ k.mT / q.shape[-2] ** 0.5, "number of queries"),
        ("05.scaled_scores", lambda q, k: q @ k.mT / len(q) ** 0.5, "number of queries"),
        ("05.scaled_scores", lambda q, k: q @ k.transpose(1, 2) / 5**0.5, "transpose(-2, -1)"),
        ("06.all_products", lambda q, k: q @ k.permute(0, 2, 1), "transpose(-2, -1)"),
        ("07.masked_softmax", changed_in_place, "x[...] ="),
        ("09.split_heads", lambda x, h: x.view(len(x), h, x.shape[1] / h), "divide with //"),
        ("09.split_heads", lambda x, h: torch.stack(x.split(x.shape[1] / h, 1)), "divide with //"),
        (
            "12.perplexity",
            lambda p: math.exp(-sum(map(math.log, p)) / len(p)),
            "right. The gradients",
        ),
        ("12.next_loss", lambda logits, tokens: 5.0, "the example by hand: 5, expected 0.4076."),
        ("02.dot_scores", lambda s, h: torch.tensor([each @ s for each in h]), "right"),
        ("03.distances", lambda q, k: torch.tensor([math.dist(q, each) for each in k]), "right"),
        ("03.weighted_sum", lambda w, v: w @ v / w.sum(-1, keepdim=True), "right"),
        ("07.masked_softmax", shared_again, "right"),
        ("07.masked_softmax", emptied_in_place, "right. The gradients"),
        ("12.perplexity", lambda p: p.prod() ** (-1 / len(p)), "right"),
        ("12.next_loss", lambda x, t: F.cross_entropy(x[:-1], t[1:]).item(), "right"),
        ("12.masked_loss", lambda x, t, c: F.cross_entropy(x[c], t[c]).item(), "right"),
        ("13.pointing", pointing, "right"),
        ("15.occlusion", lambda w, v: w @ v - (w @ v - w * v) / (w.sum() - w), "right"),
        ("15.occlusion", without_each, "right"),
        ("15.rank_correlation", ranks, "right"),
        ("00.softmax", lambda s: F.softmax(s, -1) - 2e-6, "0.019531718 at [0, 0]"),
        ("01.step", lambda x, h, w, u: torch.rnn_tanh_cell(x[None], h[None], w.T, u.T)[0], "right"),
    ],
)
def test_answers_of_others(name, answer, words):
    verdict = judge(EXERCISES[name], answer)
    assert words in verdict.words.en
    assert verdict.right == words.startswith("right")


@pytest.mark.parametrize("chapter", sorted({name[:2] for name in EXERCISES}))
@pytest.mark.parametrize("language", ["en", "ko"])
def test_solutions_are_a_file_that_passes(chapter, language, tmp_path):
    file = tmp_path / "answers.py"
    file.write_text(solutions(chapter, language), "utf-8")
    verdicts = check_file(chapter, file)
    assert verdicts
    assert all(verdict.right for verdict in verdicts.values())


CODE = """
import numpy as np


def softmax(scores):
    powers = np.exp(scores - scores.astype(float).max())
    return powers / powers.sum()


def attention(query, key):
    return query


machines = 0.12
"""


@pytest.mark.parametrize("suffix", [".py", ".ipynb"])
def test_an_error_is_shown_with_its_line_and_the_type_of_the_inputs(suffix, tmp_path):
    file = tmp_path / f"answers{suffix}"
    cells = {"cells": [{"cell_type": "code", "source": [CODE]}]}
    file.write_text(json.dumps(cells) if suffix == ".ipynb" else CODE, "utf-8")
    verdicts = check_file("00", file)
    assert verdicts["00.machines"].right
    words = verdicts["00.softmax"].words
    title, line, inputs = words.en.splitlines()
    assert "AttributeError: 'Tensor' object has no attribute 'astype'" in title
    assert line == "  in the line: powers = np.exp(scores - scores.astype(float).max())"
    assert inputs == "  " + Texts("course")("inputs").en
    assert words.ko.splitlines()[1:] == [
        "  오류가 난 줄: powers = np.exp(scores - scores.astype(float).max())",
        "  " + Texts("course")("inputs").ko,
    ]
    [other] = verdicts["00.attention"].words.en.splitlines()
    assert "takes 2 positional arguments but 3 were given" in other


def test_gradients_that_nobody_needs_are_said_to_be_so():
    unused = Texts("course")("unused").en
    needless = judge(EXERCISES["12.perplexity"], lambda p: float(p.log().mean().neg().exp()))
    needed = judge(EXERCISES["00.softmax"], loops)
    assert needless.words.en.endswith(unused)
    assert needed.right
    assert unused not in needed.words.en


def test_values_in_korean_need_no_particle():
    words = judge(EXERCISES["12.perplexity"], lambda p: 3.0).words.ko
    assert words == "손으로 계산한 예: 3입니다. 바른 값은 2입니다."


def test_check_prints_in_the_language(monkeypatch, capsys):
    monkeypatch.setenv("JUMOK_LANG", "ko")
    check("00.machines", 0.88)
    assert capsys.readouterr().out == "✗ 00.machines: Thinking 자신의 비율입니다.\n"
    monkeypatch.setenv("JUMOK_LANG", "en")
    check("00.machines", 0.12)
    assert capsys.readouterr().out == "✓ 00.machines: right.\n"
    monkeypatch.delenv("JUMOK_LANG")
    check("00.machines", 0.12)
    assert capsys.readouterr().out == "✓ 00.machines: 맞았습니다.\n  right.\n"


def test_an_unknown_exercise_is_refused():
    with pytest.raises(ConfigError, match="there is no such exercise"):
        check("00.softmaxx", len)


@pytest.mark.parametrize(
    ("name", "content", "error"),
    [
        ("a.py", "x = 1\ny = 1 / 0\n", "a.py, line 2: the code of the answers fails"),
        ("a.py", "def f(:\n", "a.py, line 1: the code of the answers fails"),
        ("a.ipynb", "{}", "this is no notebook"),
        ("a.ipynb", "[", "this is no notebook"),
        ("a.py", None, "the answers cannot be read"),
    ],
)
def test_a_damaged_file_is_named(name, content, error, tmp_path):
    file = tmp_path / name
    if content is not None:
        file.write_text(content, "utf-8")
    with pytest.raises(ConfigError, match=error):
        check_file("00", file)
