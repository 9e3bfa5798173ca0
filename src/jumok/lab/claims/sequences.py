"""What attention does for sequences: time, positions, long sentences."""

from jumok.lab.entry import Lab, Quote
from jumok.lab.text import Text

SEQUENCES = (
    Lab(
        "parallel",
        Text("No for-loop over the sequence", "시퀀스를 도는 for 문 없이"),
        Text(
            "An RNN computes its steps one after another; self-attention computes all positions at "
            "once, at a quadratic cost.",
            "RNN은 한 단계씩 차례로 계산합니다. 셀프 어텐션은 한꺼번에 계산하는 대신 비용이 길이의 "
            "제곱에 비례합니다.",
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
            "At the lengths of sentences a layer of self-attention takes longer than a GRU.",
            "문장 정도의 길이에서 셀프 어텐션이 GRU보다 느리면 성립하지 않습니다.",
        ),
        9,
    ),
    Lab(
        "positions",
        Text("What a position encoding should be", "위치 인코딩의 조건"),
        Text(
            "A position encoding should be unique, consistent, bounded and deterministic; such "
            "encodings also work for sentences longer than any in training.",
            "위치 인코딩은 위치마다 고유하고, 거리가 일정하고, 값이 일정한 범위 안에 있고, "
            "결정적이어야 합니다. 그런 인코딩은 학습에 없던 긴 문장에서도 잘 작동합니다.",
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
                "001",
                112,
                "숫자가 어느 특정 범위 내에 있어야 할 것",
            ),
        ),
        Text(
            "Encodings that meet all four requirements do no better on longer sentences than "
            "the others.",
            "네 조건을 모두 만족하는 인코딩이 더 긴 문장에서 나머지보다 낫지 않으면 성립하지 "
            "않습니다.",
        ),
        110,
    ),
    Lab(
        "bottleneck",
        Text("One vector for a whole sentence", "문장 전체를 벡터 하나에 담기"),
        Text(
            "A fixed context vector loses more information the longer the sentence is; attention "
            "does not.",
            "고정된 문맥 벡터는 문장이 길수록 정보를 더 많이 잃습니다. 어텐션은 그렇지 않습니다.",
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
            "From the shortest to the longest sentences the fixed vector loses no more than "
            "the models with attention do.",
            "가장 짧은 문장에서 가장 긴 문장으로 갈 때 고정 벡터가 어텐션이 있는 모델보다 더 "
            "잃지 않으면 성립하지 않습니다.",
        ),
        120,
    ),
)
