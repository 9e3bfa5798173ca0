"""Lecture 001: embeddings, two simple position encodings, eleven keys, it and itself, 0.001."""

import torch
from torch.nn import functional

from jumok.attention.core import attend_by_scores
from jumok.attention.layers import RawAttention, SelfAttention
from jumok.attention.scores import DotScore
from jumok.layers.embedding import embedding_table
from jumok.positions.index import FractionPositions, IndexPositions
from jumok.positions.sinusoidal import sinusoids
from jumok_lectures.text import same
from jumok_lectures.texts import Texts
from jumok_lectures.worked.example import (
    Noted,
    WorkedExample,
    WorkedStep,
    by_hand,
    by_torch,
    explained,
    numbers,
    set_matrix,
    traced,
    vectors,
)

T = Texts("worked_001")

SENTENCE = ("I", "am", "a", "student")
ANIMAL = "The animal didn't cross the street, because it was too tired"
SMALL = 0.001
FIRST_CODE = {"sin 1": "0.84147", "cos 1": "0.54030", "sin 0.01": "0.01000", "cos 0.01": "0.99995"}
VOCABULARY = 37_000  # of Vaswani et al. 2017, section 5.1: "about 37000 tokens"
THREE = {"animal": [1.0, 0.0, 0.0], "street": [0.0, 1.0, 0.0], "it": [0.6, 0.0, 0.8]}
TO_ANIMAL = [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [5.0, 0.0, 0.0]]
W_QUERY = [[0.0, 2.0, 0.0, 0.0], [0.0, 0.0, 0.0, 2.0], [0.0, 0.0, 0.0, 4.0], [2.0, 0.0, 0.0, 2.0]]

NUMBERS = T.quote("102")
FRACTIONS = T.quote("108")
LOW = T.quote("49")
ITSELF = T.quote("266")
ELEVEN = T.quote("174")
TINY = T.quote("230")


def examples() -> list[WorkedExample]:
    """All of this note."""
    return [
        low_dimension(),
        numbered(),
        divided(),
        eleven_keys(),
        student(),
        small_share(),
        it_and_itself(),
    ]


def low_dimension() -> WorkedExample:
    """512 or 1,024 numbers in place of one for every word of the vocabulary."""
    with torch.device("meta"):
        sizes = [embedding_table(VOCABULARY, size).shape[1] for size in (512, 1024)]
    table = torch.arange(15.0).view(5, 3)
    one_hot = torch.tensor([[0.0, 0.0, 0.0, 1.0, 0.0]])
    looked_up = functional.embedding(torch.tensor([3]), table)
    product = one_hot @ table
    return WorkedExample(
        LOW,
        T("low_dimension_title"),
        T("low_dimension_given", vocabulary=VOCABULARY),
        (
            WorkedStep(LOW, T("said_low", vocabulary=VOCABULARY, sizes=sizes)),
            *(
                WorkedStep(
                    LOW,
                    T("looked_up", number=number),
                    float(product[0, number - 1]),
                    by_torch("nn.functional.embedding", float(looked_up[0, number - 1])),
                )
                for number in (1, 2, 3)
            ),
        ),
    )


def it_and_itself() -> WorkedExample:
    """Without W_Q and W_K "it" attends most to itself; with them it need not, and heads differ."""
    words, names = vectors(*THREE.values()), tuple(THREE)
    raw, head = RawAttention(DotScore()), SelfAttention(3, 3, 3)
    set_matrix(head.query, TO_ANIMAL)
    set_matrix(head.general.key, torch.eye(3).tolist())
    set_matrix(head.general.value, torch.eye(3).tolist())
    trace, _ = traced(raw, lambda: raw(words, words), "001:266", names)
    other, _ = traced(head, lambda: head(words), "001:268", names)
    own, chosen = explained(trace, 2).looks, explained(other, 2).looks
    first = ", ".join(f"{look.key} {look.weight:.4f}" for look in own)
    second = ", ".join(f"{look.key} {look.weight:.4f}" for look in chosen)
    return WorkedExample(
        ITSELF,
        T("it_and_itself_title"),
        T("it_and_itself_given"),
        (
            WorkedStep(ITSELF, T("said_itself", first=first)),
            WorkedStep(T.quote("268"), T("said_268", second=second)),
        ),
        trace,
        row=2,
    )


def numbered() -> WorkedExample:
    """1, 2, 3, 4."""
    indexes = IndexPositions()(1, len(SENTENCE))[:, 0].tolist()
    far = IndexPositions()(1, 512)[-1].item()
    named = ", ".join(f"{word}: {number:g}" for word, number in zip(SENTENCE, indexes, strict=True))
    return WorkedExample(
        NUMBERS,
        T("numbered_title"),
        T("numbered_given"),
        (WorkedStep(NUMBERS, same(named)), WorkedStep(NUMBERS, T("grows", far=far))),
    )


def divided() -> WorkedExample:
    """Fractions of the sentence: the step depends on its length."""
    encoding = FractionPositions(512)

    def of(length: int) -> torch.Tensor:
        fractions: torch.Tensor = encoding(0, length, torch.tensor([length]))[0, :, 0]
        return fractions

    short, longer = of(4), of(8)
    first_code = sinusoids(4, 4)[1]
    first, step = 0.1, 0.2  # the note's
    sixth = first + 5 * step
    return WorkedExample(
        FRACTIONS,
        T("divided_title"),
        T("divided_given"),
        (
            WorkedStep(FRACTIONS, T("said_fractions", sixth=sixth)),
            WorkedStep(
                FRACTIONS, T("said_fractions_2", short=numbers(short), longer=numbers(longer))
            ),
            WorkedStep(T.quote("84"), T("said_84", sinusoids_1=numbers(first_code, 5))),
            *(
                WorkedStep(T.quote("84"), T("said_84_2", place=place), value, by_hand(*known))
                for place, (value, known) in enumerate(
                    zip(first_code.tolist(), FIRST_CODE.items(), strict=True)
                )
            ),
        ),
    )


def eleven_keys() -> WorkedExample:
    """As many keys as words."""
    words = ANIMAL.replace(",", "").split()
    scores = torch.zeros(1, 1, 1, len(words))
    weights = attend_by_scores(scores, torch.zeros(1, 1, len(words), 1))[1][0, 0, 0]
    return WorkedExample(
        ELEVEN,
        T("eleven_keys_title"),
        T("eleven_keys_given", animal=ANIMAL),
        (
            WorkedStep(ELEVEN, T("said_eleven", words=", ".join(words))),
            WorkedStep(ELEVEN, T("said_eleven_2"), float(weights[0]), by_hand("1 / 11", "0.0909")),
            WorkedStep(
                ELEVEN, T("said_eleven_3"), 1.0 / float(weights[-1]), Noted("11", 11.0, 1e-4)
            ),
        ),
    )


def student() -> WorkedExample:
    """softmax(Q K^T / √d_k) V of four words."""
    size = len(SENTENCE)
    layer = SelfAttention(size, size, size)
    set_matrix(layer.query, W_QUERY)
    set_matrix(layer.general.key, torch.eye(size).tolist())
    set_matrix(layer.general.value, torch.eye(size).tolist())
    words = torch.eye(size)[None]
    trace, output = traced(layer, lambda: layer(words), "001:192", SENTENCE)
    looks = explained(trace, 2).looks
    scores = ", ".join(f"{look.score:g}" for look in looks)
    return WorkedExample(
        T.quote("192"),
        T("student_title"),
        T("student_given"),
        (
            WorkedStep(T.quote("204"), same(f"a: q·k / √4 = {scores}")),
            WorkedStep(
                T.quote("189"), same(f"a: {numbers(torch.tensor([look.weight for look in looks]))}")
            ),
            WorkedStep(T.quote("190"), T("said_190", output_2=numbers(output[2]))),
        ),
        trace,
        row=2,
    )


def small_share() -> WorkedExample:
    """What a weight of 0.001 leaves of a value."""
    scores = torch.tensor([1 - SMALL, SMALL]).log().view(1, 1, 1, 2)
    mixed = attend_by_scores(scores, torch.eye(2).view(1, 1, 2, 2))[0][0, 0, 0]
    return WorkedExample(
        TINY,
        T("small_share_title"),
        T("small_share_given"),
        (WorkedStep(TINY, T("said_tiny", found=numbers(mixed))),),
    )
