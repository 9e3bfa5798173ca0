"""Whether each client gets its own answer, and the one that the offline command gives.

Every request has a tag, a random text of 1 to 200 words and a random beam. The server returns the
tag and the tokens of the text that it read, so that an answer to another client would show, also
where both texts have the same translation.
"""

import random
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial

from benchmarks.load import Question, Reply, Target, closed_loop
from jumok.decoding.options import FOR_TRANSLATION
from jumok.systems.translation.result import Translation
from jumok.systems.translation.translator import Translator

Sent = tuple[list[Reply], float]
Loaded = Callable[[Callable[[Target], Awaitable[Sent]]], Sent]

BEAMS = (1, 2, 4, 5)
TOGETHER = 24
"""Clients at the same time."""

CHUNK = 1_000
"""Requests between two comparisons, so that long runs need no memory."""

BATCH = 32
"""Sentences that the offline translation computes together: others than the server does."""

SCORES = 1e-5
"""The largest difference of two scores, relative, that counts as equal."""


def tagged_questions(texts: Sequence[str], draw: random.Random, first: int) -> list[Question]:
    """A request for each text, with a tag that no other request has, and a random beam."""
    return [
        Question(
            "/v1/translate",
            {"text": text, "beam": draw.choice(BEAMS), "return": ["tokens"]},
            f"tag-{number}",
        )
        for number, text in enumerate(texts, first)
    ]


def compared(
    questions: Sequence[Question], replies: Sequence[Reply], offline: Translator
) -> Counter[str]:
    """How many answers are those of the offline translation, and how many are another client's."""
    counts: Counter[str] = Counter()
    expected = _offline(questions, offline)
    for question, reply, own in zip(questions, replies, expected, strict=True):
        counts[f"status {reply.status}"] += 1
        if reply.status == 200:
            counts.update(_judged(question, reply, own))
    return counts


def _offline(questions: Sequence[Question], offline: Translator) -> list[Translation]:
    """The offline translation of each request, in their order."""
    texts, beams = zip(*map(_text_and_beam, questions), strict=True)
    translations: dict[int, Translation] = {}
    for beam in sorted(set(beams)):
        places = [place for place, each in enumerate(beams) if each == beam]
        answers = offline.translate(
            [texts[place] for place in places], FOR_TRANSLATION, beam=beam, batch_size=BATCH
        )
        translations.update(zip(places, answers, strict=True))
    return [translations[place] for place in range(len(questions))]


def _text_and_beam(question: Question) -> tuple[str, int]:
    body = question.body
    assert isinstance(body, dict)
    return body["text"], body["beam"]


def _judged(question: Question, reply: Reply, own: Translation) -> Iterator[str]:
    """What is true of one answer."""
    answers = reply.json["answers"]
    assert isinstance(answers, list)
    (answer,) = answers
    read = tuple(each["piece"] for each in answer["source_tokens"])
    if reply.headers["x-request-id"] != question.tag or read != tuple(own.source_tokens):
        yield "another client's"
    if answer["text"] == own.text:
        yield "same text"
    if abs(answer["score"] - own.score) <= SCORES * abs(own.score):
        yield "same score"
    likely = tuple(each["log_probability"] for each in answer["tokens"])
    known = own.token_log_probabilities[: len(likely)]
    several = None in likely  # the values of a text of several segments are not told apart
    if answer["score"] == own.score and (several or likely == known):
        yield "bitwise the same score"


def tagged(texts: Iterator[str], load: Loaded, offline: Translator, count: int) -> Counter[str]:
    """Sends `count` requests, and compares each answer with the offline translation."""
    draw, counts = random.Random(4), Counter[str]()
    for first in range(0, count, CHUNK):
        some = [next(texts) for _ in range(min(CHUNK, count - first))]
        questions = tagged_questions(some, draw, first)
        replies, _ = load(partial(closed_loop, questions=questions, together=TOGETHER))
        counts += compared(questions, replies, offline)
        if count > CHUNK:
            print(
                f"{first + len(some):,} of {count:,}: {dict(counts)}", file=sys.stderr, flush=True
            )
    return counts
