"""What learns, and from how much."""

from jumok.lab.entry import Lab, Quote
from jumok.lab.text import Text

ROOM = "learning"
LEARNING = (
    Lab(
        "width",
        Text("A vector of 256, 512 or 1,024 numbers", "수 256, 512, 1,024개짜리 벡터"),
        Text(
            "The context vector has 256, 512 or 1,024 numbers whatever the length of the sentence, "
            "and so information is lost as sentences grow; with attention it is not.",
            "문맥 벡터는 문장의 길이와 상관없이 수 256, 512, 1,024개로 되어 있어서 문장이 "
            "길어지면 정보가 손실됩니다. 어텐션이 있으면 그렇지 않습니다.",
        ),
        (
            Quote(
                "004",
                31,
                "보통 컨텍스트 벡터는 256, 512, 1024 같은 크기로 설정한다. (즉, 입력 시퀀스의 "
                "길이와 상관없이 고정된 길이)",
            ),
            Quote(
                "004",
                69,
                "또한 컨텍스트 벡터는 고정된 길이인데 입력 시퀀스가 길어지면 정보 손실의 "
                "문제점도 있다.",
            ),
        ),
        Text(
            "1,024 numbers give 90% of 256 random words back or more; or four times the width "
            "holds no more than three times the words; or with attention it is below 90%, too.",
            "1,024개의 수가 무작위 단어 256개의 90% 이상을 되돌려 주거나, 너비가 네 배여도 담는 "
            "단어가 세 배를 넘지 않거나, 어텐션이 있어도 90% 이하이면 성립하지 않습니다.",
        ),
        2,
        room=ROOM,
    ),
    Lab(
        "data",
        Text("How much data a Transformer needs", "트랜스포머에 필요한 데이터의 양"),
        Text(
            "Attention is driven by data alone: with little of it a Transformer is behind an RNN, "
            "and with much it is not.",
            "어텐션은 데이터에만 의존합니다. 데이터가 적으면 트랜스포머가 RNN보다 못하고, 많으면 "
            "그렇지 않습니다.",
        ),
        (
            Quote(
                "002",
                40,
                "Self-Attention은 purely data driven방식이며, 이것이 transformer가 powerful한 "
                "model인 이유이자 매우 많은 양의 데이터가 필요한 이유이다.",
            ),
        ),
        Text(
            "With 240 sentences a Transformer's loss is at most 0.05 nats a word above that of a "
            "GRU of its size; or with 7,680 it is still 0.05 above; or it gains 0.05 or less.",
            "문장이 240개일 때 트랜스포머의 손실이 비슷한 크기의 GRU보다 단어당 0.05 nat 넘게 "
            "크지 않거나, 7,680개일 때도 0.05 nat 이상 크거나, 그 사이에 좁힌 차이가 0.05 nat "
            "이하이면 성립하지 않습니다.",
        ),
        180,
        room=ROOM,
    ),
    Lab(
        "gradients",
        Text("All of it is differentiable", "모두 미분 가능하다"),
        Text(
            "All of it is differentiable: a gradient of every target word reaches every source "
            "word, and with attention it is no longer lost on the way.",
            "모두 미분 가능합니다. 모든 도착어 단어의 기울기가 모든 출발어 단어에 전해지며, "
            "어텐션이 있으면 도중에 사라지지 않습니다.",
        ),
        (
            Quote("004", 113, "한가지 알아둘 점은 **모두 미분가능하다(differentiable)는 것이다.**"),
            Quote("004", 201, "모든 프로세스는 미분이 가능(differentiable)하다."),
        ),
        Text(
            "The gradient at some source word is 0; or a finite difference contradicts it; or of "
            "40 words the first one gets less than ten times as much of it with attention as from "
            "one vector; or hard attention, which has none, shows one.",
            "어떤 출발어 단어의 기울기가 0이거나 유한 차분과 다르면, 단어 40개 중 첫 단어에 남은 "
            "기울기가 어텐션이 있을 때 벡터 하나일 때의 열 배가 안 되면, 기울기가 없어야 하는 "
            "하드 어텐션에서 기울기가 나오면 성립하지 않습니다.",
        ),
        2,
        room=ROOM,
    ),
    Lab(
        "scores",
        Text("Which score function", "어떤 점수 함수를 쓸 것인가"),
        Text(
            "A simple dot product may replace the small network of additive attention.",
            "덧셈 어텐션의 작은 신경망을 간단한 내적으로 바꾸어도 됩니다.",
        ),
        (
            Quote("000", 30, "= \\vec{h}_{i-1}^d \\cdot \\vec{h}_j^e \\in \\mathbb{R}$"),
            Quote("004", 90, "$f_{att}$=MLP"),
            Quote("004", 223, "이를 간단한 내적 $h\\cdot x_i$로 바꾸었다."),
        ),
        Text(
            "The network finds the right key at least 5 points more often than the dot product "
            "does, of the vectors as they are or behind W_Q and W_K, at width 128.",
            "너비 128에서 벡터 그대로이든 W_Q와 W_K를 지나서이든 신경망이 내적보다 바른 키를 5점 "
            "이상 더 찾으면 성립하지 않습니다.",
        ),
        25,
        room=ROOM,
    ),
)
