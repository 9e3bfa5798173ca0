"""Lecture 004: a context vector of one size, attention over hidden states, shapes, √D."""

import torch

from jumok.attention.layers import GeneralAttention, RawAttention
from jumok.attention.scores import AdditiveScore, ScaledDotScore
from jumok.lab.entry import Quote
from jumok.lab.text import Text, same
from jumok.lab.worked.example import (
    Noted,
    WorkedExample,
    WorkedStep,
    explained,
    numbers,
    traced,
    vectors,
)
from jumok.layers.recurrent import GRUCell, RecurrentLayer

HIDDEN = [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]
STATE = [1.0, -1.0]
LENGTHS = 3, 30, 300
GRID = 2, 3, 4  # H, W, D
QUERIES, KEY_DIM, VALUE_DIM = 5, 2, 3  # M, D_k, D_v

SIZES = Quote("004", 31, "보통 컨텍스트 벡터는 256, 512, 1024 같은 크기로 설정한다.")
ALIGNED = Quote("004", 90, "$e_{t,i}=f_{att}(s_{t-1},h_i)$, $f_{att}$=MLP")
ROOT = Quote(
    "004", 223, r"그리고 $\sqrt{D}$를 곱하는 이유는, 큰 벡터 크기의 영향을 줄이기 위해서이다."
)


def examples() -> list[WorkedExample]:
    """All of this note."""
    return [one_size(), looking_back(), general_layer()]


def one_size() -> WorkedExample:
    """A context vector is as long after 300 words as after three."""
    steps = []
    for size in (256, 512, 1024):
        with torch.no_grad():
            layer = RecurrentLayer(GRUCell(1, size), None)
            found = [layer.last(layer(torch.ones(1, length, 1))).shape[1] for length in LENGTHS]
        told = ", ".join(str(number) for number in found)
        steps.append(
            WorkedStep(
                SIZES,
                Text(
                    f"numbers in the last state of a GRU after {LENGTHS[0]}, {LENGTHS[1]} and "
                    f"{LENGTHS[2]} words: {told}",
                    f"GRU가 단어 {LENGTHS[0]}, {LENGTHS[1]}, {LENGTHS[2]}개를 읽은 뒤 마지막 "
                    f"상태의 숫자 개수: {told}",
                ),
                float(found[-1] if len(set(found)) == 1 else -1),
                Noted(str(size), float(size), 0.0),
            )
        )
    return WorkedExample(
        SIZES,
        Text("A context vector of one size", "크기가 고정된 컨텍스트 벡터"),
        Text(
            "jumok's encoder of a recurrent translator without attention, untrained. What is lost "
            "with the length is in the labs “bottleneck” and “width”.",
            "어텐션이 없는 순환 신경망 번역기의 인코더이며 학습하지 않은 것입니다. 길이에 따라 "
            "무엇을 잃는지는 실험 bottleneck과 width에 있습니다.",
        ),
        tuple(steps),
    )


def additive() -> RawAttention:
    """Attention whose score is a network with one hidden layer of two units, W = U = 1."""
    score = AdditiveScore(2, 2)
    with torch.no_grad():
        for projection in (score.query, score.key):
            projection.weight.copy_(torch.eye(2))
            if projection.bias is not None:
                projection.bias.zero_()
        score.energy.copy_(torch.tensor([2.0, 1.0]))
    return RawAttention(score)


def looking_back() -> WorkedExample:
    """e, a and c of one step of a decoder."""
    layer, hidden = additive(), vectors(*HIDDEN)
    trace, output = traced(
        layer, lambda: layer(vectors(STATE), hidden), "004:90", ("s",), ("h1", "h2", "h3")
    )
    looks = explained(trace, 0).looks
    energies = numbers(torch.tensor([look.product for look in looks]))
    weights = numbers(torch.tensor([look.weight for look in looks]))
    return WorkedExample(
        ALIGNED,
        Text("One step of a decoder with attention", "어텐션이 있는 디코더의 한 단계"),
        Text(
            "The note writes symbols only. Chosen: h1 = [1, 0], h2 = [0, 1], h3 = [1, 1], s = [1, "
            "-1]; f_att = v·tanh(s + h) with v = [2, 1].",
            "노트에는 기호만 있습니다. h1 = [1, 0], h2 = [0, 1], h3 = [1, 1], s = [1, -1], "
            "f_att = v·tanh(s + h), v = [2, 1]로 정했습니다.",
        ),
        (
            WorkedStep(ALIGNED, same(f"e = {energies}")),
            WorkedStep(
                Quote("004", 92, "alignment score에 softmax를 계산한다."), same(f"a = {weights}")
            ),
            WorkedStep(
                Quote("004", 98, "encoder의 hidden 상태를 각각 곱해서 context vector를 구한다."),
                same(f"c = Σ a_i h_i = {numbers(output[0])}"),
            ),
            WorkedStep(
                Quote("004", 99, r"$c_t=\sum_i a_{t,i},h_i$"),
                Text(
                    f"with the comma as written the sum would be that of the weights alone: "
                    f"{sum(look.weight for look in looks):.4f}",
                    "쉼표대로라면 가중치만 더한 값입니다: "
                    f"{sum(look.weight for look in looks):.4f}",
                ),
            ),
        ),
        trace,
    )


def general_layer() -> WorkedExample:
    """The cells of a picture as inputs, the shapes of the layer, and the factor of the products."""
    height, width, depth = GRID
    features = torch.ones(1, height, width, depth)
    inputs = features.flatten(1, 2)
    layer = GeneralAttention(depth, KEY_DIM, VALUE_DIM)
    with torch.no_grad():
        outputs = layer(torch.ones(1, QUERIES, KEY_DIM), inputs)
        keys = layer.key(inputs)
    score = ScaledDotScore(depth)
    query = torch.ones(1, 1, depth)
    product = float(query[0, 0] @ inputs[0, 0])
    scaled = float(score(query, inputs)[0, 0, 0])
    root = depth**0.5
    return WorkedExample(
        Quote("004", 221, "따라서 위 그림의 input vector를 보면 HxW를 N으로 쫙 늘린(stretch)"),
        Text("The general attention layer", "일반 어텐션 층"),
        Text(
            f"Chosen: H = {height}, W = {width}, D = {depth}; M = {QUERIES} queries, D_k = "
            f"{KEY_DIM}, D_v = {VALUE_DIM}; every number is 1.",
            f"H = {height}, W = {width}, D = {depth}, 쿼리 M = {QUERIES}개, D_k = {KEY_DIM}, D_v = "
            f"{VALUE_DIM}으로 정했고, 숫자는 모두 1입니다.",
        ),
        (
            WorkedStep(
                Quote("004", 222, "input vector의 shape은 NxD가 되었다."),
                same(f"{height} x {width} x {depth} → {inputs.shape[1]} x {inputs.shape[2]}"),
            ),
            WorkedStep(
                Quote("004", 232, r"inputs의 shape은 $M\times D_k$로 바뀌고"),
                Text(
                    f"N x D = {inputs.shape[1]} x {inputs.shape[2]} stays; the keys are N x D_k = "
                    f"{keys.shape[1]} x {keys.shape[2]}, the outputs M x D_v = {outputs.shape[1]} "
                    f"x {outputs.shape[2]}",
                    f"입력은 N x D = {inputs.shape[1]} x {inputs.shape[2]} 그대로이고, 키는 N x "
                    f"D_k = {keys.shape[1]} x {keys.shape[2]}, 출력은 M x D_v = "
                    f"{outputs.shape[1]} x {outputs.shape[2]}입니다",
                ),
            ),
            WorkedStep(
                ROOT,
                Text(
                    f"h·x = {product:g}; the score is {product:g} / √{depth} = {scaled:g}; "
                    f"multiplied, as written, it would be {product * root:g}, which makes large "
                    "scores larger",
                    f"h·x = {product:g}이고 점수는 {product:g} / √{depth} = {scaled:g}입니다. "
                    f"노트대로 곱하면 {product * root:g}이 되어 큰 점수가 더 커집니다",
                ),
            ),
        ),
    )
