"""The bottleneck: one fixed vector for a sentence of any length.

The lectures' reason for attention. An RNN encoder leaves the sentence in one vector of fixed
size; the longer the sentence, the more is lost. With attention the decoder attends to every
state, and a Transformer does nothing else. Tried: BLEU by the length of the sentence.

Source: Bahdanau et al. 2015, figure 2; Cho et al. 2014; lectures 001, 004.
"""

from collections.abc import Sequence

from jumok.evaluation.text import score_text
from jumok.lab import world
from jumok.lab.contest import contest
from jumok.lab.findings import Chart, Column, Findings, Series, Setting
from jumok.lab.judging import Condition, mean
from jumok.lab.small import Small
from jumok.lab.text import Text

RNN = {"kind": "rnn", "cell": "gru", "dim": 128, "embedding": 64, "dropout": 0.0}
STEPS = 600  # a fixed vector takes longest to learn
BUCKETS = ((3, 4), (5, 6), (7, 8), (9, 10), (11, 12))  # words; training ends at 8
LOST = 5.0  # the claim: from the shortest to the longest, attention loses this much less BLEU

NAMES = {
    "fixed": Text("RNN, one context vector", "RNN, 문맥 벡터 하나"),
    "attention": Text("RNN with attention", "어텐션이 있는 RNN"),
    "transformer": Text("Transformer", "트랜스포머"),
}


def bucketed(sources: Sequence[str]) -> list[list[int]]:
    """The rows of the sentences in each bucket."""
    lengths = [len(source.split()) for source in sources]
    return [
        [row for row, length in enumerate(lengths) if low <= length <= high]
        for low, high in BUCKETS
    ]


def bleu_by_length(
    texts: Sequence[str], references: Sequence[str], rows: Sequence[Sequence[int]]
) -> list[float]:
    """BLEU of each bucket."""
    found = []
    for chosen in rows:
        (score,) = score_text(
            [texts[row] for row in chosen],
            [references[row] for row in chosen],
            target_language="ko",
            metrics=("bleu",),
            resamples=0,
        )
        found.append(score.value)
    return found


def run(setting: Setting) -> Findings:
    """Trains the three and translates sentences of every length."""
    variants = {
        "fixed": Small({**RNN, "attention": "none", "context": "every-step"}, steps=STEPS),
        "attention": Small({**RNN, "attention": "additive", "order": "luong"}, steps=STEPS),
        "transformer": Small(steps=STEPS),
    }
    found = contest(variants, NAMES, setting)
    usual, longer = (world.read(setting.cache, split) for split in ("test", "longer"))
    sources, references = usual[0] + longer[0], usual[1] + longer[1]
    rows = bucketed(sources)
    curves = {
        name: [bleu_by_length(run.translate(sources), references, rows) for run in found.runs[name]]
        for name in NAMES
    }
    parameters = {name: found.runs[name][0].parameters for name in NAMES}
    return report(curves, parameters, {name: found.loss(name) for name in NAMES})


def report(
    curves: dict[str, list[list[float]]], parameters: dict[str, int], losses: dict[str, float]
) -> Findings:
    """How much BLEU each model loses from the shortest to the longest sentences."""
    means = {name: [mean(each) for each in zip(*curves[name], strict=True)] for name in NAMES}
    lost = {name: means[name][0] - means[name][-1] for name in NAMES}
    keeps = [
        lost["fixed"] - lost[name] > LOST and means[name][-1] > means["fixed"][-1]
        for name in ("attention", "transformer")
    ]
    lengths = [f"{low}-{high}" for low, high in BUCKETS]
    return Findings(
        columns=(
            Column(Text("model", "모델")),
            Column(Text("parameters", "매개변수"), ",d"),
            Column(Text("loss", "손실"), ".3f"),
            *(Column(Text(f"BLEU, {each} words", f"BLEU, {each}단어"), ".1f") for each in lengths),
        ),
        rows=[[NAMES[name], parameters[name], losses[name], *means[name]] for name in NAMES],
        figures={
            name: {"bleu": curves[name], "lost": lost[name], "loss": losses[name]} for name in NAMES
        }
        | {"lengths": lengths},
        conditions=[Condition(Text("keeps", "잃지 않음"), [float(each)], 0.5) for each in keeps],
        sentence=_sentence(means, lost, lengths),
        panels=(
            Chart(
                Text("BLEU by length", "길이에 따른 BLEU"),
                Text("words of the English sentence", "영어 문장의 단어 수"),
                Text("BLEU", "BLEU"),
                [
                    Series(
                        NAMES[name],
                        [((low + high) / 2, y) for (low, high), y in zip(BUCKETS, ys, strict=True)],
                    )
                    for name, ys in means.items()
                ],
                least=0.0,
                most=100.0,
            ),
        ),
    )


def _sentence(means: dict[str, list[float]], lost: dict[str, float], lengths: list[str]) -> Text:
    known = world.LENGTHS["train"][1]
    last = [f"{means[name][-1]:.1f}" for name in NAMES]
    return Text(
        f"From {lengths[0]} to {lengths[-1]} words the fixed vector loses {lost['fixed']:.1f} "
        f"BLEU, the RNN with attention {lost['attention']:.1f} and the Transformer, whose "
        f"positions beyond {known} words are new, {lost['transformer']:.1f}; on the longest "
        f"sentences they reach {last[0]}, {last[1]} and {last[2]}. No sentence in training has "
        f"more than {known} words.",
        f"문장이 {lengths[0]}단어에서 {lengths[-1]}단어로 길어지면 BLEU는 고정 벡터에서 "
        f"{lost['fixed']:.1f}, 어텐션이 있는 RNN에서 {lost['attention']:.1f}, 트랜스포머에서 "
        f"{lost['transformer']:.1f} 떨어집니다. 트랜스포머에는 {known}단어 뒤의 위치가 처음입니다. "
        f"가장 긴 문장의 BLEU는 각각 {', '.join(last)}입니다. {known}단어가 넘는 문장은 학습에 "
        "없었습니다.",
    )
