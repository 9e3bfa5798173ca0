"""What vectors hold: sums, products, positions, single words."""

from jumok.lab.entry import Lab, Quote
from jumok.lab.text import Text

ROOM = "vectors"
VECTORS = (
    Lab(
        "mix",
        Text("What is left of A and B in a weighted sum", "가중합에 A와 B가 얼마나 남는가"),
        Text(
            "A weighted sum of A and B holds more of the one with the larger weight, and of each "
            "as much information as its weight: 88% of A and 12% of B.",
            "A와 B의 가중합에는 가중치가 큰 쪽의 정보가 더 많고, 각각의 정보가 가중치만큼 "
            "있습니다. A가 88%, B가 12%입니다.",
        ),
        (
            Quote(
                "003",
                6,
                "두 정보 중에서 Weight가 큰 쪽의 정보를 더 많이 갖고 있는다.",
            ),
            Quote(
                "003",
                8,
                "텐서A의 값은 0.88이고 텐서B의 값은 0.12 일 때 더해진 텐서C의 정보는 텐서A의 정보 "
                "88% 텐서B의 정보 12%를 가지고 있다.",
            ),
        ),
        Text(
            "The best linear map reads back (R²) no more of A than of B, whichever of them is the "
            "longer vector; or the shares read back differ from 0.88 and 0.12 by over 0.05.",
            "가장 좋은 선형 사상으로 되읽은 정도(R²)가 A보다 B에서 작지 않거나(B가 더 긴 벡터일 "
            "때도), 되읽은 정도가 0.88, 0.12와 0.05 넘게 다르면 성립하지 않습니다.",
        ),
        2,
        room=ROOM,
    ),
    Lab(
        "similarity",
        Text("Is attention similarity?", "어텐션은 유사도인가"),
        Text(
            "The nearer two vectors, the larger their dot product; and attention learns how "
            "similar the words of a sentence are.",
            "벡터가 가까울수록 내적이 큽니다. 그리고 어텐션은 문장 안 단어들의 유사도를 "
            "학습합니다.",
        ),
        (
            Quote(
                "003",
                10,
                "비슷한 정보들끼리는 값이 크게 나오고, 상관없는 정보들 끼리는 값이 작게 나온다.",
            ),
            Quote(
                "003",
                12,
                "벡터 공간 내 거리가 비슷할 수록 값이 크게나오고, 거리가 멀 수록 값이 작게나온다.",
            ),
            Quote(
                "003",
                61,
                "Attention은 결국 입력 문장 내에서의 유사도를 최적으로 학습하는 알고리즘이다.",
            ),
        ),
        Text(
            "The nearest of keys with different lengths has the largest product in 90% of cases or "
            "less; or a head that was taught to find unrelated words weights the words in an order "
            "that has a rank correlation of 0.5 or less with their likeness.",
            "길이가 서로 다른 키 가운데 가장 가까운 것의 내적이 가장 큰 경우가 90% 이하이거나, "
            "무관한 단어를 찾도록 학습한 헤드의 가중치와 단어 유사도의 순위 상관이 0.5 이하이면 "
            "성립하지 않습니다.",
        ),
        6,
        room=ROOM,
    ),
    Lab(
        "distribution",
        Text("Why not the attention distribution itself?", "어텐션 분포를 왜 그대로 쓰지 않는가"),
        Text(
            "The distribution is not used itself, because multiplying the values by it takes "
            "small shares such as 0.001 away and leaves the words that matter.",
            "분포를 그대로 쓰지 않는 것은, 값에 곱하면 0.001처럼 작은 비율은 사라지고 집중할 "
            "단어만 남기 때문입니다.",
        ),
        (
            Quote(
                "001",
                230,
                "집중하고 싶은 단어들만 남겨두기 위해 분포 값이 0.001처럼 작은 숫자들은 곱함으로 "
                "써 없애 버릴 수 있기 때문이다.",
            ),
        ),
        Text(
            "The word is named from the distribution alone (over 3%), or from the value in 90% of "
            "cases or less; or a word with a share of 0.001 is named; or 500 such shares, of "
            "different words or of one, make up over 2% of the output's squared length.",
            "분포만으로 단어를 알아맞히거나(3% 초과) 어텐션 값으로 알아맞히는 비율이 90% "
            "이하이면, 또는 비율이 0.001인 단어를 알아맞히거나 그런 비율 500개가 서로 다른 "
            "단어이든 같은 단어이든 출력 길이의 제곱에서 2%를 넘게 차지하면 성립하지 않습니다.",
        ),
        1,
        room=ROOM,
    ),
    Lab(
        "position-wise",
        Text("Each position on its own", "위치마다 따로"),
        Text(
            "The feed-forward network is applied to each position on its own, and the block owes "
            "its nonlinearity to it.",
            "피드포워드 신경망은 위치마다 독립적으로 적용되며, 블록의 비선형성은 여기서 나옵니다.",
        ),
        (
            Quote("001", 298, "FFNN은 각 위치의 단어마다 독립적으로 적용되어 출력값을 만듦."),
            Quote("002", 34, "Feed-Forward Neural Network : non-linearity를 주기 위해서이다."),
        ),
        Text(
            "Another word changes the output of any other position, or permuted words give "
            "anything but permuted outputs (above rounding); or, with self-attention beside it, a "
            "network without the ReLU learns to compare two features as well as one with it, to "
            "within 15 points.",
            "단어 하나를 바꿨을 때 다른 위치의 출력이 (반올림 오차를 넘어) 달라지거나 순서를 바꾼 "
            "출력이 나오지 않으면, 또는 두 특징을 비교할 때 셀프 어텐션만 있고 ReLU가 없는 "
            "신경망이 있는 신경망과 15점 안으로 가까우면 성립하지 않습니다.",
        ),
        14,
        room=ROOM,
    ),
    Lab(
        "rotation",
        Text("Why sin and cos", "왜 sin과 cos인가"),
        Text(
            "Position codes of sin and cos lie in a fixed range and follow a rule: moving by k "
            "positions is one rotation, wherever one is; with sines alone it is not.",
            "sin과 cos으로 된 위치 인코딩은 값이 일정한 범위 안에 있고 규칙이 있습니다. 위치를 "
            "k만큼 옮기는 것은 어디에서나 같은 회전입니다. sin만으로는 그렇지 않습니다.",
        ),
        (
            Quote("001", 96, "적절한 positional encoding 함수에 대한 고민,, Why Sin & Cos?"),
            Quote("001", 112, "숫자가 어느 특정 범위 내에 있어야 할 것"),
            Quote("001", 113, "값을 부여할 때 규칙성이 있어야 할 것(일반화)"),
        ),
        Text(
            "The rotation misses a code by more than rounding, or the product of two codes k apart "
            "depends on where they are; or sines alone, of the same width, do as well: their best "
            "matrix misses by 10% or less, or their products vary by 10% or less.",
            "회전이 반올림 오차 넘게 빗나가거나, 거리가 k인 두 인코딩의 내적이 위치에 따라 "
            "달라지면, 또는 너비가 같을 때 sin만으로도 가장 좋은 행렬의 오차나 내적의 변동이 10% "
            "이하이면 성립하지 않습니다.",
        ),
        1,
        room=ROOM,
    ),
    Lab(
        "analogy",
        Text("king - man + woman", "왕 - 남자 + 여자"),
        Text(
            "Arithmetic with word vectors solves analogies: king - man + woman = queen.",
            "단어 벡터의 덧셈과 뺄셈으로 유추를 풀 수 있습니다. 왕 - 남자 + 여자 = 여왕입니다.",
        ),
        (Quote("004", 33, "ex. 왕 - 남자 + 여자 = 여왕"),),
        Text(
            "From smallworld's sentences it solves half of the analogies of man : woman or fewer; "
            "or the nearest word to the third one alone, without any arithmetic, solves as many, "
            "to within 25 points.",
            "smallworld 문장으로 만든 벡터가 man : woman 유추의 절반 이하만 풀거나, 아무 계산 없이 "
            "셋째 단어에 가장 가까운 단어만으로도 25점 안으로 비슷하게 풀면 성립하지 않습니다.",
        ),
        6,
        room=ROOM,
    ),
)
