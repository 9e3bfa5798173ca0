"""The bottleneck: one fixed vector for a sentence of any length.

The lectures' reason for attention. An RNN encoder leaves the sentence in one vector of fixed
size; the longer the sentence, the more is lost. With attention the decoder attends to every
state. Tried on texts of 4, 8, 12 and 16 words that differ in nothing but their length, all lengths
known from training, 300 unseen texts of each: the loss of a token, for vectors of 32, 128 and 512
numbers, for an RNN with attention, and for a Transformer.

Source: Bahdanau et al. 2015, figure 2; Cho et al. 2014; lectures 001, 004.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from jumok.config.data import TokenizerConfig
from jumok.lab import clauses
from jumok.lab.findings import Chart, Column, Findings, Series, Setting
from jumok.lab.judging import Condition, differences, half_width, mean, with_interval
from jumok.lab.small import Small, Trained, trained
from jumok.lab.text import Text

WIDTHS = (32, 128, 512)  # of the context vector; the note's are 256, 512, 1024
STEPS, TOKENS, RATE = 200, 2048, 2e-2  # large batches: a wide GRU spends most on its weights
PIECES = TokenizerConfig(size=500, byte_fallback=False)  # the clauses have few different words
LOST = 0.2  # the claim, nats a token: lost to length; more than attention loses; and above it
WIDER = 0.2  # and what the widest vector loses less than the narrowest, at the longest texts

NAMES = {
    **{f"fixed {width}": Text(f"vector of {width}", f"너비 {width}인 벡터") for width in WIDTHS},
    "attention": Text("RNN with attention, 128", "어텐션이 있는 RNN, 128"),
    "transformer": Text("Transformer", "트랜스포머"),
}
JUDGED = "fixed 128"  # as wide as the RNN with attention


def variants() -> dict[str, Small]:
    """What is compared; the RNNs have their context vector's width."""
    transformer = Small(
        corpus=clauses.write, tokenizer=PIECES, steps=STEPS, tokens=TOKENS, learning_rate=RATE
    )
    rnn = {"kind": "rnn", "cell": "gru", "embedding": 64, "dropout": 0.0}
    fixed = {**rnn, "attention": "none", "context": "every-step"}
    additive = {**rnn, "dim": 128, "attention": "additive", "order": "luong"}
    return {
        **{
            f"fixed {width}": replace(transformer, model={**fixed, "dim": width})
            for width in WIDTHS
        },
        "attention": replace(transformer, model=additive),
        "transformer": transformer,
    }


@dataclass(frozen=True)
class LengthRun:
    """A model and the texts to measure it on, by length."""

    model: Trained
    buckets: Sequence[tuple[list[str], list[str]]]


def losses_of(reading: LengthRun) -> list[float]:
    """Nats a target token, bucket by bucket."""
    return [reading.model.loss_on(*bucket) for bucket in reading.buckets]


def run(setting: Setting) -> Findings:
    """Trains all and measures them by length."""
    setting.say(f"training: {', '.join(name.en for name in NAMES.values())}")
    runs = trained(list(variants().values()), setting)
    buckets = clauses.buckets(setting.cache)
    readings = [LengthRun(each, buckets) for of_name in runs for each in of_name]
    measured = setting.workers.map(losses_of, readings)
    many = len(setting.seeds)
    return report(
        {name: measured[many * place : many * (place + 1)] for place, name in enumerate(NAMES)},
        {name: of_name[0].parameters for name, of_name in zip(NAMES, runs, strict=True)},
    )


def report(curves: dict[str, list[list[float]]], parameters: dict[str, int]) -> Findings:
    """What each loses from the shortest to the longest texts.

    Args:
        curves: of each seed the loss by length.
    """
    lengths = [clauses.CLAUSE * many for many in range(1, clauses.LONGEST + 1)]
    lost = {name: [curve[-1] - curve[0] for curve in curves[name]] for name in NAMES}
    by_length = {name: list(zip(*curves[name], strict=True)) for name in NAMES}
    return Findings(
        columns=(
            Column(Text("model", "모델")),
            Column(Text("parameters", "매개변수"), ",d"),
            *(
                column
                for length in lengths
                for column in (
                    Column(Text(f"loss, {length} words", f"손실, {length}단어"), ".2f"),
                    Column(Text("± (95 %)", "± (95%)"), ".2f"),
                )
            ),
        ),
        rows=[
            [
                NAMES[name],
                parameters[name],
                *(cell for each in by_length[name] for cell in (mean(each), half_width(each))),
            ]
            for name in NAMES
        ],
        figures={name: {"loss_by_length": curves[name], "lost": lost[name]} for name in NAMES}
        | {"lengths": lengths},
        conditions=_conditions(curves, lost),
        sentence=_sentence(by_length, lost, lengths),
        panels=(
            Chart(
                Text("Loss by length", "길이에 따른 손실"),
                Text("words of the English text", "영어 글의 단어 수"),
                Text(
                    "nats per token (mean and range of the seeds)", "토큰당 nat (시드 평균과 범위)"
                ),
                [
                    Series(
                        NAMES[name],
                        [
                            (float(length), mean(each))
                            for length, each in zip(lengths, by_length[name], strict=True)
                        ],
                        low=[min(each) for each in by_length[name]],
                        high=[max(each) for each in by_length[name]],
                    )
                    for name in NAMES
                ],
                least=0.0,
            ),
        ),
    )


def _conditions(
    curves: dict[str, list[list[float]]], lost: dict[str, list[float]]
) -> list[Condition]:
    longest = {name: [curve[-1] for curve in curves[name]] for name in NAMES}
    narrow, wide = (longest[f"fixed {WIDTHS[place]}"] for place in (0, -1))
    return [
        Condition(
            Text("the fixed vector (128) loses to length", "고정 벡터(128)가 길이 때문에 잃는 것"),
            lost[JUDGED],
            LOST,
        ),
        *(
            Condition(
                Text(
                    f"{words.en}: {NAMES[name].en}",
                    f"{words.ko}: {NAMES[name].ko}",
                ),
                differences(figure[JUDGED], figure[name]),
                LOST,
            )
            for words, figure in (
                (Text("it loses more than", "다음보다 더 잃는 정도"), lost),
                (Text("its loss at the longest is above", "가장 긴 글에서 더 큰 손실"), longest),
            )
            for name in ("attention", "transformer")
        ),
        Condition(
            Text(
                f"a vector of {WIDTHS[-1]} loses less than one of {WIDTHS[0]}, longest texts",
                f"가장 긴 글에서 너비 {WIDTHS[-1]}이 {WIDTHS[0]}보다 덜 잃는 정도",
            ),
            differences(narrow, wide),
            WIDER,
        ),
    ]


def _sentence(
    by_length: dict[str, list[tuple[float, ...]]], lost: dict[str, list[float]], lengths: list[int]
) -> Text:
    falls = [with_interval(lost[name]) for name in NAMES]
    last = [with_interval(by_length[name][-1]) for name in NAMES]
    widths = ", ".join(map(str, WIDTHS))
    return Text(
        f"From {lengths[0]} to {lengths[-1]} words, all lengths known from training, the loss "
        f"rises by {', '.join(falls[:3])} nats per token with one vector of {widths} numbers, by "
        f"{falls[3]} with attention and by {falls[4]} in the Transformer. At {lengths[-1]} words "
        f"it is {', '.join(last)}.",
        f"{lengths[0]}단어에서 {lengths[-1]}단어로 길어지면(모두 학습에 있던 길이) 토큰당 손실은 "
        f"너비가 {widths}인 벡터 하나에서 {', '.join(falls[:3])} nat, 어텐션이 있으면 {falls[3]}, "
        f"트랜스포머에서 {falls[4]} 늘어납니다. {lengths[-1]}단어에서 손실은 차례로 "
        f"{', '.join(last)}입니다.",
    )
