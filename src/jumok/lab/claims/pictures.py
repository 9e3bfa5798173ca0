"""Attention over pictures."""

from jumok.lab.entry import Lab, Quote
from jumok.lab.text import Text

PICTURES = (
    Lab(
        "looking",
        Text(
            "Captions, and what each word attends to",
            "캡션, 그리고 각 단어가 보는 곳",
        ),
        Text(
            "With attention over the grid, every word attends to the object that it names, and "
            "captions are right more often than from one vector.",
            "격자에 어텐션을 적용하면 각 단어는 자기가 가리키는 것이 있는 곳을 보고, 벡터 하나일 "
            "때보다 캡션이 더 자주 맞습니다.",
        ),
        (
            Quote(
                "004",
                170,
                "각 context vector는 다른 이미지 지역들을 집중(attend to)할 것이다.",
            ),
            Quote(
                "004",
                168,
                "입력 시퀀스가 너무 길어지면 병목 현상이 일어나기 때문에 이를 보정할 attention을 "
                "도입한다.",
            ),
        ),
        Text(
            "Nouns point into the box of what they name in 75 % of the cases or less, or "
            "captions are right on 20 points or less more pictures than with one vector.",
            "명사가 가리키는 것의 상자 안을 보는 비율이 75% 이하이거나, 옳은 캡션이 벡터 하나일 "
            "때보다 20%포인트 넘게 많지 않으면 성립하지 않습니다.",
        ),
        190,
    ),
    Lab(
        "convolution",
        Text(
            "A convolutional network with attention",
            "어텐션이 있는 합성곱 신경망",
        ),
        Text(
            "Attention over the pixels connects distant positions better than convolutions do, "
            "also those that reach as far, and helps on real pictures. (The note only shows such "
            "a network.)",
            "픽셀 사이의 어텐션은 떨어져 있는 것을 합성곱보다, 똑같이 멀리 보는 합성곱보다도 더 "
            "잘 이어 주고, 실제 이미지에서도 도움이 됩니다. (강의 노트는 그런 신경망을 보여 "
            "주기만 합니다.)",
        ),
        (
            Quote(
                "004",
                332,
                "위 그림은 cnn과 self-attention을 적용한 내용이다.",
            ),
        ),
        Text(
            "Attention is right on 10 points or less more pictures than 1x1 convolutions, or "
            "than 3x3 convolutions over the whole field; or on 1 point or less more handwritten "
            "digits.",
            "1x1 합성곱이나 전체를 보는 3x3 합성곱보다 정답률이 10%포인트 넘게 높지 않거나, "
            "손글씨 숫자에서 1%포인트 넘게 높지 않으면 성립하지 않습니다.",
        ),
        200,
    ),
)
