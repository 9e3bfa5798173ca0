"""The worked numbers of the notes, each computed a second time by hand."""

import math
import re

import numpy as np
import pytest

from jumok.errors import ConfigError
from jumok_lectures.worked.catalog import WORKED, worked
from jumok_lectures.worked.example import Noted, WorkedExample, WorkedStep, explained
from tests.jumok_lectures.test_quotes import NOTES
from tests.jumok_lectures.test_report import HANGUL

EXAMPLES = [example for note in WORKED for example in worked(note)]
STEPS = [(example, step) for example in EXAMPLES for step in example.steps]


def one(place: str) -> WorkedExample:
    (example,) = worked(place)
    return example


def compared(place: str) -> list[tuple[str, float, bool]]:
    """What the note has, what was computed, and whether they agree."""
    return [
        (step.noted.written, step.computed, step.agrees)
        for step in one(place).steps
        if step.noted is not None
    ]


def row(place: str, number: int = 0) -> np.ndarray:
    """q·k, score and weight of every key, as the terminal and the page show them."""
    looks = explained(one(place).trace, number).looks
    return np.array([[look.product, look.score, look.weight] for look in looks])


def test_thinking_and_machines_by_hand() -> None:
    first, second = 1 / (1 + math.exp(12 - 14)), 1 / (1 + math.exp(6 - 7))
    expected = [
        ("14", 14.0), ("12", 12.0),
        ("88%", first), ("12%", 1 - first), ("0.88", first), ("0.12", 1 - first),
        ("0.7311", second), ("0.2689", 1 - second),
    ]  # fmt: skip
    found = compared("002:15")
    assert [(written, pytest.approx(number, abs=1e-6)) for written, number, _ in found] == expected
    assert all(agrees for _, _, agrees in found)
    assert row("002:15") == pytest.approx(
        np.array([[112, 14, first], [96, 12, 1 - first]]), abs=1e-5
    )


def test_the_first_cell_is_a_half_and_the_rows_sum_to_one() -> None:
    assert compared("002:11") == [
        ("0.5000", pytest.approx(0.5, abs=1e-6), True),
        ("0.6667", pytest.approx(6 / 9, abs=1e-6), True),
        ("1", pytest.approx(1.0, abs=1e-6), True),
    ]
    matrix = one("002:11").trace.sites[0].weights[0]
    odds = np.ones((4, 4)) - np.eye(4) + np.diag([3.0, 6.0, 9.0, 1.0])
    assert matrix == pytest.approx(odds / odds.sum(axis=1, keepdims=True), abs=1e-6)


def test_products_of_lecture_003() -> None:
    assert compared("003:13") == [
        ("23", 2 * 4 + 3 * 5, True),
        ("-4", 2 * -5 + 3 * 2, True),
        ("-4", 2 * -5, False),
    ]
    assert row("003:13")[:, 0].tolist() == [23.0, -4.0]


def test_a_mixture_is_not_its_information() -> None:
    first = 1 / (1 + math.exp(12 - 14))
    share = first**2 / (first**2 + (1 - first) ** 2)
    assert compared("003:8") == [
        ("88%", pytest.approx(first, abs=1e-6), True),
        ("12%", pytest.approx(1 - first, abs=1e-6), True),
        ("88%", pytest.approx(share, abs=1e-6), False),
    ]


def test_the_third_of_four_keys_has_the_largest_product() -> None:
    products = np.array([2 - 2, -1 + 0, 1 + 2, 0.5 + 1.0])
    weights = np.exp(products) / np.exp(products).sum()
    assert row("003:18") == pytest.approx(np.stack([products, products, weights], 1), abs=1e-6)
    keys = np.array([[2.0, -1.0], [-1.0, 0.0], [1.0, 1.0], [0.5, 0.5]])
    first = pytest.approx(weights @ keys[:, 0], abs=1e-6)
    assert [(found, agrees) for _, found, agrees in compared("003:18")] == [
        (1.0, True),
        (first, True),
    ]


def test_the_third_output_of_lecture_000() -> None:
    """q3 = [1, 2]; k = [1, 1], [0, 1], [1, 2]; v = [3, 0], [0, 3], [3, 3]."""
    products = np.array([3.0, 2.0, 5.0])
    scores = products / math.sqrt(2)
    weights = np.exp(scores) / np.exp(scores).sum()
    assert row("000:105", 2) == pytest.approx(np.stack([products, scores, weights], 1), abs=1e-6)
    output = weights @ np.array([[3.0, 0.0], [0.0, 3.0], [3.0, 3.0]])
    said = " ".join(step.said.en for step in one("000:105").steps)
    assert f"[{output[0]:.4f}, {output[1]:.4f}]" in said
    assert one("000:105").trace.sites[0].weights[0, 0].tolist() == [1.0, 0.0, 0.0]


def test_one_french_word_takes_four_english_ones() -> None:
    """entarté has the score 6 for four of six words."""
    share = math.exp(6) / (4 * math.exp(6) + 2)
    wanted = np.array([0.0, share, 0.0, share, share, share])
    assert row("000:20", 3)[:, 2] == pytest.approx(np.where(wanted, wanted, share / math.exp(6)))
    assert row("000:20", 0)[0, 2] == pytest.approx(math.exp(6) / (math.exp(6) + 5))


def test_x_itself_is_query_key_and_value() -> None:
    products = np.array([1.0, 1.0, 2.0])
    weights = np.exp(products) / np.exp(products).sum()
    assert row("000:62", 2) == pytest.approx(np.stack([products, products, weights], 1), abs=1e-6)
    output = weights @ np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    said = " ".join(step.said.en for step in one("000:62").steps)
    assert f"= [{output[0]:.4f}, {output[1]:.4f}]" in said


def test_the_whole_sequence_at_once_by_hand() -> None:
    words = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    query, key = words @ [[1.0, 0.0], [0.0, 2.0]], words @ [[1.0, 1.0], [0.0, 1.0]]
    scores = np.where(np.tri(3), query @ key.T / math.sqrt(2), -np.inf)
    weights = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    said = " ".join(step.said.en for step in one("000:148").steps)
    assert "Q K^T = 1 0 1; 2 2 4; 3 2 5" in said
    assert (query @ key.T).tolist() == [[1, 0, 1], [2, 2, 4], [3, 2, 5]]
    assert "i < j: 1 -∞ -∞; 2 2 -∞; 3 2 5" in said
    for output in weights @ (3 * words):
        assert f"[{output[0]:.4f}, {output[1]:.4f}]" in said
    (off,) = re.findall(r"differ by at most (\S+)", said)
    assert float(off) < 1e-6


def test_low_means_less_than_the_vocabulary() -> None:
    # row 3 of 0 ... 14 in threes
    assert compared("001:49") == [(f"{n:.4f}", n, True) for n in (9, 10, 11)]
    assert "512 or 1,024 numbers" in one("001:49").steps[0].said.en


def test_it_attends_to_itself_without_matrices_and_to_animal_with_them() -> None:
    powers = np.exp([0.6, 0.0, 1.0])
    assert row("001:266", 2)[:, 2] == pytest.approx(powers / powers.sum(), abs=1e-6)
    turned = np.exp(np.array([0.8 * 5 * 1.0, 0.0, 0.8 * 5 * 0.6]) / math.sqrt(3))
    animal, street, itself = turned / turned.sum()
    said = one("001:266").steps[1].said.en
    assert f"animal {animal:.4f}, street {street:.4f}, it {itself:.4f}" in said


def test_exponents_and_widths_of_lecture_000() -> None:
    assert compared("000:121") == [
        ("8.218407461554972e+307", math.exp(709), True),
        ("inf", math.inf, True),
    ]
    assert compared("000:100") == [("1024", 512 / 8, False)]


def test_positions_and_keys_of_lecture_001() -> None:
    assert compared("001:102") == []  # nothing is computed there
    assert one("001:102").steps[0].said.en == "I: 1, am: 2, a: 3, student: 4"
    eleven = [("0.0909", pytest.approx(1 / 11), True), ("11", pytest.approx(11.0), True)]
    assert compared("001:174") == eleven
    said = " ".join(step.said.en for step in one("001:108").steps)
    assert "= 1.1, more than 1" in said
    thirds, sevenths = (", ".join(f"{i / n:.4f}" for i in range(n + 1)) for n in (3, 7))
    assert f"4 words: [{thirds}]; 8 words: [{sevenths}]" in said
    waves = [math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)]
    found = compared("001:108")
    assert [computed for _, computed, _ in found] == pytest.approx(waves, abs=1e-6)
    assert all(agrees for *_, agrees in found)
    assert f"position 1 has [{', '.join(f'{wave:.5f}' for wave in waves)}]" in said


def test_the_student_of_lecture_001() -> None:
    """a asks for student: q = 4 times its direction, divided by √4."""
    powers = np.array([1.0, 1.0, 1.0, math.exp(2.0)])
    assert row("001:192", 2)[:, 2] == pytest.approx(powers / powers.sum(), abs=1e-6)
    assert "[0.9990, 0.0010]" in one("001:230").steps[0].said.en


def test_one_step_of_a_decoder_of_lecture_004() -> None:
    """s = [1, -1]; h = [1, 0], [0, 1], [1, 1]; v = [2, 1]."""
    hidden = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    energies = np.tanh(np.array([1.0, -1.0]) + hidden) @ np.array([2.0, 1.0])
    weights = np.exp(energies) / np.exp(energies).sum()
    found = row("004:90")
    assert found == pytest.approx(np.stack([energies, energies, weights], 1), abs=1e-6)
    context = weights @ hidden
    said = " ".join(step.said.en for step in one("004:90").steps)
    assert f"c = Σ a_i h_i = [{context[0]:.4f}, {context[1]:.4f}]" in said


def test_two_rnns_of_lecture_004() -> None:
    """h = tanh(x + h / 2) of 1, 0, 0; s = tanh(y + s / 2 + c)."""
    last = math.tanh(0.5 * math.tanh(0.5 * math.tanh(1.0)))
    assert compared("004:58") == [
        ("0.1797", pytest.approx(last, abs=1e-6), True),
        ("0.8537", pytest.approx(math.tanh(1.0 + 1.5 * last), abs=1e-6), True),
    ]


def test_what_follows_the_context_of_lecture_004() -> None:
    hidden = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    energies = np.tanh(np.array([1.0, -1.0]) + hidden) @ np.array([2.0, 1.0])
    weights = np.exp(energies) / np.exp(energies).sum()
    state = np.tanh(np.array([0.5, 0.0]) + [1.0, -1.0] + weights @ hidden)
    found = [(computed, agrees) for _, computed, agrees in compared("004:108")]
    wanted = [*state, weights.min()]
    assert found == [(pytest.approx(number, abs=1e-6), True) for number in wanted]
    assert one("004:108").steps[2].said.en.startswith("h1 has the smallest weight")


def test_the_two_diagonals_of_lecture_004() -> None:
    said = [step.said.en for step in one("004:144").steps]
    assert "the English words 1, 2, 3: a diagonal" in said[0]
    assert "6, 5, 4: the opposite" in said[1]
    share = math.exp(6) / (math.exp(6) + 5)
    assert compared("004:144") == [("0.9878", pytest.approx(share, abs=1e-6), True)]


def test_sizes_of_lecture_004() -> None:
    sizes = [step for step in one("004:31").steps if step.noted is not None]
    assert [step.noted.giver for step in sizes] == ["nn.GRU"] * 3
    assert all(step.agrees and abs(step.computed) > 1e-3 for step in sizes)
    said = " ".join(step.said.en for step in one("004:221").steps)
    for part in ("2 x 3 x 4 → 6 x 4", "D_k = 6 x 2", "D_v = 5 x 3", "4 / √4 = 2", "would be 8"):
        assert part in said


@pytest.mark.parametrize(("example", "step"), STEPS)
def test_a_step_quotes_its_note(example: WorkedExample, step: WorkedStep) -> None:
    if step.noted is not None and step.noted.where == "note":
        assert step.noted.written in step.quote.words
    if not NOTES.is_dir():
        pytest.skip("the lecture notes are not here: $JUMOK_LECTURES names their folder")
    for quote in (example.quote, step.quote):
        (note,) = NOTES.glob(f"{quote.note}_*")
        assert quote.words in note.read_text("utf-8").splitlines()[quote.line - 1], quote.place


def test_every_number_is_compared_with_something_outside() -> None:
    """Not with what was set or chosen so that it comes out; the rest is said and not compared."""
    kinds: dict[str, int] = {}
    for _, step in STEPS:
        if step.noted is not None:
            kinds[step.noted.where] = kinds.get(step.noted.where, 0) + 1
            assert bool(step.noted.giver) == (step.noted.where != "note")
    assert kinds == {"note": 16, "figure": 2, "torch": 13, "hand": 9}


@pytest.mark.parametrize(("example", "step"), STEPS)
def test_a_difference_has_its_reason_and_both_languages(
    example: WorkedExample, step: WorkedStep
) -> None:
    assert (step.why is not None) == (step.agrees is False)
    assert (step.noted is None) == (step.computed is None)
    for text in (example.title, example.given, step.why):
        if text is not None:
            assert HANGUL.search(text.ko), text
            assert not HANGUL.search(text.en), text
    assert not HANGUL.search(step.said.en)
    assert step.said.en == step.said.ko or HANGUL.search(step.said.ko)


def test_a_trace_is_named_after_its_example_and_recomputes() -> None:
    for example in EXAMPLES:
        if example.trace is not None:
            assert example.trace.model == f"lecture {example.quote.place}"
            assert example.explained.recorded < 1e-6


def test_a_number_agrees_as_exactly_as_it_is_written() -> None:
    assert Noted("88%", 0.88, 0.005).agrees(0.8808)
    assert not Noted("88%", 0.88, 0.005).agrees(0.8866)
    assert Noted("inf", math.inf, 0.0).agrees(math.inf)
    assert not Noted("-4", -4.0, 0.0).agrees(6.0)


@pytest.mark.parametrize("wanted", ["005", "2", "page.html", ""])
def test_an_unknown_note_is_refused(wanted: str) -> None:
    with pytest.raises(ConfigError, match="no such lecture note") as refused:
        worked(wanted)
    assert refused.value.expected == "000, 001, 002, 003, 004"


def test_a_line_without_an_example_is_refused() -> None:
    with pytest.raises(ConfigError, match="no worked example of note 002") as refused:
        worked("002:16")
    assert refused.value.expected == "002:15, 002:11"
