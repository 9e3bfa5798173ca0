"""All constructions by name, and whole lines: how one is opened, punctuated and filled."""

from collections.abc import Callable
from typing import NamedTuple

from smallworld import complexes, embedded, phrases, requests, statements, weather
from smallworld.fragment import Fragment, fragment, join
from smallworld.predicates import Register
from smallworld.writer import PhraseWriter


class Construction(NamedTuple):
    """A kind of sentence.

    weight: how often it is drawn, against the others that fit.
    least: the room, in English words, that it needs; shorter sentences never draw it.
    mark: "." or "?".
    """

    name: str
    write: Callable[[PhraseWriter], Fragment]
    weight: int
    least: int
    mark: str = "."


CONSTRUCTIONS = (
    Construction("action", statements.simple, 30, 3),
    Construction("description", statements.description, 8, 3),
    Construction("identity", statements.identity, 5, 3),
    Construction("existence", statements.existence, 6, 6),
    Construction("location", statements.location, 5, 4),
    Construction("possession", statements.possession, 5, 3),
    Construction("comparison", statements.comparison, 4, 6),
    Construction("superlative", statements.superlative, 2, 6),
    Construction("company", statements.company, 4, 5),
    Construction("alternatives", statements.alternatives, 4, 5),
    Construction("focus", statements.focus, 3, 4),
    Construction("becoming", statements.becoming, 3, 4),
    Construction("journey", statements.journey, 2, 6),
    Construction("weather", weather.weather, 3, 4),
    Construction("yes-no question", requests.yes_or_no, 7, 4, "?"),
    Construction("is-it question", requests.is_it, 4, 3, "?"),
    Construction("what question", requests.what, 3, 4, "?"),
    Construction("who question", requests.who, 3, 3, "?"),
    Construction("where question", requests.where, 3, 4, "?"),
    Construction("when or why question", requests.when_or_why, 4, 4, "?"),
    Construction("how many question", requests.how_many, 2, 5, "?"),
    Construction("request", requests.request, 4, 4),
    Construction("command", requests.command, 3, 3),
    Construction("prohibition", requests.prohibition, 3, 4),
    Construction("proposal", requests.proposal, 3, 3),
    Construction("offer", requests.offer, 2, 4, "?"),
    Construction("addition", complexes.addition, 6, 9),
    Construction("contrast", complexes.contrast, 6, 9),
    Construction("consequence", complexes.consequence, 12, 8),
    Construction("reason", complexes.reason, 5, 8),
    Construction("condition", complexes.condition, 5, 8),
    Construction("concession", complexes.concession, 2, 9),
    Construction("occasion", complexes.occasion, 4, 8),
    Construction("before and after", complexes.sequence, 4, 8),
    Construction("saying", complexes.saying, 5, 7),
    Construction("purpose", complexes.purpose, 4, 8),
    Construction("meanwhile", complexes.meanwhile, 4, 7),
    Construction("liking", embedded.liking, 3, 5),
    Construction("skill", embedded.skill, 3, 6),
    Construction("object relative", embedded.object_relative, 6, 8),
    Construction("subject relative", embedded.subject_relative, 5, 8),
)

LONGEST = 60
ONE_SENTENCE = 20  # words; beyond, a line is filled with more sentences
NEEDS_A_LISTENER = frozenset(
    each.name
    for each in CONSTRUCTIONS
    if each.mark == "?"
    or each.write in (requests.request, requests.command)
    or each.write in (requests.prohibition, requests.proposal)
)


def _drawable(plain: bool) -> tuple[tuple[Construction, ...], ...]:
    """For every room, the constructions that fit, each as often as it weighs.

    plain: only what can be written to nobody in particular, as in a diary.
    """
    return tuple(
        tuple(
            each
            for each in CONSTRUCTIONS
            if each.least <= room and not (plain and each.name in NEEDS_A_LISTENER)
            for _ in range(each.weight)
        )
        for room in range(ONE_SENTENCE + 1)
    )


DRAWABLE = {False: _drawable(False), True: _drawable(True)}

SIRS = (("Sir,", "사장님,"), ("Ma'am,", "사모님,"), ("Professor,", "교수님,"))
HEADINGS = (("Diary:", "일기:"), ("Story:", "이야기:"))
REGISTERS = (
    *(Register.POLITE,) * 14,
    *(Register.FORMAL,) * 2,
    *(Register.CASUAL,) * 2,
    *(Register.PLAIN,) * 2,
)


def opening(writer: PhraseWriter, room: int) -> tuple[Register, Fragment | None]:
    """The register of a line, and the word at its head that shows it (none: polite)."""
    register = writer.pick(REGISTERS)
    if register is Register.POLITE or room < 4:
        return Register.POLITE, None
    if register is Register.FORMAL:
        return register, fragment(*writer.pick(SIRS))
    if register is Register.PLAIN:
        return register, fragment(*writer.pick(HEADINGS))
    name = writer.new_name()
    return register, fragment(f"{name},", phrases.called(name) + ",")


def _punctuated(sentence: Fragment, mark: str, capital: bool) -> Fragment:
    english, width, korean, depth, links = sentence
    if capital:
        english = english[0].upper() + english[1:]
    return Fragment(english + mark, width, korean + mark, depth, links)


def write_line(writer: PhraseWriter, room: int) -> tuple[Fragment, tuple[str, ...]]:
    """One line of about `room` English words, and the names of its constructions.

    A line is a sentence; where the room allows, more sentences of the same register follow.
    """
    writer.begin()
    register, head = opening(writer, room)
    writer.speak(register)
    plain = register is Register.PLAIN
    parts = [] if head is None else [head]
    used = [register.value]
    left = room - len(parts)
    # After "Sir," or a name the sentence goes on; after "Diary:" one begins.
    capital = head is None or plain
    while True:
        construction = writer.pick(DRAWABLE[plain][min(left, ONE_SENTENCE)])
        writer.room = min(left, ONE_SENTENCE) - construction.least
        sentence = construction.write(writer)
        parts.append(_punctuated(sentence, construction.mark, capital))
        used.append(construction.name)
        capital = True
        left -= sentence.english_words
        if left < 4 or (room <= ONE_SENTENCE and writer.chance(0.85)):
            break
    line = parts[0] if len(parts) == 1 else join(parts, parts)
    return line, tuple(dict.fromkeys(used + writer.used))
