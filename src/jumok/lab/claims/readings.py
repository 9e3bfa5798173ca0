"""What attention and its vectors tell: alignment, words in context, pronouns."""

from jumok.lab.entry import Lab, Quote
from jumok.lab.text import Text

READINGS = (
    Lab(
        "alignment",
        Text(
            "What each word attended to",
            "각 단어가 본 곳",
        ),
        Text(
            "Attention finds the corresponding words, in another order, too: near the diagonal "
            "in English-French, crossing in English-Korean.",
            "어텐션은 순서가 달라도 서로 대응하는 단어를 찾습니다. 영어-프랑스어에서는 대각선에 "
            "가깝고 영어-한국어에서는 엇갈립니다.",
        ),
        (
            Quote(
                "004",
                144,
                "파란색 부분 중 대각선 모양처럼 보이는 것은 단어가 순서대로 대응한다는 것을 "
                "의미한다.",
            ),
            Quote(
                "004",
                145,
                "빨간색 부분처럼 반대 방향의 대각선 보일 때는 attention이 다른 단어의 순서를 "
                "알아냄을 의미한다.",
            ),
            Quote(
                "000",
                30,
                "도착어 문장의 현재 단계에서 출발어 문장의 각 토큰을 얼마나 주목할 것인가?",
            ),
        ),
        Text(
            "On sentences that did not choose where to read, the error rate of a Transformer's "
            "or an RNN's attention is not more than 0.1 below the diagonal's, or its links cross "
            "half as often as the gold ones or less; or gold links cross no more than 1.5 times "
            "as often in English-Korean as in English-French.",
            "읽을 곳을 고르는 데 쓰지 않은 문장에서 트랜스포머나 RNN의 어텐션이 대각선보다 "
            "오류율이 0.1 넘게 낮지 않거나, 그 연결이 정답의 절반보다 많이 엇갈리지 않거나, "
            "영어-한국어의 정답 연결이 영어-프랑스어의 1.5배 넘게 엇갈리지 않으면 성립하지 "
            "않습니다.",
        ),
        70,
        reads_encoders=True,
    ),
    Lab(
        "context",
        Text(
            "Like words, and one word in two sentences",
            "비슷한 단어, 그리고 두 문장 속의 한 단어",
        ),
        Text(
            "Training places words of like meaning near each other; in an encoder a word's "
            "vector depends on its sentence, and tells which of its meanings is meant.",
            "학습하면 뜻이 비슷한 단어가 가까이 놓입니다. 인코더에서는 같은 단어도 문장에 따라 "
            "벡터가 다르고, 벡터에서 어느 뜻인지 드러납니다.",
        ),
        (
            Quote(
                "001",
                49,
                "의미적으로 비슷한 단어를 가깝게 배치(분산표현, Distributed Representation)",
            ),
            Quote(
                "001",
                53,
                "Word vector 임의로 생성, 학습하면서 적절한 값을 얻는 방 식",
            ),
            Quote(
                "000",
                242,
                "Contexual embeddings: BERT and GPT-2,3 (SLP3 11장)",
            ),
        ),
        Text(
            "A word of the same kind is nearer than one of another kind in not more than 5 points "
            "more of the comparisons after training than before it; or 5 points or less more "
            "uses of a word than by chance have a nearest one that is translated in the same way.",
            "같은 종류의 단어가 다른 종류의 단어보다 가까운 비율이 학습 뒤에 5%포인트 넘게 늘지 "
            "않거나, 같은 단어의 가장 가까운 쓰임이 같은 번역인 비율이 우연보다 5%포인트 넘게 "
            "높지 않으면 성립하지 않습니다.",
        ),
        35,
        reads_encoders=True,
    ),
    Lab(
        "coreference",
        Text(
            "What “it” attends to",
            "“it”이 보는 단어",
        ),
        Text(
            "“it” attends to what it refers to: the animal that was too tired; in a model that "
            "is taught to, and in a translator that is not.",
            "“it”의 어텐션은 “it”이 가리키는 것, 곧 너무 피곤했던 동물로 향합니다. 그렇게 배운 "
            "모델에서도, 배우지 않은 번역 모델에서도 그렇습니다.",
        ),
        (
            Quote(
                "001",
                144,
                "Multi-head Attention을 이용하여 it과 animal이 가장 높은 단어 연관성을 가진다는 "
                "것을 발견하여 it이 animal임을 알 수 있다!!",
            ),
        ),
        Text(
            "In a taught encoder, or in a translator, the head chosen on one half of the "
            "sentences prefers the right noun in 60 % of the other half or less (chance: 50 %).",
            "그렇게 배운 인코더나 번역 모델에서, 앞 절반의 문장으로 고른 헤드가 뒤 절반의 60% "
            "넘는 문장에서 옳은 명사를 더 보지 않으면 성립하지 않습니다(우연: 50%).",
        ),
        40,
        reads_encoders=True,
    ),
)
