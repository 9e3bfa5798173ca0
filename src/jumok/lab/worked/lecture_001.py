"""Lecture 001: embeddings, two simple position encodings, eleven keys, it and itself, 0.001."""

import torch

from jumok.attention.core import attend_by_scores
from jumok.attention.layers import RawAttention, SelfAttention
from jumok.attention.scores import DotScore
from jumok.lab.entry import Quote
from jumok.lab.text import Text, same
from jumok.lab.worked.example import (
    Noted,
    WorkedExample,
    WorkedStep,
    explained,
    filled,
    numbers,
    traced,
    vectors,
)
from jumok.layers.embedding import embedding_table
from jumok.positions.index import FractionPositions, IndexPositions
from jumok.positions.sinusoidal import sinusoids

SENTENCE = ("I", "am", "a", "student")
ANIMAL = "The animal didn't cross the street, because it was too tired"
SMALL = 0.001
VOCABULARY = 37_000  # of Vaswani et al. 2017, section 5.1: "about 37000 tokens"
THREE = {"animal": [1.0, 0.0, 0.0], "street": [0.0, 1.0, 0.0], "it": [0.6, 0.0, 0.8]}
TO_ANIMAL = [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [5.0, 0.0, 0.0]]
W_QUERY = [[0.0, 2.0, 0.0, 0.0], [0.0, 0.0, 0.0, 2.0], [0.0, 0.0, 0.0, 4.0], [2.0, 0.0, 0.0, 2.0]]

NUMBERS = Quote("001", 102, "I: 1 / am: 2 / a: 3 / student: 4 (숫자가 너무 커진다)")
FRACTIONS = Quote("001", 108, "I: 0.1 / am: 0.3 / a: 0.5...? (일반화 불가능)")
LOW = Quote("001", 49, "저 차원(512, 1024)의 실수 벡터로 mapping하여")
ITSELF = Quote("001", 266, "it 과의 연관성이 가장 크다고 나올 것")
ELEVEN = Quote("001", 174, "이 문장에서 Query는 it, Key는 문자에 있는 11개의 단어들이다.")
TINY = Quote(
    "001", 230, "분포 값이 0.001처럼 작은 숫자들은 곱함으로 써 없애 버릴 수 있기 때문이다."
)


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
    small, one_hot = torch.arange(15.0).view(5, 3), torch.eye(5)
    off = float((one_hot @ small - small[torch.arange(5)]).abs().max())
    steps = []
    for size in (512, 1024):
        with torch.device("meta"):
            table = embedding_table(VOCABULARY, size)
        steps.append(
            WorkedStep(
                LOW,
                Text(
                    f"numbers of a word in a table of {VOCABULARY:,} x {size:,}; one-hot it has "
                    f"{VOCABULARY:,}",
                    f"{VOCABULARY:,} x {size:,} 표에서 단어 하나의 숫자 개수. 원-핫이면 "
                    f"{VOCABULARY:,}개입니다",
                ),
                float(table.shape[1]),
                Noted(str(size), float(size), 0.0),
            )
        )
    looked_up = Text(
        "looking a row up is the product of the one-hot vector with the table: with 5 words and 3 "
        f"numbers each they differ by {off:g}",
        "행을 찾는 것은 원-핫 벡터와 표의 곱과 같습니다. 단어 5개, 숫자 3개씩인 표에서 차이는 "
        f"{off:g}입니다",
    )
    return WorkedExample(
        LOW,
        Text("Low: 512 or 1,024 instead of a vocabulary", "저차원: 어휘 크기 대신 512나 1,024"),
        Text(
            f"The vocabulary of {VOCABULARY:,} is that of Vaswani et al. 2017 (section 5.1). "
            "Whether like words lie near each other is in the lab “context”.",
            f"어휘 {VOCABULARY:,}개는 Vaswani et al. 2017(5.1절)의 것입니다. 비슷한 단어가 가까이 "
            "놓이는지는 실험 context에 있습니다.",
        ),
        (*steps, WorkedStep(LOW, looked_up)),
    )


def it_and_itself() -> WorkedExample:
    """Without W_Q and W_K "it" attends most to itself; with them it need not, and heads differ."""
    words, names = vectors(*THREE.values()), tuple(THREE)
    raw, head = RawAttention(DotScore()), SelfAttention(3, 3, 3)
    filled(head.query, TO_ANIMAL)
    filled(head.general.key, torch.eye(3).tolist())
    filled(head.general.value, torch.eye(3).tolist())
    trace, _ = traced(raw, lambda: raw(words, words), "001:266", names)
    other, _ = traced(head, lambda: head(words), "001:268", names)
    own, chosen = explained(trace, 2).looks, explained(other, 2).looks
    first = ", ".join(f"{look.key} {look.weight:.4f}" for look in own)
    second = ", ".join(f"{look.key} {look.weight:.4f}" for look in chosen)
    return WorkedExample(
        ITSELF,
        Text("it and itself", "it과 자기 자신"),
        Text(
            "The note gives no numbers. Chosen: animal = [1, 0, 0], street = [0, 1, 0], it = [0.6, "
            "0, 0.8], all of length 1. What a trained model does is in the lab “coreference”.",
            "노트에는 숫자가 없습니다. animal = [1, 0, 0], street = [0, 1, 0], it = [0.6, 0, "
            "0.8]로 정했고 길이는 모두 1입니다. 학습한 모델이 어떤지는 실험 coreference에 "
            "있습니다.",
        ),
        (
            WorkedStep(
                ITSELF,
                Text(
                    f"x·x, without matrices: {first}. Of vectors of one length, the product with "
                    "itself is the largest.",
                    f"행렬 없이 x·x로: {first}. 길이가 같은 벡터들 가운데서는 자신과의 내적이 가장 "
                    "큽니다.",
                ),
            ),
            WorkedStep(
                Quote(
                    "001",
                    268,
                    "다른 단어들(animal)과의 연관성도 파악할 수 있다.",
                ),
                Text(
                    f"a head whose W_Q turns it towards animal: {second}. One head with such "
                    "matrices is enough for this; several can do both at once.",
                    f"W_Q가 it을 animal 쪽으로 돌리는 헤드: {second}. 이런 행렬이 있으면 헤드 "
                    "하나로도 되고, 헤드가 여럿이면 두 가지를 함께 할 수 있습니다.",
                ),
            ),
        ),
        trace,
        row=2,
    )


def numbered() -> WorkedExample:
    """1, 2, 3, 4."""
    found = IndexPositions()(1, len(SENTENCE))[:, 0].tolist()
    far = IndexPositions()(1, 512)[-1].item()
    steps = tuple(
        WorkedStep(
            NUMBERS,
            Text(f"the position of {word}", f"{word}의 위치"),
            number,
            Noted(f"{word}: {place}", float(place), 0.0),
        )
        for place, (word, number) in enumerate(zip(SENTENCE, found, strict=True), start=1)
    )
    grows = Text(
        f"the 512th word gets {far:g}: the numbers grow with the sentence",
        f"512번째 단어는 {far:g}입니다. 문장이 길수록 숫자가 커집니다",
    )
    return WorkedExample(
        NUMBERS,
        Text("Positions as numbers", "위치를 숫자로"),
        Text(
            "jumok's encoding “index”, counted from 1 as in the note.",
            "jumok의 인코딩 index를 노트처럼 1부터 셉니다.",
        ),
        (*steps, WorkedStep(NUMBERS, grows)),
    )


def divided() -> WorkedExample:
    """Fractions of the sentence: the step depends on its length."""
    encoding = FractionPositions(512)

    def of(length: int) -> torch.Tensor:
        fractions: torch.Tensor = encoding(0, length, torch.tensor([length]))[0, :, 0]
        return fractions

    short, longer = of(4), of(8)
    first, step = 0.1, 0.2  # the note's
    sixth = first + 5 * step
    return WorkedExample(
        FRACTIONS,
        Text("Positions as fractions of the sentence", "위치를 문장 길이로 나눈 수로"),
        Text(
            "jumok's encoding “fraction”: t / (n - 1), with t from 0 and n words. The note's "
            "numbers have the fixed step 0.2 instead.",
            "jumok의 인코딩 fraction입니다. 단어가 n개일 때 t / (n - 1), t는 0부터입니다. 노트의 "
            "숫자는 이와 달리 간격이 0.2로 일정합니다.",
        ),
        (
            WorkedStep(
                FRACTIONS,
                Text(
                    f"with the note's step the sixth word has 0.1 + 5 x 0.2 = {sixth:.1f}, past 1",
                    f"노트의 간격으로는 여섯째 단어가 0.1 + 5 x 0.2 = {sixth:.1f}이 되어 1을 "
                    "넘습니다",
                ),
            ),
            WorkedStep(
                FRACTIONS,
                Text(
                    f"4 words: {numbers(short)}; 8 words: {numbers(longer)}: one step is another "
                    "distance in every sentence",
                    f"단어 4개: {numbers(short)}, 8개: {numbers(longer)}. 한 칸의 거리가 문장마다 "
                    "다릅니다",
                ),
            ),
            WorkedStep(
                Quote("001", 84, r"sin(pos/10000^{2i/d_{model}})"),
                Text(
                    f"sin and cos, d_model = 4: position 1 {numbers(sinusoids(4, 4)[1], 5)}, in a "
                    "sentence of any length",
                    f"sin과 cos, d_model = 4: 위치 1은 {numbers(sinusoids(4, 4)[1], 5)}, 문장 "
                    "길이와 상관없습니다",
                ),
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
        Text("it asks eleven words", "it이 열한 단어에 묻기"),
        Text(
            f"The note's sentence: {ANIMAL}. How a trained model weights the words is in the lab "
            "“coreference”.",
            f"노트의 문장: {ANIMAL}. 학습한 모델이 단어들을 얼마나 보는지는 실험 coreference에 "
            "있습니다.",
        ),
        (
            WorkedStep(
                ELEVEN,
                Text(
                    f"keys of the query it: {', '.join(words)}",
                    f"쿼리 it의 키: {', '.join(words)}",
                ),
                float(len(weights)),
                Noted("11", 11.0, 0.0),
            ),
            WorkedStep(
                ELEVEN,
                Text(
                    f"with equal scores each key has the weight 1 / 11 = {weights[0]:.4f}",
                    f"점수가 모두 같으면 키마다 가중치가 1 / 11 = {weights[0]:.4f}입니다",
                ),
            ),
        ),
    )


def student() -> WorkedExample:
    """softmax(Q K^T / √d_k) V of four words."""
    size = len(SENTENCE)
    layer = SelfAttention(size, size, size)
    filled(layer.query, W_QUERY)
    filled(layer.general.key, torch.eye(size).tolist())
    filled(layer.general.value, torch.eye(size).tolist())
    words = torch.eye(size)[None]
    trace, output = traced(layer, lambda: layer(words), "001:192", SENTENCE)
    looks = explained(trace, 2).looks
    scores = ", ".join(f"{look.score:g}" for look in looks)
    return WorkedExample(
        Quote("001", 192, "#### ex) I am a student"),
        Text("I am a student, operation by operation", "I am a student를 단계마다"),
        Text(
            "The note's figures are not in its text. Each word is one direction, and W_Q is chosen "
            "so that I asks for am, am and a for student.",
            "노트의 그림은 본문에 없습니다. 단어마다 방향이 하나이고, I는 am을, am과 a는 "
            "student를 찾도록 W_Q를 정했습니다.",
        ),
        (
            WorkedStep(
                Quote(
                    "001",
                    204,
                    "Query 벡터와 Key 벡터들을 곱한 값을 d\\_k의 루트 값으로 나누어 준다.",
                ),
                same(f"a: q·k / √4 = {scores}"),
            ),
            WorkedStep(
                Quote("001", 189, "스코어 값을 softmax함수에 넣어 attention 분포를 구함."),
                same(f"a: {numbers(torch.tensor([look.weight for look in looks]))}"),
            ),
            WorkedStep(
                Quote(
                    "001", 190, "각 분포 값을 value 벡터와 곱한 뒤 다 더해 attention value를 구함."
                ),
                Text(
                    f"a: {numbers(output[2])}, the weights themselves, because each value is one "
                    "direction",
                    f"a: {numbers(output[2])}. 값(value)마다 방향이 하나여서 가중치가 그대로 "
                    "보입니다",
                ),
            ),
        ),
        trace,
        row=2,
    )


def small_share() -> WorkedExample:
    """What a weight of 0.001 leaves of a value."""
    scores = torch.tensor([1 - SMALL, SMALL]).log().view(1, 1, 1, 2)
    found = attend_by_scores(scores, torch.eye(2).view(1, 1, 2, 2))[0][0, 0, 0]
    return WorkedExample(
        TINY,
        Text("What a share of 0.001 leaves", "0.001이 남기는 것"),
        Text(
            "Two words, with the shares 0.999 and 0.001; their values are [1, 0] and [0, 1].",
            "두 단어의 비율이 0.999와 0.001이고, 값(value)은 [1, 0]과 [0, 1]입니다.",
        ),
        (
            WorkedStep(
                TINY,
                Text(
                    f"the attention value is {numbers(found)}: a thousandth of the second word's "
                    "value is left, and not nothing",
                    f"어텐션 값은 {numbers(found)}입니다. 둘째 단어의 값(value)이 천분의 일 남고, "
                    "아주 없어지지는 않습니다",
                ),
            ),
        ),
    )
