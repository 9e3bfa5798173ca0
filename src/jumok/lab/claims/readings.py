"""What attention and its vectors tell: alignment, words in context, pronouns."""

from jumok.lab.entry import Lab, Quote
from jumok.lab.text import Text

READINGS = (
    Lab(
        "alignment",
        Text("What each word attended to", "각 단어가 본 곳"),
        Text(
            "Attention finds the corresponding words: near the diagonal in English-French, "
            "crossing in English-Korean.",
            "어텐션은 서로 대응하는 단어를 찾습니다. "
            "영어-프랑스어에서는 대각선에 가깝고 영어-한국어에서는 엇갈립니다.",
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
            "Attention's links have an error rate of 0.25 or more, or English-Korean does "
            "not cross more often than English-French.",
            "어텐션으로 얻은 연결의 오류율이 0.25 이상이거나, 영어-한국어가 영어-프랑스어보다 더 "
            "엇갈리지 않으면 성립하지 않습니다.",
        ),
        40,
    ),
    Lab(
        "context",
        Text("One word, two sentences, two vectors", "한 단어, 두 문장, 두 벡터"),
        Text(
            "In an encoder a word gets a different vector in each sentence, and nearby vectors "
            "belong to similar sentences.",
            "인코더에서는 같은 단어라도 문장마다 벡터가 다르고, 벡터가 가까우면 문장도 비슷합니다.",
        ),
        (
            Quote(
                "001",
                49,
                "의미적으로 비슷한 단어를 가깝게 배치(분산표현, Distributed Representation)",
            ),
            Quote(
                "000",
                242,
                "Contexual embeddings: BERT and GPT-2,3 (SLP3 11장)",
            ),
        ),
        Text(
            "The vectors of one word are alike in every sentence, or neighbours in context "
            "are built no more alike.",
            "한 단어의 벡터가 문장마다 같거나, 가까운 문장의 구문이 더 비슷하지 않으면 성립하지 "
            "않습니다.",
        ),
        20,
        reads_encoders=True,
    ),
    Lab(
        "coreference",
        Text("What “it” attends to", "“it”이 보는 단어"),
        Text(
            "“it” attends to what it refers to: the animal that was too tired.",
            "“it”의 어텐션은 “it”이 가리키는 것, 곧 너무 피곤했던 동물로 향합니다.",
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
            "The head chosen on one half of the sentences prefers the right noun in three "
            "quarters of the other half or less.",
            "앞 절반의 문장으로 고른 헤드가 뒤 절반의 3/4 넘는 문장에서 옳은 명사를 더 보지 "
            "않으면 성립하지 않습니다.",
        ),
        20,
        reads_encoders=True,
    ),
)
