"""Alignment error rate, by hand and in the file's own format."""

from dataclasses import replace

import pytest

from jumok.alignment.words import GoldLinks
from jumok.errors import DataError
from jumok.evaluation.alignment import parse_gold, read_gold, score_links, with_gold
from tests.inspection.traces import trace


def gold(sure: set[tuple[int, int]], possible: set[tuple[int, int]]) -> GoldLinks:
    return GoldLinks(frozenset(sure), frozenset(sure | possible))


def test_error_rate_is_that_of_the_formula():
    """A = 4 links; 2 sure of 3 found, 3 possible: AER = 1 - (2 + 3) / (4 + 3)."""
    known = [gold({(0, 0), (1, 1)}, {(1, 2)}), gold({(0, 0)}, set())]
    scores = score_links([[(0, 0), (1, 1), (1, 2)], [(5, 5)]], known)
    assert scores.error_rate == pytest.approx(1 - 5 / 7)
    assert scores.precision == pytest.approx(3 / 4)
    assert scores.recall == pytest.approx(2 / 3)
    assert scores.links == 4


def test_sure_links_found_and_nothing_else_are_no_error():
    known = [gold({(0, 1), (2, 0)}, {(1, 1)})]
    assert score_links([known[0].sure], known).error_rate == 0.0


def test_no_link_is_all_error():
    scores = score_links([[]], [gold({(0, 0)}, set())])
    assert (scores.error_rate, scores.precision, scores.recall) == (1.0, 0.0, 0.0)


def test_gold_is_read_from_the_last_column(tmp_path):
    file = tmp_path / "gold.tsv"
    file.write_text("a b\tc d\t0-0 1p1\n\tx\t\n0?2 3-1\n", encoding="utf-8")
    assert list(read_gold(file)) == [
        gold({(0, 0)}, {(1, 1)}),
        gold(set(), set()),
        gold({(3, 1)}, {(0, 2)}),
    ]


def test_what_is_no_link_is_named_with_its_line(tmp_path):
    file = tmp_path / "gold"
    file.write_text("0-0\n0-0 1:1\n", encoding="utf-8")
    with pytest.raises(DataError) as caught:
        list(read_gold(file))
    assert "1:1" in str(caught.value)
    assert f"{file}, line 2" in str(caught.value)


def test_gold_for_another_text_is_refused():
    with pytest.raises(DataError, match="gold links for every sentence"):
        score_links([[(0, 0)], []], [gold({(0, 0)}, set())])


def test_links_belong_to_the_words_of_the_trace():
    recorded = replace(trace(), output="고양이가 뛰었다")
    links = with_gold(recorded, parse_gold("0-0 2p1 1-1")).findings.gold
    assert links == gold({(0, 0), (1, 1)}, {(2, 1)})
    with pytest.raises(DataError, match="there is no such word to link") as caught:
        with_gold(recorded, parse_gold("0-0 2-2"))
    assert "3 words of the source and 2 of “고양이가 뛰었다”" in str(caught.value)
    assert caught.value.got == "2-2"


def test_only_translations_have_links():
    alone = replace(trace(), sites=tuple(s for s in trace().sites if s.part == "encoder"))
    with pytest.raises(DataError, match="links are between the words of a sentence and of its"):
        with_gold(alone, parse_gold("0-0"))
