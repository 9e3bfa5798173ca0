"""Messages of ICU: the skeleton stays, and each variant is translated as a whole sentence."""

import re
import tracemalloc
from pathlib import Path

import pytest

from jumok.systems.translation.kept.icu import Messages
from jumok.systems.translation.result import Translation
from jumok.systems.translation.translator import Translator

CASES = [
    (
        "{VAR_PLURAL, plural, =0 {The cat} =1 {A cat} other {The cats}}",
        "{VAR_PLURAL, plural, =0 {THE CAT} =1 {A CAT} other {THE CATS}}",
    ),
    (
        "I saw {n, plural, one {a cat} other {# cats}} today.",
        "{n, plural, one {I SAW A CAT TODAY.} other {I SAW # CATS TODAY.}}",
    ),
    (
        "{g, select, male {He} other {They}} left {place}.",
        "{g, select, male {HE LEFT {place}.} other {THEY LEFT {place}.}}",
    ),
    (
        "{g, select, male {He {n, plural, one {has # cat} other {has # cats}}} other {They left}}",
        "{g, select, male {HE {n, plural, one {HAS # CAT} other {HAS # CATS}}} other {THEY LEFT}}",
    ),
    (
        "{n, plural, offset:1 one {# x} other {# y}} and {m, plural, other {# z}}.",
        "{n, plural, offset:1 one {# X} other {# Y}} AND {m, plural, other {# Z}}.",
    ),
    (
        "{n, plural, other {{g, select, male {He has # cats} other {# cats}}}}",
        "{n, plural, other {{g, select, male {HE HAS # CATS} other {# CATS}}}}",
    ),
    ("{n, plural, =0 {} other {Don''t go}}", "{n, plural, =0 {} other {DON'T GO}}"),
    ("{n, selectordinal, one {#st} other {#th}}", "{n, selectordinal, one {#ST} other {#TH}}"),
]


@pytest.mark.parametrize(("message", "capitals"), CASES)
def test_texts_are_translated_and_the_skeleton_stays(message: str, capitals: str) -> None:
    assert capitals_of([message, "plain {x}"]) == [capitals, "PLAIN {x}"]


@pytest.mark.parametrize(
    ("source", "translation", "variant"),
    [
        ("A cat", "고양이 {x} 개", "고양이 '{'x'}' 개"),
        ("A cat of {name}", "{name} } {name}", "{name} '}' '{'name'}'"),
        ("Dogs", "the dogs'", "the dogs''"),
        ("# dogs", "{#} # dogs", "# '#' dogs"),
        ("Write '{x}' or {x}", "{x} or {x}", "{x} or '{'x'}'"),
        ("It''s", "it's '{'a", "it's '''{'''a"),
        ("A '{don''t}'", "{don't}", "'{'don't'}'"),
        ("A {x}'s", "{x}'s {{", "{x}'s '{{'"),
    ],
)
def test_only_arguments_of_the_source_are_replaced(source, translation, variant) -> None:
    """What else has braces, or is a number sign, is shown as the model wrote it."""
    (line,) = Messages.of([f"{{n, plural, other {{{source}}}}}"]).joined([Translation(translation)])
    assert line.text == f"{{n, plural, other {{{variant}}}}}"
    assert Messages.of([line.text]).texts == [translation]


@pytest.mark.parametrize(
    "message",
    ["{n, plural, one {a}", "{n, plural, one a}", "{n, plural, }", "x {n, plural, other {a}} }"],
)
def test_a_damaged_message_is_copied(message: str) -> None:
    assert capitals_of([message, "a"]) == [message, "A"]


def test_nesting_has_a_limit() -> None:
    deep = "{n, plural, other {" * 50
    assert capitals_of([deep]) == [deep]


def test_a_message_among_lines(tiny_bundle: Path) -> None:
    translator = Translator.load(tiny_bundle)
    cat, message, dog = translator.translate(
        ["A cat.", "{n, plural, one {A cat.} other {A dog.}}", "A dog."]
    )
    assert message.text == f"{{n, plural, one {{{cat.text}}} other {{{dog.text}}}}}"


def _capitals(text: str) -> str:
    return re.sub(
        r"\{[^}]*\}|[^{]+", lambda each: each[0] if "{" in each[0] else each[0].upper(), text
    )


def capitals_of(lines: list[str]) -> list[str]:
    messages = Messages.of(lines)
    translations = [Translation(_capitals(text)) for text in messages.texts]
    return [one.text for one in messages.joined(translations)]


def test_a_choice_of_many_values_is_not_written_out_for_a_long_sentence():
    text = "the cat " * 2_000 + "{n, plural, " + "=1 {a}" * 2_000 + "}"
    tracemalloc.start()
    texts = Messages.of([text]).texts
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(texts) == 2_001
    assert peak < 200 * len(text)
