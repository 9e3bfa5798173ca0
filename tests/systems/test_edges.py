"""One rule for the text that a model reads: signs at the edges, and texts without words, stay."""

from pathlib import Path
from random import Random

import pytest

from jumok.data.tokenizer import normalize
from jumok.systems.translation.kept.code import PLAIN_SENTENCE, USUAL
from jumok.systems.translation.kept.edges import between_edges, core
from jumok.systems.translation.kept.keeping import NUMBER_PATTERN, Keep
from jumok.systems.translation.translator import Translator

WORDS = "A cat saw it."

COPIED = [
    "100", "-", "2024-01-15", "12:30", "3.14 %", "😀", "👨‍👩‍👧 🎉", "%s", "{name}", "https://a.b/c?d",
    "a@b.org", "&nbsp;", "…", "1.", "- [x]", "(2)", "$HOME", "www.a.org", "%(count)d / %(all)d",
    "v2.0.1", "ISBN 978-3-16-148410-0", "/usr/local/bin", "@jumok #cats", "+1 (555) 123-4567",
    "20 °C", "C++", "10 km", "5km/h", "10:30 PM", "2nd", "XIV", "F5", "fooBar", "foo_bar", "foo()",
    "file.txt", "*.md", "~/.bashrc", "--verbose", "Ctrl+C", "ftp://a.b/c", "mailto:a@b.c",
    "a.b.org", "$t(key)", ":name", "#{x}", "[[page]]", "2001:db8::1", "0xFF", "1.5e-10",
    "1.2.3-rc.1", "d41d8cd98f", "a.", "IV.", "가.",
    "x = y + 2", "{0,choice,0#no|1#one}", "`git add`", "<0></0>", "2024-01-15T10:30:00Z", "1️⃣", "½",
]  # fmt: skip

EDGES = [
    ("• ", ""), ("- ", ""), ("1. ", ""), ("12) ", ""), ("(a) ", ""), ("iv) ", ""), ("[3] ", ""),
    ("♪ ", " ♪"), ('"', '"'), ("“", "”"), ("„", "“"), ("«", "»"), ("(", ")"), ("[", "]"),
    ("「", "」"), ("✓ ", ""), ("😀 ", " 🎉"), ("", "[1]"), ("", "²"), ("", " *"), ("> ", ""),
    ("1. • ", ""), ('("', '")'), ("→ ", ""), ("# ", ""), ("- [ ] ", ""),
    ("1.1) ", ""), ("① ", ""), ("§ 12 ", ""), ("№ 5 ", ""),
    ("1️⃣ ", ""), ("» ", ""), ("...", ""), ("…", ""), ("‘", "’"), ("'", "'"), ("〔", "〕"),
    ("{", "}"),
    ("*", "*"), ("**", "**"), ("_", "_"), ("~~", "~~"), ("== ", " =="), ("#", "#"), ("| ", " |"),
    ("«\xa0", "\xa0»"), ("", " →"), ("", " :)"), ("", " —"), ("// ", ""), ("", "[1][2]"),
]  # fmt: skip

WHOLE = [
    "A cat.", "5 cats ran.", "2024 was good.", "“A” and “B”", 'He said "hi."', "I am.",
    "A 2.5 m wall", "-5 degrees", "3.5 million", "#cats ran", "2.5 miles",
]  # fmt: skip


@pytest.fixture(scope="module")
def translator(tiny_bundle: Path) -> Translator:
    return Translator.load(tiny_bundle)


@pytest.mark.parametrize("text", COPIED)
def test_what_has_no_word_is_copied(translator: Translator, text: str) -> None:
    assert core(text) is None
    (translation,) = translator.translate([text])
    assert translation.text == text
    assert translation.tokens == ()


@pytest.mark.parametrize(("before", "after"), EDGES)
def test_signs_at_the_edges_stay_and_are_not_read(
    translator: Translator, before: str, after: str
) -> None:
    bare, edged = translator.translate([WORDS, before + WORDS + after])
    assert edged.text == before + bare.text + after
    assert edged.tokens == bare.tokens
    shift = len(before.split())
    if before.endswith(" ") or not before:
        assert {(source + shift, target + shift) for source, target in bare.alignment} <= set(
            edged.alignment
        )


@pytest.mark.parametrize("text", WHOLE)
def test_signs_of_the_sentence_are_read(text: str) -> None:
    assert core(text) == (0, len(text))


@pytest.mark.parametrize("space", ["\u00a0", "\u202f", "\u3000"])
def test_other_spaces_between_words_are_spaces(translator: Translator, space: str) -> None:
    plain, other = translator.translate([WORDS, WORDS.replace(" ", space)])
    assert (plain.text, plain.alignment) == (other.text, other.alignment)
    assert translator.translate([f"12{space}345"])[0].text == f"12{space}345"


@pytest.mark.parametrize(
    "code",
    [
        "5km",
        "$5M",
        "3–5",
        "-5",
        "½",
        "10⁶",
        "§ 12",
        "#5",
        "MP3",
        "IV",
        "(3)",
        "👩‍👩‍👧",
        "`a b`",
        "foo_bar",
    ],
)
def test_what_is_written_so_is_kept_as_it_is(translator: Translator, code: str) -> None:
    (translation,) = translator.translate([f"A cat saw {code} here."])
    assert translation.text.count(code) == 1


def test_code_that_is_written_together_is_one() -> None:
    assert [one.text for one in Keep().find("See {a}/{b}, %d%% and ({x}).")] == [
        *("{a}/{b}", "%d%%", "({x})"),
    ]


def test_without_keep_the_model_reads_the_whole_line(translator: Translator) -> None:
    bare, edged = translator.translate([WORDS, f"1. {WORDS}"], keep=False, split="length")
    assert len(edged.source_tokens) > len(bare.source_tokens)
    (message,) = translator.translate(["{n, plural, other {A cat.}}"], keep=False, split="length")
    assert message.source_tokens


def test_samples_of_a_line_have_its_copied_part(translator: Translator) -> None:
    from jumok.decoding import DecodingOptions

    options = DecodingOptions(sample=True, nbest=3, maximum_length=8)
    (line,) = translator.translate([f"100. {WORDS}"], options, split="sentences")
    assert len(line.alternatives) == 2
    assert all(one.text.startswith("100.") for one in (line, *line.alternatives))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ca\u00adt", "cat"),
        ("\ufeffcat", "cat"),
        ("c\u2060at", "cat"),
        ("ca\u200ct", "cat"),
        ("고\u200d양이", "고양이"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("👨\u200d👩", "👨\u200d👩"),
        ("\u200ecat\u200f", "cat"),
        ("\u2066cat\u2069", "cat"),
        ("c\u034fat", "cat"),
        ("c\u200bat", "cat"),
        ("cat\ufe0f", "cat"),
        ("1\ufe0f\u20e3", "1\ufe0f\u20e3"),
    ],
)
def test_invisible_characters_are_no_part_of_a_word(text: str, words: str) -> None:
    assert normalize(text) == words


PARTS = (
    *("cat", "dogs", "Straße", "고양이", "I", "a", "II", "IV", "vi", "xi", "fooBar", "NASA", "PM"),
    *("Shift", "Ctrl", "key", "don't", "é", "İ", "½", "²", "ª", "7", "x", "com", "USD", "ISBN"),
)


def test_a_plain_sentence_has_nothing_that_the_patterns_find() -> None:
    random, plain = Random(3), 0
    for _ in range(20_000):
        words = random.choices(PARTS, k=random.randint(1, 5))
        text = words[0]
        for word in words[1:]:
            text += random.choice((" ", " ", " ", ", ", "-", "'", ". ", ": ", ".", "/")) + word
        text += random.choice(("", ".", "!", "?", "...", ")"))
        if PLAIN_SENTENCE.fullmatch(text):
            plain += 1
            assert Keep(USUAL, usual=False).find(text) == [], text
            assert NUMBER_PATTERN.search(text) is None
            assert core(text) == between_edges(text), text
    assert plain > 2_000
