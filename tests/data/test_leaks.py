"""Planted leaks are counted, exactly and nearly, and nothing else."""

from random import Random

import pytest

from jumok.data.leaks import Leaks, find_leaks, long_lines
from jumok.kernels import texts as loops

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def sentence(random: Random) -> str:
    words = ("".join(random.choices(LETTERS, k=random.randint(2, 9))) for _ in range(9))
    return " ".join(words)


@pytest.mark.parametrize("native", [True, False], ids=["C", "plain"])
def test_planted_leaks_are_counted(native: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not native:
        monkeypatch.setattr(loops, "library", lambda: None)
    random = Random(5)
    training = [sentence(random) for _ in range(30_000)]
    tested = [sentence(random) for _ in range(500)]
    exact, near, far = training[100:120], training[25_000:25_015], training[7:17]
    tested += [f" {text}\u00ad" for text in exact]  # as models read them they are the same
    tested += [f"{text.upper().replace(' ', ', ')}!" for text in near]
    tested += [" ".join([sentence(random).split()[0], *text.split()[4:]]) for text in far]
    tested += ["...", ""]
    found = find_leaks(tested, iter(training))
    assert found == Leaks(545, 20, 15, exact[0])
    assert found.line("test sentences").startswith(
        "20 of 545 test sentences are in the training data (3.7%), 15 more nearly, e.g. '"
    )
    assert find_leaks(tested[:500], training).line("texts") == (
        "none of 500 texts is in the training data, exactly or nearly"
    )


def test_hangul_and_short_texts_are_compared_whole() -> None:
    training = ["고양이가 상자 위에 앉아 있었습니다.", "네.", "cat"]
    tested = [
        "고양이가 상자 위에 앉아 있었습니다!",
        "네",
        "네.",
        "car",
        "개가 상자 옆에서 잤습니다.",
    ]
    assert find_leaks(tested, training) == Leaks(5, 1, 2, "고양이가 상자 위에 앉아 있었습니다!")


def test_only_long_lines_of_running_text_count() -> None:
    text = "ROMEO:\nBut soft, what light through yonder window breaks?\n"
    assert (
        list(long_lines([text, text])) == ["But soft, what light through yonder window breaks?"] * 2
    )
