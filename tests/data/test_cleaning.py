"""What the filters of pairs find, each by hand, and what is left of a corpus."""

import gzip
import re
from pathlib import Path

import numpy as np
import pytest

from jumok.config.data import CleanConfig
from jumok.data.pairs.cleaning import languages, rules
from jumok.data.pairs.cleaning.characters import LETTER, BatchSide, BothSides, scripts
from jumok.data.pairs.cleaning.filters import usable
from jumok.data.pairs.cleaning.findings import CleaningReport
from jumok.data.pairs.cleaning.survey import survey_corpora
from jumok.data.pairs.corpus import Corpus, read_pairs
from jumok.data.pairs.drift import shifted_part
from jumok.errors import ConfigError, DataError, MissingExtraError
from tests.missing import uninstall

ROWS = [
    ("the cat", "le chat"),
    ("the cat", "le chat"),  # twice
    ("Paris is a town", "Paris is a town"),  # equal
    ("42", "42"),  # numbers are the same in both
    ("a <b>dog</b>", "un chien"),  # markup
    ("salt &amp; pepper", "sel et poivre"),
    ("a < b & c", "a < b & c d"),  # no markup
    ("a house", "дом"),  # another script
    ("the cat", "le chaton"),  # another translation is no duplicate
]
NO_MODEL = CleanConfig(language=None)


def corpus(folder: Path, rows: list[tuple[str, str]] = ROWS, name: str = "a.tsv") -> Corpus:
    file = folder / name
    file.write_text("".join(f"{one}\t{other}\n" for one, other in rows), encoding="utf-8")
    return Corpus(file=file)


def of(*pairs: tuple[str, str]) -> BothSides:
    return BothSides.of(*(list(side) for side in zip(*pairs, strict=True)))


def test_pairs_are_left_out_and_each_counts_once(tmp_path: Path) -> None:
    (one,), (report,) = survey_corpora(
        [corpus(tmp_path)], NO_MODEL, ("en", "fr"), tmp_path / "cache"
    )
    assert [pair.line for pair in read_pairs(one)] == [1, 4, 7, 9]
    found = {name: each.pairs for name, each in report.findings.items() if each.pairs}
    assert found == {"equal": 1, "markup": 2, "script": 1, "duplicates": 1}
    assert (report.read, report.kept) == (9, 4)
    assert report.findings["markup"].examples == [
        (5, "a <b>dog</b>", "un chien"),
        (6, "salt &amp; pepper", "sel et poivre"),
    ]
    assert '  left out (equal): 1 of 9 pairs (11 %) is equal on both sides, e.g. line 3: "Pa' in (
        "\n".join(report.lines())
    )
    assert CleaningReport.from_json(report.to_json()) == report


def test_without_the_key_all_stay_and_a_warning_is_said(tmp_path: Path) -> None:
    (one,), (report,) = survey_corpora([corpus(tmp_path)], None, ("en", "fr"), tmp_path / "cache")
    assert len(list(read_pairs(one))) == len(ROWS)
    said = "\n".join(report.lines())
    assert (
        'warning: a.tsv: 2 of 9 pairs (22 %) hold tags or entities, e.g. line 5: "a <b>dog</b>" = '
        '"un chien"; data.clean = true leaves them out' in said
    )
    assert "warning: a.tsv: 1 of 9 pairs (11 %) repeats an earlier one, e.g. line 2" in said


def test_a_pair_may_repeat_one_of_an_earlier_corpus(tmp_path: Path) -> None:
    two = [corpus(tmp_path), corpus(tmp_path, [("42", "42"), ("a cat", "un chat")], "b.tsv")]
    (_, later), _ = survey_corpora(two, NO_MODEL, ("en", "fr"), tmp_path / "cache")
    assert [pair.source for pair in read_pairs(later)] == ["a cat"]


def test_duplicates_by_target_leave_one_source_of_each(tmp_path: Path) -> None:
    rows = [("a cat", "un chat"), ("the cat", "un chat"), ("a cat", "le chat")]
    clean = CleanConfig(language=None, near_duplicates=None, duplicates="target")
    (one,), _ = survey_corpora([corpus(tmp_path, rows)], clean, ("en", "fr"), tmp_path / "cache")
    assert [pair.line for pair in read_pairs(one)] == [1, 3]


def test_a_corpus_of_which_nothing_is_left_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"data\.clean leaves no pair") as caught:
        survey_corpora([corpus(tmp_path, [("a", "a")])], NO_MODEL, ("en", "fr"), tmp_path / "cache")
    assert "is equal on both sides" in str(caught.value)


def test_characters_are_counted_as_python_does() -> None:
    texts = ["The 2 cats.", "", "고양이 두 마리", "Ünï\u0301 𠀋 Ωж", "\ud800"]
    side = BatchSide.of(texts)
    assert side.lengths.tolist() == [len(text) for text in texts]
    letters = [len(re.findall(r"[^\W\d_]", text)) for text in texts]
    letters[3] += 1  # a combining mark is part of its letter
    assert side.number(LETTER).tolist() == letters


@pytest.mark.parametrize(
    ("letter", "script"),
    [
        *(("a", "LATIN"), ("Ａ", "LATIN"), ("ß", "LATIN"), ("ж", "CYRILLIC"), ("가", "HANGUL")),
        *(("漢", "HAN"), ("𠀋", "HAN"), ("の", "KANA"), ("ﾉ", "KANA"), ("ใ", "THAI"), ("7", "")),
    ],
)
def test_letters_know_their_script(letter: str, script: str) -> None:
    table, numbers = scripts()
    assert table[ord(letter)] == numbers[script]


@pytest.mark.parametrize(
    ("language", "text", "odd"),
    [
        ("fr", "дом", True),
        ("fr", "l'été", False),
        ("fr", "42 %", False),
        ("ko", "Windows XP", False),  # names may stand in any language
        ("ko", "дом", True),
        ("ko", "집 дом", True),  # three of four letters
        ("ko", "그 집은 дом", False),
        ("ru", "漢字", True),
        ("ja", "漢字", False),
    ],
)
def test_letters_of_another_script_are_odd(language: str, text: str, odd: bool) -> None:
    own = languages.SCRIPTS[language]
    assert rules.other_script(BatchSide.of([text]), own, 0.4).tolist() == [odd]


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        ("le cafÃ© est fermÃ©", True),  # UTF-8 read as Latin-1
        ("itâ€™s late", True),  # as Windows-1252
        ("ì•ˆë…•", True),
        ("Ð¿Ñ€Ð¸Ð²ÐµÑ‚", True),
        ("caf\ufffd", True),
        ("a\x92b", True),
        ("a private \ue000 sign", True),
        ("ÇA, « À la carte », ÎLE", False),
        ("»Straße« und »Spaß«", False),
        ("É» Ñ” çà — été…", False),
        ("São João às 9º", False),
        ("안녕", False),
    ],
)
def test_damaged_text_is_told_from_accents(text: str, broken: bool) -> None:
    assert rules.broken_encoding(of((text, "x"), ("y", text))).tolist() == [broken] * 2


@pytest.mark.parametrize(
    ("source", "target", "lacking"),
    [
        ("It costs 1,234.50 now", "Es kostet jetzt 1.234,50", 0),
        ("in 1999 and 2001", "en 1999", 1),
        ("2 cats", "deux chats", 0),  # one digit may be a word
        ("at 3:00", "à trois heures", 0),
        ("10 11 12", "13 14", 3),
    ],
)
def test_numbers_are_compared_by_their_digits(source: str, target: str, lacking: int) -> None:
    batch = of((source, target))
    assert rules.unbalanced_numbers(batch, lacking - 1.0).tolist() == [lacking > 0]
    assert rules.unbalanced_numbers(batch, float(lacking)).tolist() == [False]


def test_lengths_words_letters_and_addresses() -> None:
    long, short = "word " * 50, "mot"
    assert rules.too_long(of((long, short), (short, short)), 249.0).tolist() == [True, False]
    assert rules.unequal_lengths(of((long, short), ("ab", "a b c d e f")), 4.0, 1.0).tolist() == [
        True,
        False,  # six times as long, and yet within SHORT
    ]
    # A source that is usually half as long: 20 fit 40.
    lengths = np.array([20, 20, 90]), np.array([90, 70, 20])
    assert rules.differing_lengths(*lengths, 2.0, 0.5).tolist() == [1, 0, -1]
    assert rules.unequal_lengths(of(("x" * 20, "y" * 90)), 2.0, 0.5).tolist() == [True]
    assert rules.unequal_lengths(of(("x" * 20, "y" * 70)), 2.0, 0.5).tolist() == [False]
    words = of(("a" * 41, "b"), ("a" * 40, "b"), ("漢" * 99, "b"), ("b", "x " + "a" * 41 + " y"))
    assert rules.long_words(words, 40.0).tolist() == [True, False, False, True]
    signs = of(("--- === ***", "a"), ("a", "yes"), ("***", "..."), ("(a) b. c?", "d"))
    assert rules.few_letters(signs, 0.4).tolist() == [True, False, False, False]
    pages = of(("see https://example.org/a/b", "x"), ("x@y.org", "y"), ("this and/or that", "z"))
    assert rules.addresses(pages, 0.3).tolist() == [True, True, False]


def test_a_language_that_is_not_known_is_an_error_where_a_filter_is_named() -> None:
    with pytest.raises(ConfigError, match="nothing is known about the language of targets") as e:
        usable(CleanConfig(script=0.5), ("en", "english"))
    assert "got:      data.target_language = 'english'" in str(e.value)
    filters, notes = usable(CleanConfig(), ("tlh", ""))
    assert (filters.script, filters.language) == (None, None)
    assert "data.source_language = 'tlh', data.target_language = ''" in notes[0]


def test_without_the_package_only_a_named_filter_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    uninstall(monkeypatch, "fasttext")
    filters, notes = usable(CleanConfig(), ("en", "fr"))
    assert filters.language is None
    said = 'swapped sides and other languages are not looked for: pip install "jumok[clean]"'
    assert notes == [said]
    with pytest.raises(MissingExtraError, match=r'pip install "jumok\[clean\]"'):
        usable(CleanConfig(language=0.5), ("en", "fr"))


def test_other_languages_and_swapped_sides_are_told(tmp_path: Path) -> None:
    pytest.importorskip("fasttext")
    english = "The weather was very nice yesterday, so we went to the lake."
    german = "Das Wetter war gestern sehr schön, deshalb gingen wir an den See."
    dutch = "Gisteren was het weer erg mooi, dus gingen we naar het meer."
    rows = [(english, german), (english, dutch), (german, english), ("Hallo", "Hello")]
    clean = CleanConfig(duplicates=None, near_duplicates=None)
    one = corpus(tmp_path, rows)
    (left,), _ = survey_corpora([one], clean, ("en-GB", "de"), tmp_path / "cache")
    assert [pair.line for pair in read_pairs(left)] == [1, 4]
    _, (report,) = survey_corpora([one], None, ("en-GB", "de"), tmp_path / "cache")
    assert report.findings["language"].examples[0][0] == 2
    assert report.findings["swapped"].examples[0][0] == 3
    said = "\n".join(report.lines())
    assert "1 of 4 pairs (25 %) has swapped sides, e.g. line 3" in said
    assert "swap source and target in the recipe" in said


def lengths(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Sources of all lengths in no order, and targets a little longer or shorter than them."""
    numbers = np.arange(count)
    sources = 20.0 + numbers * 37 % 83
    return sources, sources * 1.2 + numbers * 11 % 7


@pytest.mark.parametrize("at", [0, 100, 300])
def test_a_line_lost_and_another_found_later_shift_what_is_between(at: int) -> None:
    source, target = lengths(500)
    moved = np.concatenate([target[:at], target[at + 1 : at + 150], [50.0], target[at + 150 :]])
    assert len(moved) == len(source)
    part = shifted_part(source, moved)
    assert part is not None
    first, last, by = part
    assert abs(first - at - 1) <= 2
    assert abs(last - at - 149) <= 2
    assert by == -1


def test_aligned_pairs_are_not_shifted() -> None:
    assert shifted_part(*lengths(5000)) is None
    assert shifted_part(np.array([]), np.array([])) is None
    assert shifted_part(np.array([3.0]), np.array([4.0])) is None


def test_chance_does_not_shift_pairs() -> None:
    """The worst that was met: lengths that say nothing about each other."""
    draw = np.random.default_rng(7)
    source = draw.integers(1, 200, 20_000).astype(float)
    close = source * draw.normal(1.1, 0.15, 20_000) + draw.normal(0, 5, 20_000)
    assert shifted_part(source, np.maximum(1.0, close)) is None


def test_the_report_says_where_pairs_are_shifted(tmp_path: Path) -> None:
    source, target = lengths(400)
    moved = [*target[:100], *target[101:], 30.0]  # one lost in the middle, one added at the end
    for name, side in (("a.en", source), ("a.fr", moved)):
        lines = [f"{number:03} " + "x" * int(each) for number, each in enumerate(side)]
        with gzip.open(tmp_path / f"{name}.gz", "wt") as file:
            file.write("".join(f"{line}\n" for line in lines))
    one = Corpus(tmp_path / "a.en.gz", tmp_path / "a.fr.gz")
    _, (report,) = survey_corpora([one], None, ("en", "fr"), tmp_path / "cache")
    (said,) = report.notes
    assert "each source fits the target 1 above" in said
    found = re.search(r"lines (\d+) to", said)
    assert found is not None
    assert abs(int(found[1]) - 102) <= 2
