"""Where the notes slip or disagree: both forms are computed, and the numbers decide.

Source: the statements are quoted with their lecture; the right forms are those of Vaswani et al.
2017, sections 3.2 and 3.5, and table 3.
"""

import math
from dataclasses import dataclass

import torch

from jumok.attention.core import attend_with_weights
from jumok.attention.masks import AttentionMask
from jumok.config.transformer import TransformerConfig
from jumok.lab.experiments.scale import softmax_as_written, softmax_stable, softness
from jumok.lab.findings import Bars, Column, Findings, Grid, Setting
from jumok.lab.text import Text
from jumok.models.encoder_decoder import Transformer
from jumok.shapes import Float, Tensor

PUBLISHED_MILLIONS, VOCABULARY = 65.0, 37_000  # Vaswani et al. 2017, table 3 and section 5.1


@dataclass(frozen=True)
class Erratum:
    """One statement, run as it is written and as it should be.

    Attributes:
        lecture: whose statement.
        measured: what the two numbers are.
        written, right: the numbers.
        slips: whether the measurement contradicts the statement as it is written.
    """

    name: str
    lecture: str
    statement: Text
    measured: Text
    written: float
    right: float
    slips: bool
    form: str


def width_of_heads() -> Erratum:
    """000: the paper set d_k = d_v = 1024. Its base model has 65 M parameters: which d_k fits?"""

    def millions(head_dim: int) -> float:
        sizes = {"dim": 512, "heads": 8, "encoder_layers": 6, "decoder_layers": 6}
        config = TransformerConfig.model_validate(
            {**sizes, "feedforward": 2048, "norm": "post", "head_dim": head_dim}
        )
        with torch.device("meta"):
            model = Transformer(config, VOCABULARY)
        return sum(parameter.numel() for parameter in model.parameters()) / 1e6

    written, right = millions(1024), millions(512 // 8)
    return Erratum(
        "d_k",
        "000",
        Text("Vaswani et al. 2017 set d_k = d_v = 1024", "Vaswani 외(2017): d_k = d_v = 1024"),
        Text(
            "million parameters of the base model: d_k = 1024 | 64 (published: 65)",
            "기본 모델의 매개변수(백만 개): d_k = 1024 | 64 (논문: 65)",
        ),
        written,
        right,
        abs(right - PUBLISHED_MILLIONS) < 3.0 < abs(written - PUBLISHED_MILLIONS),
        ".1f",
    )


def masked(seed: int) -> tuple[Float[Tensor, "query key"], Float[Tensor, "query key"]]:
    """Attention weights behind a look-ahead mask: scores times 0, and plus -infinity."""
    query, key, value = _heads(seed, length=8, dim=64)
    allowed = AttentionMask(causal=True).draw(8, 8, query.device)
    scores = query @ key.transpose(-2, -1) / math.sqrt(64)
    _, added = attend_with_weights(query, key, value, allowed)
    return (scores * allowed).softmax(-1)[0, 0], added[0, 0]


def mask_multiplied(
    multiplied: Float[Tensor, "query key"], added: Float[Tensor, "query key"]
) -> Erratum:
    """001, 002: the mask is multiplied before softmax. exp(0) is 1: the future stays visible."""
    written, right = (float(each.triu(1).sum(-1).mean()) for each in (multiplied, added))
    return Erratum(
        "mask",
        "001, 002",
        Text("the mask is multiplied before softmax", "softmax 전에 마스크를 곱함"),
        Text(
            "share of the attention on the future: times 0 | plus -∞",
            "미래로 가는 어텐션의 비율: 0을 곱함 | -∞를 더함",
        ),
        written,
        right,
        written > 0.01 and right == 0.0,
        ".3f",
    )


def times_root(seed: int) -> Erratum:
    """004: scores are multiplied by √D to lessen the effect of large vectors. Division lessens."""
    query, key, _ = _heads(seed, length=64, dim=64)
    scores = (query @ key.transpose(-2, -1))[0, 0]
    written, right = softness(scores * 8.0).entropy, softness(scores / 8.0).entropy
    return Erratum(
        "√D",
        "004",
        Text("scores are multiplied by √D", "점수에 √D를 곱함"),
        Text(
            f"entropy of softmax in nats (most: {math.log(64):.2f}), D = 64: times | divided",
            f"softmax의 엔트로피(최대 {math.log(64):.2f} nat), D = 64: 곱함 | 나눔",
        ),
        written,
        right,
        written < right,
        ".3f",
    )


def why_scale(seed: int) -> Erratum:
    """000: large dot products overflow in exp. They do not come near; they saturate softmax."""
    query, key, _ = _heads(seed, length=64, dim=1024)
    scores = (query @ key.transpose(-2, -1))[0, 0]
    overflowing = float((scores > 709.0).double().mean())
    saturated = float((scores.softmax(-1).amax(-1) > 0.99).double().mean())
    return Erratum(
        "overflow",
        "000",
        Text("scaling prevents overflow in exp", "exp의 오버플로를 막으려고 점수를 나눔"),
        Text(
            "share of queries at d_k = 1024: score above 709 | one key takes 99%",
            "d_k = 1024일 때 쿼리의 비율: 점수가 709를 넘음 | 키 하나가 99%를 차지함",
        ),
        overflowing,
        saturated,
        overflowing == 0.0 < saturated,
        ".3f",
    )


def stable_softmax() -> Erratum:
    """000: exp(710) is infinite. Softmax need never compute it."""
    scores = torch.tensor([710.0, 709.0], dtype=torch.float64)
    written, right = float(softmax_as_written(scores)[0]), float(softmax_stable(scores)[0])
    return Erratum(
        "exp(710)",
        "000",
        Text("softmax computes exp of the score", "softmax는 점수의 exp를 계산함"),
        Text(
            "first weight of scores 710 and 709: exp(s) | exp(s - max)",
            "점수가 710과 709일 때 첫 가중치: exp(s) | exp(s - max)",
        ),
        written,
        right,
        math.isnan(written) and math.isclose(right, 1.0 / (1.0 + math.exp(-1.0))),
        ".4f",
    )


def concatenated(seed: int) -> Erratum:
    """004: the position is concatenated with the word. A projection of that is a sum again:
    [x; p] [W_x; W_p] = x W_x + p W_p. Concatenating is adding, with a matrix more."""
    generator = torch.Generator().manual_seed(seed)
    word, place = torch.randn(2, 16, 64, generator=generator, dtype=torch.float64)
    matrix = torch.randn(128, 64, generator=generator, dtype=torch.float64)
    joined = torch.cat((word, place), dim=-1) @ matrix
    added = word @ matrix[:64] + place @ matrix[64:]
    gap = float((joined - added).abs().max())
    return Erratum(
        "positions",
        "004",
        Text("positions are concatenated to the words", "단어 벡터에 위치를 연결함(concatenate)"),
        Text(
            f"weights of one projection of width 64 (outputs differ by {gap:.0e}): "
            "concatenated | added",
            f"너비가 64인 투영 하나의 가중치 수(출력 차이 {gap:.0e}): 연결 | 덧셈",
        ),
        float(matrix.numel()),
        float(matrix[:64].numel()),
        slips=gap > 1e-12,
        form=",.0f",
    )


def run(setting: Setting) -> Findings:
    """All six."""
    seed = setting.seed
    multiplied, added = masked(seed)
    errata = [
        width_of_heads(),
        mask_multiplied(multiplied, added),
        times_root(seed),
        why_scale(seed),
        stable_softmax(),
        concatenated(seed),
    ]
    slips = sum(each.slips for each in errata)
    return Findings(
        columns=(
            Column(Text("lecture", "강의")),
            Column(Text("as written", "강의 노트의 설명")),
            Column(Text("measured: as written | corrected", "측정한 것: 설명대로 | 바로잡아")),
            Column(Text("as written", "설명대로 계산")),
            Column(Text("corrected", "바로잡아 계산")),
        ),
        rows=[
            [
                each.lecture,
                each.statement,
                each.measured,
                format(each.written, each.form),
                format(each.right, each.form),
            ]
            for each in errata
        ],
        figures={
            each.name: {
                "written": None if math.isnan(each.written) else each.written,
                "right": each.right,
                "slips": each.slips,
            }
            for each in errata
        },
        conditions=(),
        sentence=_sentence(errata, slips),
        panels=(
            Bars(
                Text("The base model of Vaswani et al. 2017", "Vaswani 외(2017)의 기본 모델"),
                Text("million parameters", "매개변수 (백만 개)"),
                [
                    (Text("d_k = 1024 (000)", "d_k = 1024 (000)"), errata[0].written),
                    (Text("d_k = 64", "d_k = 64"), errata[0].right),
                    (Text("as published", "논문에 실린 값"), PUBLISHED_MILLIONS),
                ],
                form=".0f",
            ),
            _grid(Text("mask times 0 (001, 002)", "0을 곱한 마스크 (001, 002)"), multiplied),
            _grid(Text("mask plus -∞ (000, 004)", "-∞를 더한 마스크 (000, 004)"), added),
        ),
    )


def _korean(millions: float) -> str:
    """63 is 6,300만, and 347 is 3억 4,700만."""
    hundreds, rest = divmod(round(millions), 100)
    return " ".join([f"{hundreds}억"] * bool(hundreds) + [f"{rest * 100:,}만"] * bool(rest))


def _sentence(errata: list[Erratum], slips: int) -> Text:
    return Text(
        f"In {slips} of {len(errata)} cases the measurement contradicts the note: the "
        f"base model has {errata[0].right:.0f} M parameters with d_k = 64 and "
        f"{errata[0].written:.0f} M with 1024; a multiplied mask leaves "
        f"{errata[1].written:.0%} of the attention on the future. Concatenated positions are "
        "not a mistake: they give the same outputs as added ones, with one more matrix.",
        f"{len(errata)}가지 가운데 {slips}가지에서 계산 결과가 강의 노트의 설명과 "
        "다릅니다. 기본 모델의 "
        f"매개변수는 d_k = 64이면 {_korean(errata[0].right)} 개, 1024이면 "
        f"{_korean(errata[0].written)} 개입니다. 마스크를 곱하면 어텐션의 "
        f"{errata[1].written:.0%}가 미래에 남습니다. 위치를 연결하는 것은 잘못이 아닙니다. "
        "행렬을 하나 더 쓸 뿐, 출력은 위치를 더할 때와 같습니다.",
    )


def _grid(title: Text, weights: Float[Tensor, "query key"]) -> Grid:
    names = [str(place) for place in range(1, len(weights) + 1)]
    title_of_rows, title_of_columns = Text("query", "쿼리"), Text("key", "키")
    return Grid(title, names, names, weights.tolist(), title_of_rows, title_of_columns)


def _heads(seed: int, length: int, dim: int) -> tuple[Tensor, Tensor, Tensor]:
    """Random query, key and value of one head."""
    generator = torch.Generator().manual_seed(seed)
    query, key, value = torch.randn(3, 1, 1, length, dim, generator=generator)
    return query, key, value
