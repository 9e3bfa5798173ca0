"""Lines become parts and parts become lines, with words counted from the line's start."""

from pathlib import Path

from jumok.bundle.reading import TOKENIZER
from jumok.data.tokenizer import Tokenizer, plain_words
from jumok.systems.translation.kept.edges import core
from jumok.systems.translation.result import Translation
from jumok.systems.translation.segments import Segment, cut_lines, join


def test_words_are_what_plain_spaces_separate() -> None:
    assert plain_words(" a  b\u00a0c ") == ["a", "b\u00a0c"]


def test_parts_know_the_word_they_start_with(tiny_bundle: Path) -> None:
    tokenizer = Tokenizer.load(tiny_bundle / TOKENIZER)
    sentence = "the cat sat on the mat, and the dog barked."  # 10 words
    limit = len(tokenizer.encode(sentence))
    parts = cut_lines([sentence, "", f"{sentence} {sentence} {sentence}"], tokenizer, limit)
    assert [(part.line, part.first_word) for part in parts] == [(0, 0), (2, 0), (2, 10), (2, 20)]
    assert all(part.ids == tokenizer.encode(sentence) for part in parts)


def test_part_that_starts_inside_a_word_counts_that_word(tiny_bundle: Path) -> None:
    tokenizer = Tokenizer.load(tiny_bundle / TOKENIZER)
    first, *rest = cut_lines(["a " + "x" * 64], tokenizer, 40)
    assert first.first_word == 0
    assert {part.first_word for part in rest[-1:]} == {1}


def test_what_is_longer_than_any_word_is_copied(tiny_bundle: Path) -> None:
    tokenizer = Tokenizer.load(tiny_bundle / TOKENIZER)
    longest, longer = "x" * 1000, "y-" * 501
    line = f"the cat {longer} and {longest} sat."
    parts = cut_lines([line, longer, "猫。" * 600], tokenizer, None, core=core)
    copied = [part for part in parts if part.is_long_word]
    assert [(part.line, part.first_word, part.text) for part in copied] == [
        (0, 2, longer),
        (1, 0, longer),
    ]
    assert [part.text.strip() for part in parts[:3]] == ["the cat", longer, f"and {longest} sat."]
    assert cut_lines([longer], tokenizer, None)[0].ids  # of a model that does not copy


def test_joined_parts_add_up() -> None:
    parts = [Segment(1, [5], 0), Segment(1, [6], 4)]
    one = Translation("b a", -1.0, ("▁b", "▁a"), (-0.5, -0.25, -0.25), ("▁x",), ((0, 1), (3, 0)))
    two = Translation("c", -2.0, ("▁c",), (-1.5, -0.5), ("▁y",), ((0, 0),))
    empty, line = join(2, parts, [[one], [two]], joint=" ")
    assert empty == Translation("", alignment=())
    assert line.text == "b a c"
    assert line.score == -3.0
    assert line.tokens == ("▁b", "▁a", "▁c")
    assert line.token_log_probabilities == (-0.5, -0.25, -0.25, -1.5, -0.5)
    assert line.source_tokens == ("▁x", "▁y")
    assert line.alignment == ((0, 1), (3, 0), (4, 2))


def test_parts_joined_without_a_space_share_a_word() -> None:
    parts = [Segment(0, [5], 0), Segment(0, [6], 4)]
    one = Translation("b a", alignment=((0, 1), (3, 0)))
    two = Translation("c d", alignment=((0, 0), (1, 1)))
    (line,) = join(1, parts, [[one], [two]], joint="")
    assert line.text == "b ac d"
    assert line.alignment == ((0, 1), (3, 0), (4, 1), (5, 2))


def test_alternatives_of_parts_are_joined_by_rank() -> None:
    parts = [Segment(0, [5], 0), Segment(0, [6], 1)]
    found = [
        [Translation("a"), Translation("b"), Translation("c")],
        [Translation("d"), Translation("e")],
    ]
    (line,) = join(1, parts, found, joint=" ")
    assert (line.text, [one.text for one in line.alternatives]) == ("a d", ["b e"])
    assert line.alignment is None


def test_n_best_of_a_line_are_the_combinations_with_the_highest_sums() -> None:
    parts = [Segment(0, [5], 0), Segment(0, [6], 1)]
    found = [
        [Translation("a", -1.0), Translation("b", -1.5), Translation("c", -9.0)],
        [Translation("d", -1.0), Translation("e", -4.0)],
    ]
    (line,) = join(1, parts, found, " ", nbest=3)
    ranked = [(one.text, one.score) for one in (line, *line.alternatives)]
    assert ranked == [("a d", -2.0), ("b d", -2.5), ("a e", -5.0)]
