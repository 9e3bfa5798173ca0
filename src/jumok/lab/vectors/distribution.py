"""Why the attention distribution itself is not the output, and what its small shares do.

The note: multiplying the values by the distribution takes the small shares away. Tried: what can
be known from the distribution alone; whether a word with a share of 0.001 can still be named from
the sum; and how much of the sum many such shares make up, of different words and of one.

Small shares of different words cancel out: n of them with weight w have a squared length of n w²,
while those of one word add up to (n w)².

Source: lecture 001; Kobayashi et al. 2020 (a value's length counts as much as its weight).
"""

from dataclasses import dataclass

import torch
from torch.nn.functional import one_hot

from jumok.lab.findings import Bars, Column, Findings, Setting, TableCell
from jumok.lab.judging import Condition, mean, spread
from jumok.lab.text import Text
from jumok.lab.vectors.reading import is_named, word_vectors

WIDTH, WORDS, LENGTH, SAMPLES = 64, 100, 12, 4000
MORE_WORDS, FEWER_SAMPLES = 1000, 400  # for sums of very many words
MAIN = 3.0  # what is added to the score of the word that is asked for
SMALL, MANY = 0.001, 500  # the note's share, and how many of it: half of all weight
LONGER = 1000.0  # times as long as the others
KNOWN, UNKNOWN = 0.9, 3.0 / WORDS  # named at least this often; at most so often: thrice by chance
GONE = 0.02  # at most this share of the output's squared length


@dataclass(frozen=True)
class Measured:
    """One number a seed of each measure.

    Attributes:
        from_weights, from_sum: how often the word with the main share is named.
        small: how often the word with the share SMALL is among the best two.
        different, alike: MANY shares of SMALL beside a main one: their part of the sum's squared
            length, of different words and of one word.
        main_kept: how often the main word is still named beside MANY different ones.
        long: how often the word with the share SMALL is named where its value is LONGER.
    """

    from_weights: list[float]
    from_sum: list[float]
    small: list[float]
    different: list[float]
    alike: list[float]
    main_kept: list[float]
    long: list[float]


def one_sentence(generator: torch.Generator) -> tuple[float, float]:
    """Naming the word in the most attended place: from the weights alone, and from the sum."""
    vectors = word_vectors(generator, WORDS, WIDTH)
    words = torch.randint(WORDS, (SAMPLES, LENGTH), generator=generator)
    place = torch.randint(LENGTH, (SAMPLES,), generator=generator)
    scores = torch.randn(SAMPLES, LENGTH, generator=generator)
    weights = (scores + MAIN * one_hot(place, LENGTH)).softmax(-1)
    place = weights.argmax(-1)  # where the chance was larger than MAIN, another word
    wanted = words[torch.arange(SAMPLES), place]
    sums = (weights[:, None] @ vectors[words])[:, 0]
    half = SAMPLES // 2
    reader = torch.linalg.lstsq(weights[:half], one_hot(wanted[:half], WORDS).float()).solution
    told = (weights[half:] @ reader).argmax(-1)
    return float((told == wanted[half:]).double().mean()), is_named(sums, vectors, wanted)


def small_shares(generator: torch.Generator) -> tuple[float, float, float, float, float]:
    """See Measured: small, different, alike, main_kept, long."""
    vectors = word_vectors(generator, WORDS, WIDTH)
    main = torch.randint(WORDS, (SAMPLES,), generator=generator)
    other = (main + torch.randint(1, WORDS, (SAMPLES,), generator=generator)) % WORDS
    beside = (1.0 - SMALL) * vectors[main] + SMALL * vectors[other]
    stretched = (1.0 - SMALL) * vectors[main] + SMALL * LONGER * vectors[other]
    more = word_vectors(generator, MORE_WORDS, WIDTH)
    few = torch.randint(MORE_WORDS, (FEWER_SAMPLES,), generator=generator)
    many = torch.randint(MORE_WORDS, (FEWER_SAMPLES, MANY), generator=generator)
    left, rest = 1.0 - SMALL * MANY, SMALL * more[many].sum(1)
    parts = rest.square().sum(-1)
    alike = (SMALL * MANY) ** 2
    return (
        is_named(beside, vectors, other, among=2),
        float((parts / (parts + left**2)).mean()),
        alike / (alike + left**2),
        is_named(left * more[few] + rest, more, few),
        is_named(stretched, vectors, other, among=2),
    )


def run(setting: Setting) -> Findings:
    """Every measure with every seed."""
    named, small = [], []
    for seed in setting.seeds:
        named.append(one_sentence(torch.Generator().manual_seed(seed)))
        small.append(small_shares(torch.Generator().manual_seed(seed)))
    columns = [list(each) for each in zip(*named, strict=True)]
    columns += [list(each) for each in zip(*small, strict=True)]
    return report(Measured(*columns))


def conditions(found: Measured) -> tuple[Condition, ...]:
    """What the note says, taken apart."""
    return (
        Condition(
            Text("named from the distribution alone", "분포만으로 알아맞힘"),
            found.from_weights,
            UNKNOWN,
            above=False,
            form=".1%",
        ),
        Condition(
            Text("named from the attention value", "어텐션 값으로 알아맞힘"),
            found.from_sum,
            KNOWN,
            form=".1%",
        ),
        Condition(
            Text("a word of share 0.001 is named", "비율이 0.001인 단어를 알아맞힘"),
            found.small,
            UNKNOWN,
            above=False,
            form=".1%",
        ),
        Condition(
            Text(
                f"part of {MANY} shares of 0.001, different words",
                f"0.001씩 {MANY}개가 차지하는 부분, 서로 다른 단어",
            ),
            found.different,
            GONE,
            above=False,
            form=".1%",
        ),
        Condition(
            Text(
                f"part of {MANY} shares of 0.001, one word",
                f"0.001씩 {MANY}개가 차지하는 부분, 같은 단어",
            ),
            found.alike,
            GONE,
            above=False,
            form=".1%",
        ),
    )


def report(found: Measured) -> Findings:
    """A row for each measure."""
    names = {
        "from_weights": Text("main word named from the distribution", "주된 단어, 분포에서"),
        "from_sum": Text("main word named from the attention value", "주된 단어, 어텐션 값에서"),
        "small": Text("word of share 0.001 named", "비율 0.001인 단어"),
        "long": Text(
            f"the same, its value {LONGER:.0f} times as long",
            f"같은 단어, 값이 {LONGER:.0f}배 길 때",
        ),
        "main_kept": Text(
            f"main word named beside {MANY} others of 0.001",
            f"0.001인 단어 {MANY}개가 함께 있을 때 주된 단어",
        ),
        "different": Text(
            f"part of these {MANY}: different words", f"이 {MANY}개의 부분: 서로 다른 단어"
        ),
        "alike": Text(f"part of these {MANY}: one word", f"이 {MANY}개의 부분: 같은 단어"),
    }
    values: dict[str, list[float]] = vars(found)
    rows: list[list[TableCell]] = [
        [told, mean(values[name]), spread(values[name])] for name, told in names.items()
    ]
    return Findings(
        columns=(
            Column(Text("measure", "측정한 것")),
            Column(Text("share", "비율"), ".2%"),
            Column(Text("± over seeds", "시드 간 ±"), ".2%"),
        ),
        rows=rows,
        figures={**values, "by_chance": 1.0 / WORDS},
        conditions=conditions(found),
        sentence=_sentence(found),
        panels=(
            Bars(
                Text("Known, and left over", "알 수 있는 것과 남는 것"),
                Text("share", "비율"),
                [(told, mean(values[name])) for name, told in names.items()],
                form=".1%",
            ),
        ),
    )


def _sentence(found: Measured) -> Text:
    weights, sums, small = (
        mean(each) for each in (found.from_weights, found.from_sum, found.small)
    )
    different, alike, long = (mean(each) for each in (found.different, found.alike, found.long))
    return Text(
        f"The distribution says where and not what: from it alone the word is named in "
        f"{weights:.1%} of cases (chance: {1 / WORDS:.0%}), from the attention value in "
        f"{sums:.0%}. A share of 0.001 is as good as gone ({small:.1%}), and {MANY} of them, half "
        f"of all weight, make up {different:.2%} of the output's squared length where their words "
        f"differ. But multiplying takes away nothing by itself: of one word they make up "
        f"{alike:.0%}, and a value {LONGER:.0f} times as long is named in {long:.0%}.",
        f"분포는 어디인지만 알려 주고 무엇인지는 알려 주지 않습니다. 분포만으로는 단어를 "
        f"{weights:.1%} 알아맞히고(우연: {1 / WORDS:.0%}), 어텐션 값으로는 {sums:.0%} "
        f"알아맞힙니다. 비율 0.001은 거의 사라집니다({small:.1%}). 0.001씩 {MANY}개면 가중치의 "
        f"절반이지만, 단어가 서로 다르면 출력 길이의 제곱에서 {different:.2%}만 차지합니다. "
        f"그러나 곱셈 자체가 없애는 것은 아닙니다. 같은 단어라면 {alike:.0%}를 차지하고, 값이 "
        f"{LONGER:.0f}배 길면 {long:.0%} 알아맞힙니다.",
    )
