"""Slips of lecture 004. Source of what is right: Bahdanau et al. 2015; Xu et al. 2015; Vaswani
et al. 2017, sections 3.2 and 3.5.
"""

import math
from collections.abc import Sequence
from itertools import islice

import torch
from torch import nn

from jumok import smallworld
from jumok.attention.layers import GeneralAttention, SelfAttention
from jumok.lab.experiments.scale import softness
from jumok.lab.slips.slip import Slip, apart, between, each, random_heads, written
from jumok.lab.text import Text

SENTENCES, LENGTHS = 2000, (3, 12)
INPUTS, QUERIES, DIM, KEY_DIM, VALUE_DIM = 5, 3, 8, 4, 6
WIDTH, KEYS = 64, 64
POSITIONS = 512


def slips(seeds: Sequence[int]) -> list[Slip]:
    """All of this note."""
    return [
        lengths(seeds),
        comma(seeds),
        first_state(seeds),
        times_root(seeds),
        shape_of_inputs(),
        who_asks(seeds),
        cotangent(),
    ]


def lengths(seeds: Sequence[int]) -> Slip:
    """Counted: sentences with as many words as their translations."""

    def alike(generator: torch.Generator) -> float:
        stream = smallworld.pairs("train", generator.initial_seed(), *LENGTHS)
        pairs = list(islice(stream, SENTENCES))
        return sum(len(pair.source.split()) == len(pair.target.split()) for pair in pairs) / len(
            pairs
        )

    found = each(seeds, alike)
    share = between(found, ".0%")
    return Slip(
        "004:62, 57",
        "**Output** : 시퀀스 $y_1, ..., y_T$",
        Text(
            "y_1, ..., y_T': its length is another one",
            "y_1, ..., y_T'. 출력의 길이는 다를 수 있음",
        ),
        Text(
            f"of {SENTENCES:,} English sentences of smallworld {share.en} have as many words as "
            "their Korean translations; with one T it would be all",
            f"smallworld의 영어 문장 {SENTENCES:,}개 가운데 한국어 번역과 단어 수가 같은 것은 "
            f"{share.ko}. T가 하나라면 모두 같아야 함",
        ),
        {"share of equal lengths": found},
        max(found) < 0.9,
    )


def comma(seeds: Sequence[int]) -> Slip:
    """Without a product the sum is that of the weights alone: 1, whatever was attended to."""

    def sums(generator: torch.Generator) -> float:
        scores = torch.randn(4, KEYS, generator=generator, dtype=torch.float64)
        return float((scores.softmax(-1).sum(-1) - 1.0).abs().max())

    def contexts(generator: torch.Generator) -> float:
        weights = (4.0 * torch.randn(2, KEYS, generator=generator)).softmax(-1)
        one, other = weights @ torch.randn(KEYS, WIDTH, generator=generator)
        return apart(one, other)

    sum_alone, right = each(seeds, sums), each(seeds, contexts)
    far = between(right, ".2f")
    return Slip(
        "004:99",
        r"수식으로 나타내면 $c_t=\sum_i a_{t,i},h_i$와 같다.",
        Text("c_t = Σ_i a_t,i h_i, a product", "c_t = Σ_i a_t,i h_i, 곱"),
        Text(
            f"Σ_i a_t,i alone is 1 for every t (to {max(sum_alone):.0e}); as a product, two "
            f"contexts of random states are {far.en} of their length apart",
            f"Σ_i a_t,i만 더하면 어느 t에서나 1(오차 {max(sum_alone):.0e}). 곱하면 무작위 상태의 "
            f"두 문맥 벡터가 그 길이의 {far.ko}배만큼 떨어져 있음",
        ),
        {"largest deviation from 1": sum_alone, "relative distance": right},
        max(sum_alone) < 1e-12 and min(right) > 0.1,
    )


def first_state(seeds: Sequence[int]) -> Slip:
    """One step of a decoder: h_0, c_1 and y_0 make h_1, which is not h_0."""

    def moved(generator: torch.Generator) -> float:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(generator.initial_seed())
            cell = nn.GRUCell(2 * WIDTH, WIDTH)
            word_and_context, state = torch.randn(1, 2 * WIDTH), torch.randn(1, WIDTH).tanh()
            return apart(cell(word_and_context, state), state)

    found = each(seeds, moved)
    far = between(found, ".0%")
    return Slip(
        "004:193",
        "encoder에서 계산한 context vector $c_1$과 출력 시퀀스 $y_0$와 $h_1$(=$h_0$) 3가지 값으로 "
        "$y_1$를 구한다.",
        Text(
            "h_0, c_1 and y_0 give h_1, and h_1 gives y_1",
            "h_0, c_1, y_0으로 h_1을, h_1로 y_1을 구함",
        ),
        Text(
            f"a step of an untrained GRU changes its state by {far.en}; if h_1 were h_0, by 0",
            f"학습 전 GRU의 한 단계에서 상태가 {far.ko}만큼 바뀜. h_1이 h_0이라면 0이어야 함",
        ),
        {"change of the state": found},
        min(found) > 0.01,
    )


def times_root(seeds: Sequence[int]) -> Slip:
    """Scores times √D, and divided by it."""

    def entropy(factor: float, generator: torch.Generator) -> float:
        query, key, _ = random_heads(generator, KEYS, WIDTH)
        return softness((query @ key.transpose(-2, -1))[0, 0] * factor).entropy

    root = math.sqrt(WIDTH)
    multiplied = each(seeds, lambda generator: entropy(root, generator))
    right = each(seeds, lambda generator: entropy(1.0 / root, generator))
    most = math.log(KEYS)
    low, high = between(multiplied, ".3f"), between(right, ".2f")
    return Slip(
        "004:223",
        r"그리고 $\sqrt{D}$를 곱하는 이유는, 큰 벡터 크기의 영향을 줄이기 위해서이다.",
        Text("divided by √D", "√D로 나눔"),
        Text(
            f"entropy of softmax at D = {WIDTH} (at most {most:.2f} nats): {low.en} multiplied, "
            f"{high.en} divided",
            f"D = {WIDTH}일 때 softmax의 엔트로피(최대 {most:.2f} nat): 곱하면 {low.ko}, 나누면 "
            f"{high.ko}",
        ),
        {"multiplied": multiplied, "divided": right},
        max(multiplied) < min(right),
    )


def shape_of_inputs() -> Slip:
    """N inputs and M queries through the note's layer."""
    layer = GeneralAttention(DIM, KEY_DIM, VALUE_DIM)
    inputs, queries = torch.ones(1, INPUTS, DIM), torch.ones(1, QUERIES, KEY_DIM)
    keys, outputs = layer.key(inputs)[0], layer(queries, inputs)[0]
    shapes = {"inputs": inputs[0], "keys": keys, "queries": queries[0], "outputs": outputs}
    sizes = {name: list(tensor.shape) for name, tensor in shapes.items()}
    told = {name: f"{rows} x {width}" for name, (rows, width) in sizes.items()}
    return Slip(
        "004:232",
        r"inputs의 shape은 $M\times D_k$로 바뀌고, outputs의 shape 또한 $D_v$로 바뀐다.",
        Text(
            "inputs stay N x D; keys are N x D_k, queries M x D_k, outputs M x D_v",
            "입력은 그대로 N x D. 키는 N x D_k, 쿼리는 M x D_k, 출력은 M x D_v",
        ),
        Text(
            f"N = {INPUTS}, M = {QUERIES}, D = {DIM}, D_k = {KEY_DIM}, D_v = {VALUE_DIM}: inputs "
            f"{told['inputs']}, keys {told['keys']}, queries {told['queries']}, outputs "
            f"{told['outputs']}",
            f"N = {INPUTS}, M = {QUERIES}, D = {DIM}, D_k = {KEY_DIM}, D_v = {VALUE_DIM}: 입력 "
            f"{told['inputs']}, 키 {told['keys']}, 쿼리 {told['queries']}, 출력 {told['outputs']}",
        ),
        sizes,
        sizes["inputs"] != [QUERIES, KEY_DIM] and sizes["keys"] == [INPUTS, KEY_DIM],
    )


def who_asks(seeds: Sequence[int]) -> Slip:
    """In self-attention a word's query comes from this word: there is no decoder."""

    def moved(generator: torch.Generator) -> tuple[float, float]:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(generator.initial_seed())
            layer, words = SelfAttention(DIM, KEY_DIM, VALUE_DIM), torch.randn(1, INPUTS, DIM)
            other = words.clone()
            other[0, 0] = torch.randn(DIM)
            before, after = layer.query(words)[0], layer.query(other)[0]
        return apart(after[0], before[0]), apart(after[1:], before[1:])

    own = each(seeds, lambda generator: moved(generator)[0])
    others = each(seeds, lambda generator: moved(generator)[1])
    far = between(own, ".0%")
    return Slip(
        "004:259",
        "**query vector** : decoder에서 생성된 질의하는(query) 주체",
        Text(
            "in self-attention, of the input itself: q_i = x_i W^Q",
            "셀프 어텐션에서는 입력 자신에서 만들어짐: q_i = x_i W^Q",
        ),
        Text(
            f"SelfAttention runs without a decoder; another x_1 changes q_1 by {far.en}, the "
            f"other queries by {max(others):.0f}",
            f"SelfAttention은 디코더 없이 계산됨. x_1을 바꾸면 q_1은 {far.ko}, 나머지 쿼리는 "
            f"{max(others):.0f} 달라짐",
        ),
        {"own query": own, "other queries": others},
        min(own) > 0.1 and max(others) == 0.0,
    )


def cotangent() -> Slip:
    """cot(0) is infinite, and near multiples of π it is large: not in a fixed range."""
    angles = torch.arange(1, POSITIONS, dtype=torch.float64)
    wrong, right = float((1.0 / angles.tan()).abs().max()), float(angles.cos().abs().max())
    first = float(1.0 / torch.zeros(1, dtype=torch.float64).tan())
    return Slip(
        "004:298",
        "$p(t)$에 positional encoding이 적용돼 sin, cot이 들어가 있는 걸 알 수 있다.",
        Text("sin and cos", "sin과 cos"),
        Text(
            f"largest of positions 1 to {POSITIONS - 1}: |cot| {wrong:,.0f}, |cos| {right:.0f}; "
            f"at position 0 cot is {written(first)}, and the note wants bounded values (004:289)",
            f"위치 1부터 {POSITIONS - 1}까지의 최댓값: |cot| {wrong:,.0f}, |cos| {right:.0f}. "
            f"위치 0에서 cot은 {written(first)}. 004:289는 값이 일정한 범위 안에 있기를 요구함",
        ),
        {"largest cot": wrong, "largest cos": right},
        math.isinf(first) and wrong > 1.0 >= right,
    )
