"""The formula of attention: scores, order, and what the notes have wrong."""

from jumok.lab.entry import Lab, Quote
from jumok.lab.text import Text

SCORES = (
    Lab(
        "scale",
        Text(
            "Why scores are divided by √d_k",
            "점수를 왜 √d_k로 나누는가",
        ),
        Text(
            "Dot products grow with d_k; dividing them by √d_k keeps softmax from saturating and "
            "its gradient from vanishing.",
            "d_k가 클수록 내적도 커집니다. √d_k로 나누면 softmax가 한 곳에 쏠리지 않고 기울기가 "
            "사라지지 않습니다.",
        ),
        (
            Quote(
                "002",
                17,
                "Inner product score는 vector size가 커짐에 따라 arbitrary하게 커질 수 있기 "
                "때문에 normalize해준다.",
            ),
            Quote(
                "001",
                199,
                "이 때 값이 너무 커지는 것을 막기 위해 key의 차원의 루 트 값으로 나누어 정규화를 "
                "진행함.",
            ),
            Quote(
                "000",
                121,
                "내적값이 커지면 지수함수(exp)를 취했을 때 overflow가 일어날 수 있다.",
            ),
        ),
        Text(
            "At d_k = 4096 the gradient without the division is a quarter of that with it, or "
            "more; or with the division entropy or gradient still depend on d_k by a quarter or "
            "more.",
            "d_k = 4096에서 나누지 않은 기울기가 나눈 기울기의 1/4 이상이거나, 나누어도 "
            "엔트로피나 기울기가 d_k에 따라 1/4 이상 달라지면 성립하지 않습니다.",
        ),
        1,
    ),
    Lab(
        "order",
        Text(
            "Without positions, attention treats its input as a set",
            "위치 정보가 없는 어텐션은 입력을 집합으로 다룬다",
        ),
        Text(
            "If the words are permuted, the outputs of self-attention are permuted with them; "
            "with position encodings they are not.",
            "단어의 순서를 바꾸면 셀프 어텐션의 출력도 같은 순서로 바뀔 뿐입니다. 위치 정보를 "
            "넣으면 그렇지 않습니다.",
        ),
        (
            Quote(
                "002",
                39,
                "Self-Attention = Set Encoding",
            ),
            Quote(
                "004",
                221,
                "attention 연산은 **순열 불변성(permutation invariant)**이기 때문에 feature의 "
                "순서에 크게 신경쓰지 않는다.",
            ),
        ),
        Text(
            "A layer without positions moves by more than rounding (1e-5) when its input is "
            "permuted, or an encoder with positions by less than 5 %.",
            "입력의 순서를 바꾸었을 때 위치 정보가 없는 층의 출력이 반올림 오차(1e-5)보다 크게 "
            "달라지거나, 위치 정보가 있는 인코더의 출력이 5%보다 적게 달라지면 성립하지 않습니다.",
        ),
        1,
    ),
    Lab(
        "errata",
        Text(
            "Errors and contradictions in the notes",
            "강의 노트가 틀렸거나 서로 어긋나는 곳",
        ),
        Text(
            "No claim: 22 places of the notes, each quoted, and computed as written and as right; "
            "and “multiply by the mask” in its four readings.",
            "주장이 아닙니다. 강의 노트의 22군데를 인용하고 노트대로, 또 바르게 계산합니다. "
            "“마스크를 곱한다”는 네 가지로 읽어 봅니다.",
        ),
        (
            Quote(
                "000",
                100,
                "$d_k = d_v = 1024$ 로 설정했음.",
            ),
            Quote(
                "001",
                368,
                "t 시점 기준 미래의 단어들의 attention score에는 매우 작은 값을 곱해주어 "
                "softmax함수를 취할 때 0이 되도록 만들어준다.",
            ),
            Quote(
                "002",
                85,
                "Unnormalied attention에 softmax를 적용하기 전에 triangular matrix인 mask를 "
                "multiply한다.",
            ),
            Quote(
                "004",
                223,
                "$\\sqrt{D}$를 곱하는 이유는, 큰 벡터 크기의 영향을 줄이기 위해서이다.",
            ),
        ),
        Text(
            "This is a table of slips and not a claim: a statement is no slip where the "
            "measurement agrees with the note.",
            "주장이 아니라 오류의 표입니다. 측정이 강의 노트와 같으면 그 설명은 오류가 아닙니다.",
        ),
        2,
    ),
)
