"""Messages of ICU: the skeleton stays, and each variant is translated as a whole sentence."""

from pathlib import Path

import pytest

from jumok.systems.translation.icu import Messages
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
        "{g, select, male {HE LEFT {PLACE}.} other {THEY LEFT {PLACE}.}}",
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
    assert capitals_of([message, "plain {x}"]) == [capitals, "PLAIN {X}"]


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


def capitals_of(lines: list[str]) -> list[str]:
    messages = Messages.of(lines)
    translations = [Translation(text.upper()) for text in messages.texts]
    return [one.text for one in messages.joined(translations)]
