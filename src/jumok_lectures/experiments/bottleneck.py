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
from jumok_lectures import clauses
from jumok_lectures.findings import Findings, Series, Setting
from jumok_lectures.judging import Condition, differences, half_width, mean, with_interval
from jumok_lectures.small import Small, Trained, trained
from jumok_lectures.text import Text
from jumok_lectures.texts import Texts

T = Texts("bottleneck")

WIDTHS = (32, 128, 512)  # of the context vector; the note's are 256, 512, 1024
STEPS, TOKENS, RATE = 200, 2048, 2e-2  # large batches: a wide GRU spends most on its weights
PIECES = TokenizerConfig(size=500, byte_fallback=False)  # the clauses have few different words
LOST = 0.2  # the claim, nats a token: lost to length; more than attention loses; and above it

NAMES = {
    **{f"fixed {width}": T("vector_of_width", width=width) for width in WIDTHS},
    "attention": T("rnn_with_attention_128"),
    "transformer": T("transformer"),
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
            T.column("model"),
            T.column("parameters"),
            *(
                column
                for length in lengths
                for column in (T.column("loss_length_words", length=length), T.column("n95"))
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
            T.chart(
                [
                    Series.of_seeds(NAMES[name], dict(zip(lengths, by_length[name], strict=True)))
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
        T.condition("the_fixed_vector_128", lost[JUDGED], bound=LOST),
        *(
            T.condition(
                "words_name",
                differences(figure[JUDGED], figure[name]),
                bound=LOST,
                words=words,
                name=NAMES[name],
            )
            for words, figure in ((T("it_loses_more_than"), lost), (T("its_loss_at_the"), longest))
            for name in ("attention", "transformer")
        ),
        T.condition(
            "a_vector_of_widths", differences(narrow, wide), widths_last=WIDTHS[-1], widths=WIDTHS
        ),
    ]


def _sentence(
    by_length: dict[str, list[tuple[float, ...]]], lost: dict[str, list[float]], lengths: list[int]
) -> Text:
    falls = [with_interval(lost[name]) for name in NAMES]
    last = [with_interval(by_length[name][-1]) for name in NAMES]
    widths = ", ".join(map(str, WIDTHS))
    return T(
        "sentence",
        lengths=lengths,
        lengths_last=lengths[-1],
        falls=", ".join(falls[:3]),
        widths=widths,
        falls_2=falls,
        last=", ".join(last),
    )
