"""Slips of lecture 003. Source of what is right: Vaswani et al. 2017, section 3.2."""

import math
from collections.abc import Sequence

import torch

from jumok.attention.core import attend_with_weights
from jumok.attention.layers import SelfAttention
from jumok.lab.slips.slip import Slip, apart, between, each, random_heads
from jumok.lab.text import Text
from jumok.shapes import Float, Tensor

WIDTH, HEAD = 512, 64  # of the base model of Vaswani et al. 2017, and of one of its heads
LENGTH = 6
NOTED = [2.0, 3.0], [4.0, 5.0], [-5.0, 2.0]  # the note's vectors
FAR = [40.0, 50.0]


def slips(seeds: Sequence[int]) -> list[Slip]:
    """All of this note."""
    return [
        kept_information(seeds),
        closer_is_larger(),
        equals_sign(),
        scores_times_values(seeds),
        three_matrices(seeds),
    ]


def kept_information(seeds: Sequence[int]) -> Slip:
    """A 512 x 64 matrix has rank 64: whatever differs in the other directions becomes the same."""

    def same_output(generator: torch.Generator) -> float:
        matrix = torch.randn(WIDTH, HEAD, generator=generator, dtype=torch.float64)
        lost = torch.linalg.qr(matrix, mode="complete").Q[:, HEAD:]
        mixture = torch.randn(WIDTH - HEAD, generator=generator, dtype=torch.float64)
        word = torch.randn(WIDTH, generator=generator, dtype=torch.float64)
        other = word + lost @ mixture
        return apart(other @ matrix, word @ matrix)

    def rank(generator: torch.Generator) -> float:
        return float(torch.linalg.matrix_rank(torch.randn(WIDTH, HEAD, generator=generator)))

    ranks, gaps = each(seeds, rank), each(seeds, same_output)
    lost = WIDTH - max(ranks)
    return Slip(
        "003:5",
        "특정 정보를 가진 텐서는 Weight Matrix를 통과해도 정보는 보존된다.",
        Text(
            "only what lies in as many directions as the matrix has rank is kept",
            "행렬의 계수(rank)만큼의 방향에 있는 정보만 보존됨",
        ),
        Text(
            f"{WIDTH} x {HEAD} (one head of the paper): rank {max(ranks):.0f}, {lost:.0f} "
            f"directions are lost; two words that differ in these give the same output (relative "
            f"difference {max(gaps):.0e})",
            f"{WIDTH} x {HEAD} 행렬(논문의 헤드 하나): 계수 {max(ranks):.0f}, 방향 {lost:.0f}개가 "
            f"사라짐. 이 방향에서만 다른 두 단어는 출력이 같음(상대적 차이 {max(gaps):.0e})",
        ),
        {"rank": ranks, "relative difference": gaps},
        lost > 0 and max(gaps) < 1e-9,
    )


def product_and_distance(other: Sequence[float]) -> tuple[float, float]:
    """The product and the distance of the note's A = [2, 3] and another vector."""
    first = NOTED[0]
    product = sum(left * right for left, right in zip(first, other, strict=True))
    return product, math.dist(first, other)


def closer_is_larger() -> Slip:
    """The lengths decide, too: the far vector has the larger product, A itself the smaller one."""
    near, far, itself = map(product_and_distance, (NOTED[1], FAR, NOTED[0]))
    return Slip(
        "003:12",
        "벡터 공간 내 거리가 비슷할 수록 값이 크게나오고, 거리가 멀 수록 값이 작게나온다.",
        Text(
            "only among vectors of one length; |a - b|² = |a|² + |b|² - 2 a·b",
            "길이가 같은 벡터끼리만 그러함. |a - b|² = |a|² + |b|² - 2 a·b",
        ),
        Text(
            f"[2, 3]·[4, 5] = {near[0]:.0f} at distance {near[1]:.1f}; [2, 3]·[40, 50] = "
            f"{far[0]:.0f} at distance {far[1]:.1f}; [2, 3]·[2, 3] = {itself[0]:.0f} at distance "
            f"{itself[1]:.0f}",
            f"[2, 3]·[4, 5] = {near[0]:.0f}(거리 {near[1]:.1f}), [2, 3]·[40, 50] = "
            f"{far[0]:.0f}(거리 {far[1]:.1f}), [2, 3]·[2, 3] = {itself[0]:.0f}(거리 "
            f"{itself[1]:.0f})",
        ),
        {"near": near, "far": far, "itself": itself},
        far[0] > near[0] > itself[0] and far[1] > near[1] > itself[1],
    )


def equals_sign() -> Slip:
    """The two products are added; they are not equal."""
    (two, three), _, (left, right) = NOTED
    first, second = two * left, three * right
    return Slip(
        "003:14",
        "A[2, 3], B[-5, 2]; 다른 사분면 벡터 => (2x-5)=(3x2) = -4",
        Text("(2 x -5) + (3 x 2) = -4", "(2 x -5) + (3 x 2) = -4"),
        Text(
            f"2 x -5 = {first:.0f} and 3 x 2 = {second:.0f}, so they are not equal; their sum is "
            f"{first + second:.0f}",
            f"2 x -5 = {first:.0f}, 3 x 2 = {second:.0f}이므로 같지 않음. 둘의 합은 "
            f"{first + second:.0f}",
        ),
        {"products": [first, second], "sum": first + second},
        first != second and first + second == -4.0,
    )


def scores_times_values(seeds: Sequence[int]) -> Slip:
    """Scores are no weights before softmax: they are negative, too, and do not sum to 1."""

    def parts(generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
        query, key, value = random_heads(generator, LENGTH, HEAD)
        scores = query @ key.transpose(-2, -1)
        return scores[0, 0], (scores @ value)[0, 0], attend_with_weights(query, key, value)[0][0, 0]

    negative = each(seeds, lambda generator: float((parts(generator)[0] < 0.0).double().mean()))
    gaps = each(seeds, lambda generator: apart(*parts(generator)[1:]))
    share, far = between(negative, ".0%"), between(gaps, ".0f")
    return Slip(
        "003:41, 40",
        "Attention Score와 V를 곱함으로써, Weighted Sum을 수행한다.",
        Text(
            "softmax of the scores, divided by √d_k, times V",
            "점수를 √d_k로 나누고 softmax를 취한 뒤 V와 곱함",
        ),
        Text(
            f"of random scores (d_k = {HEAD}) {share.en} are negative; times V they give outputs "
            f"{far.en} times the right ones' length away from these",
            f"무작위 점수(d_k = {HEAD})의 {share.ko}가 음수. 그대로 V와 곱하면 출력이 바른 "
            f"값에서 그 길이의 {far.ko}배만큼 떨어짐",
        ),
        {"negative": negative, "relative distance": gaps},
        min(negative) > 0.0 and min(gaps) > 0.1,
    )


def three_matrices(seeds: Sequence[int]) -> Slip:
    """One source, three matrices; with Q = K the scores would be symmetric."""

    def made(generator: torch.Generator) -> Float[Tensor, "matrix length dim"]:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(generator.initial_seed())
            layer, words = SelfAttention(HEAD, HEAD, HEAD), torch.randn(1, LENGTH, HEAD)
            own = layer.query(words), layer.general.key(words), layer.general.value(words)
        return torch.cat(own)

    def least(generator: torch.Generator) -> float:
        query, key, value = made(generator)
        return min(apart(query, key), apart(query, value), apart(key, value))

    def lopsided(generator: torch.Generator) -> float:
        query, key, _ = made(generator)
        scores = query @ key.T
        return apart(scores, scores.T)

    gaps, asymmetry = each(seeds, least), each(seeds, lopsided)
    far, lop = between(gaps, ".2f"), between(asymmetry, ".2f")
    return Slip(
        "003:50",
        "라는 입력이 들어오면 Q, K, V가 다 동일하다.",
        Text(
            "they come from the same input through three matrices",
            "출처가 같은 입력을 서로 다른 세 행렬에 통과시킨 것",
        ),
        Text(
            f"Q, K and V of one input are at least {far.en} of their length apart; “a asks b” and "
            f"“b asks a” differ by {lop.en} of the scores' length (0 if Q were K)",
            f"한 입력의 Q, K, V는 서로 그 길이의 {far.ko}배 이상 떨어져 있음. a가 b를 볼 때와 "
            f"b가 a를 볼 때의 점수는 점수 길이의 {lop.ko}배만큼 다름(Q와 K가 같다면 0)",
        ),
        {"relative distance": gaps, "asymmetry": asymmetry},
        min(gaps) > 0.1 and min(asymmetry) > 0.1,
    )
