"""Attention over pictures."""

from jumok.lab.entry import Lab, Quote
from jumok.lab.text import Text

PICTURES = (
    Lab(
        "looking",
        Text("Captions, and what each word attends to", "캡션, 그리고 각 단어가 보는 곳"),
        Text(
            "With attention over the grid, every word attends to the object that it names.",
            "격자에 어텐션을 적용하면 각 단어는 자기가 가리키는 것이 있는 곳을 봅니다.",
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
            "Nouns point into the box of what they name in less than 90 % of the cases, or "
            "attention writes no more right captions than one vector.",
            "명사가 가리키는 것의 상자 안을 보는 비율이 90%에 못 미치거나, 벡터 하나보다 옳은 "
            "캡션이 많지 않으면 성립하지 않습니다.",
        ),
        32,
    ),
    Lab(
        "convolution",
        Text("A convolutional network with attention", "어텐션이 있는 합성곱 신경망"),
        Text(
            "Attention over the pixels connects distant positions; convolutions of the same "
            "size do not.",
            "픽셀 사이의 어텐션은 떨어져 있는 것을 이어 주지만, 같은 크기의 합성곱은 그러지 "
            "못합니다.",
        ),
        (
            Quote(
                "004",
                332,
                "위 그림은 cnn과 self-attention을 적용한 내용이다.",
            ),
        ),
        Text(
            "Attention is right no more often than convolutions with as many parameters.",
            "매개변수 수가 같은 합성곱보다 정답률이 높지 않으면 성립하지 않습니다.",
        ),
        90,
    ),
)
