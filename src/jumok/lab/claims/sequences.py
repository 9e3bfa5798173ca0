"""What attention does for sequences: time, positions, long sentences."""

from jumok.lab.entry import Lab, Quote
from jumok.lab.text import Text

SEQUENCES = (
    Lab(
        "parallel",
        Text(
            "No for-loop over the sequence",
            "시퀀스를 도는 for 문 없이",
        ),
        Text(
            "An RNN computes its steps one after another, self-attention all positions at once; "
            "that makes it faster, and lowers the time complexity.",
            "RNN은 한 단계씩 차례로, 셀프 어텐션은 모든 위치를 한꺼번에 계산합니다. 그래서 더 "
            "빠르고 시간 복잡도도 낮습니다.",
        ),
        (
            Quote(
                "002",
                4,
                "그동안의 RNN-based Encoder, Decoder는 for loop때문에 time complexity가 높았다.",
            ),
            Quote(
                "002",
                5,
                "Self-Attention은 for loop를 돌릴 필요가 없고 parallelly process하기 때문에 "
                "속도를 높인다.",
            ),
            Quote(
                "000",
                38,
                "각 토큰에서 수행하는 계산은 다른 토큰의 계산과 독립적으로 이루어진다.",
            ),
        ),
        Text(
            "A longer sequence does not lengthen the GRU's chain of operations, or it lengthens "
            "that of attention; attention is less than 1.5 times as fast on 64 positions; it "
            "needs more multiplications than the GRU at 2,048; or its time does not grow as n² "
            "to within a power of 0.3.",
            "시퀀스가 길어질 때 GRU의 연산 사슬이 길어지지 않거나 어텐션의 사슬이 길어지면, 길이 "
            "64에서 어텐션이 1.5배 넘게 빠르지 않으면, 길이 2,048에서 곱셈이 GRU보다 많으면, "
            "시간이 n²에서 0.3제곱 넘게 벗어나 늘어나면 성립하지 않습니다.",
        ),
        30,
    ),
    Lab(
        "positions",
        Text(
            "What a position encoding should be",
            "위치 인코딩의 조건",
        ),
        Text(
            "A position encoding should be unique, consistent, bounded and deterministic; with "
            "such an encoding a model finds the k-th word, in longer sentences too.",
            "위치 인코딩은 위치마다 고유하고, 거리가 일정하고, 값이 일정한 범위 안에 있고, "
            "결정적이어야 합니다. 그런 인코딩이 있으면 더 긴 문장에서도 k번째 단어를 찾습니다.",
        ),
        (
            Quote(
                "002",
                44,
                "각 time step(position)마다 unique encoding을 output해야한다.",
            ),
            Quote(
                "002",
                45,
                "두 time step 사이의 거리는 길이가 다른 문장 전체에 걸쳐 일치해야 한다.",
            ),
            Quote(
                "002",
                46,
                "Model은 긴 문장으로 잘 generalize되어야 한다. 값은 제한되어야 한다.",
            ),
            Quote(
                "002",
                47,
                "Deterministic해야한다.",
            ),
            Quote(
                "002",
                50,
                "Strategy2 문제 : 더 긴 문장을 만나면 값이 살짝 바뀐다.",
            ),
            Quote(
                "001",
                112,
                "숫자가 어느 특정 범위 내에 있어야 할 것",
            ),
        ),
        Text(
            "An encoding that meets all four requirements gains 25 points or less over no "
            "positions, in lines of usual length or in longer ones; or the fraction, which moves "
            "with the length, gains more than that in longer ones.",
            "네 조건을 모두 만족하는 인코딩이 보통 길이나 더 긴 줄에서 위치 정보가 없을 때보다 "
            "정답률이 25%포인트 넘게 높지 않거나, 길이에 따라 값이 바뀌는 비율 인코딩이 더 긴 "
            "줄에서 그보다 더 높으면 성립하지 않습니다.",
        ),
        90,
    ),
    Lab(
        "bottleneck",
        Text(
            "One vector for a whole sentence",
            "문장 전체를 벡터 하나에 담기",
        ),
        Text(
            "A fixed context vector loses more the longer the sentence is; attention does not, "
            "and a wider vector loses less.",
            "고정된 문맥 벡터는 문장이 길수록 정보를 더 많이 잃습니다. 어텐션은 그렇지 않고, "
            "벡터가 넓으면 덜 잃습니다.",
        ),
        (
            Quote(
                "004",
                69,
                "컨텍스트 벡터는 고정된 길이인데 입력 시퀀스가 길어지면 정보 손실의 문제점도 있다.",
            ),
            Quote(
                "001",
                6,
                "Encoder가 입력 시퀀스를 하나의 vector로 압축하는 과정에서 입력 시퀀스 정보가 "
                "일부 손실됨.",
            ),
            Quote(
                "004",
                31,
                "보통 컨텍스트 벡터는 256, 512, 1024 같은 크기로 설정한다.",
            ),
            Quote(
                "004",
                72,
                "**어텐션(attention)**은 입력 시퀀스가 길어지면 출력 시퀀스의 정확도가 떨어지는 "
                "것을 보정해주기 위해 등장한 기법이다.",
            ),
        ),
        Text(
            "From 4 to 16 words (all lengths known from training) the loss of a vector of 128 "
            "numbers rises by 0.2 nats per token or less, or by no more than 0.2 nats above what "
            "it rises by with attention or in a Transformer; or at 16 words it is not more than "
            "0.2 nats above theirs, or a vector of 512 numbers saves 0.2 nats or less against "
            "one of 32.",
            "4단어에서 16단어로 길어질 때(모두 학습에 있던 길이) 너비 128인 벡터의 손실이 토큰당 "
            "0.2nat 이하로만 늘어나거나, 어텐션이 있는 RNN이나 트랜스포머보다 0.2nat 넘게 더 "
            "늘어나지 않거나, 16단어에서 이들의 손실보다 0.2nat 넘게 높지 않거나, 너비 512인 "
            "벡터가 32인 벡터보다 0.2nat 넘게 낫지 않으면 성립하지 않습니다.",
        ),
        500,
    ),
)
