"""Constructions of more than one clause."""

from collections.abc import Callable

from jumok.smallworld import phrases
from jumok.smallworld.clauses import FUTURE, PAST, PRESENT, Tense, action, ordered, quality
from jumok.smallworld.fragment import Fragment, fragment, join, unspoken
from jumok.smallworld.korean import Stem, attach
from jumok.smallworld.lexicon import SAY, THINK
from jumok.smallworld.predicates import (
    STATEMENT,
    Manner,
    finish,
    verb_predicate,
)
from jumok.smallworld.writer import (
    Event,
    PhraseWriter,
)


def _split_room(writer: PhraseWriter, clause: Callable[[], Fragment]) -> Fragment:
    """A clause that may use half of the room that is left."""
    whole = writer.room
    writer.room = whole // 2
    written = clause()
    writer.room += whole - whole // 2
    return written


def _main(writer: PhraseWriter, tense: Tense | None = None) -> Fragment:
    return action(writer, STATEMENT[writer.register], tense=tense)


def _comma(clause: Fragment) -> Fragment:
    return clause._replace(english=clause.english + ",")


IT = unspoken("it")
AND, BUT, SO = unspoken("and"), unspoken("but"), unspoken("so")


def _linked(writer: PhraseWriter, ending: str, word: Fragment) -> Fragment:
    clause = quality if writer.chance(0.3) else action
    first = _split_room(writer, lambda: clause(writer, ending))
    parts = (_comma(first), word, _main(writer))
    return join(parts, parts)


def addition(writer: PhraseWriter) -> Fragment:
    """One thing, and another: -고."""
    return _linked(writer, "-고", AND)


def contrast(writer: PhraseWriter) -> Fragment:
    """One thing, but another: -지만."""
    return _linked(writer, "-지만", BUT)


def consequence(writer: PhraseWriter) -> Fragment:
    """Something was so, so somebody did something: -아서, which shows no tense."""
    first = _split_room(writer, lambda: quality(writer, "-아서", case="subject", future=False))
    parts = (_comma(first), SO, _main(writer, PAST))
    return join(parts, parts)


def _subordinate(writer: PhraseWriter, word: str, clause: Fragment, main: Fragment) -> Fragment:
    """The clause before or after the main one in English; always before it in Korean."""
    linked = unspoken(word)
    if writer.chance(0.5):
        clause = _comma(clause)
        return join((linked, clause, main), (clause, linked, main))
    return join((main, linked, clause), (clause, linked, main))


def reason(writer: PhraseWriter) -> Fragment:
    """Because: -기 때문에."""
    clause = quality if writer.chance(0.5) else action
    why = _split_room(writer, lambda: clause(writer, "-기 때문에", case="subject"))
    return _subordinate(writer, "because", why, _main(writer))


def condition(writer: PhraseWriter) -> Fragment:
    """If: -(으)면."""
    when = _split_room(writer, lambda: _present(writer, "-(으)면"))
    return _subordinate(writer, "if", when, _main(writer, FUTURE))


def concession(writer: PhraseWriter) -> Fragment:
    """Even if: -아도."""
    when = _split_room(writer, lambda: _present(writer, "-아도"))
    return _subordinate(writer, "even if", when, _main(writer, FUTURE))


def _present(writer: PhraseWriter, ending: str) -> Fragment:
    if writer.chance(0.35):
        return writer.pick((_sky, _falling))(writer, ending, False)
    return _bare(writer, ending, PRESENT)


def _bare(writer: PhraseWriter, ending: str, tense: Tense) -> Fragment:
    """A clause inside another, without a time of its own."""
    return action(writer, ending, case="subject", tense=tense._replace(times=()))


def occasion(writer: PhraseWriter) -> Fragment:
    """When: -(으)ㄹ 때."""
    when = _split_room(writer, lambda: _bare(writer, "-(으)ㄹ 때", PAST))
    return _subordinate(writer, "when", when, _main(writer, PAST))


def sequence(writer: PhraseWriter) -> Fragment:
    """Before (-기 전에) and after (-(으)ㄴ 후에)."""
    word, ending = writer.pick((("before", "-기 전에"), ("after", "-(으)ㄴ 후에")))
    writer.used.append(word)
    when = _split_room(writer, lambda: _bare(writer, ending, PAST))
    return _subordinate(writer, word, when, _main(writer, PAST))


WEATHERS = (
    ("rain/rained", "비가", Stem.of("오")),
    ("snow/snowed", "눈이", Stem.of("내리")),
)
SKIES = (
    ("chilly", Stem.of("쌀쌀하", "adjective")),
    ("humid", Stem.of("습하", "adjective")),
    ("cloudy", Stem.of("흐리", "adjective")),
    ("sunny", Stem.of("맑", "adjective")),
)


def _sky(writer: PhraseWriter, ending: str, past: bool) -> Fragment:
    """It is cloudy (흐려요)."""
    english, stem = writer.pick(SKIES)
    said = finish(stem.past() if past else stem, ending)
    state = fragment(f"{'was' if past else 'is'} {english}", said)
    return join((IT, state), (state, IT))


def _falling(writer: PhraseWriter, ending: str, past: bool) -> Fragment:
    """It rains (비가 와요)."""
    english, noun, stem = writer.pick(WEATHERS)
    base, form = english.split("/")
    said = f"{noun} {finish(stem.past() if past else stem, ending)}"
    state = fragment(form if past else base + "s", said)
    return join((IT, state), (state, IT))


def weather(writer: PhraseWriter) -> Fragment:
    """The weather somewhere, some time."""
    past = writer.chance(0.6)
    clause, places = (
        (_sky, phrases.REGIONS_BEING) if writer.chance(0.5) else (_falling, phrases.REGIONS_AT)
    )
    state = clause(writer, STATEMENT[writer.register], past)
    place = writer.pick(places)
    time = writer.pick(phrases.PAST_TIMES if past else phrases.HABIT_TIMES)
    return join((state, place, time), (time, place, state))


def saying(writer: PhraseWriter) -> Fragment:
    """Somebody says or thinks that: -다고."""
    verb, past = writer.pick(((SAY, True), (SAY, False), (THINK, False)))
    subject = writer.person("topic")
    clause = quality if writer.chance(0.4) else action
    said = clause(writer, "-(느)ㄴ다고", case="subject")
    manner = Manner(subject.person, STATEMENT[writer.register], past, "", False, subject.honoured)
    predicate = verb_predicate(verb, "simple", manner)
    that = unspoken("that")
    return ordered(subject, predicate, (that, said), (said, that))


def infinite(event: Event, english: str, korean: str) -> Fragment:
    """A verb without a subject and its phrases; the English words all link with the verb."""
    words = f"{english} {event.verb.after}".strip()
    verb = fragment(words, korean)
    return join((verb, *event.english), (*event.korean, verb))


def purpose(writer: PhraseWriter) -> Fragment:
    """Somebody goes somewhere to do something: -(으)러."""
    room, writer.room = writer.room, 0
    move, aim = writer.event("m"), writer.activity()
    writer.room = room
    subject = writer.person("topic")
    past = writer.chance(0.7)
    manner = Manner(subject.person, STATEMENT[writer.register], past, "", False, subject.honoured)
    predicate = verb_predicate(move.verb, "simple", manner)
    to_do = infinite(aim, f"to {aim.verb.english.base}", attach(aim.verb.stem, "-(으)러"))
    time = PAST if past else PRESENT
    when = writer.pick(time.times)
    return ordered(subject, predicate, (*move.english, to_do), (to_do, *move.korean), when)


def meanwhile(writer: PhraseWriter) -> Fragment:
    """Somebody does something while doing something else: -(으)면서."""
    event, other = writer.activity(), writer.activity()
    subject = writer.person("topic")
    past = writer.settled(event.verb, subject.person, writer.chance(0.7))
    manner = Manner(subject.person, STATEMENT[writer.register], past, "", False, subject.honoured)
    predicate = verb_predicate(event.verb, "simple", manner)
    side = infinite(
        other, f"while {other.verb.english.gerund}", attach(other.verb.stem, "-(으)면서")
    )
    return ordered(subject, predicate, (*event.english, side), (side, *event.korean))
