"""The bottleneck: one fixed vector for a sentence of any length.

The lectures' reason for attention. An RNN encoder leaves the sentence in one vector of fixed
size; the longer the sentence, the more is lost. With attention the decoder attends to every
state. Tried on texts of 4, 8, 12 and 16 words that differ in nothing but their length, all lengths
known from training, 300 unseen texts of each: the loss of a token, for vectors of 32, 128 and 512
numbers, for an RNN with attention, and for a Transformer.

Source: Bahdanau et al. 2015, figure 2; Cho et al. 2014; lectures 001, 004.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random

import smallworld
from jumok.config.data import TokenizerConfig
from jumok_lectures.findings import Findings, Series, Setting
from jumok_lectures.judging import Condition, cells, differences, in_words, mean
from jumok_lectures.small import Small, Trained, trained
from jumok_lectures.texts import Texts
from jumok_lectures.world import SEED, words
from jumok_lectures.written import Splits, written
from smallworld import LinkedPair

T = Texts("bottleneck")

WIDTHS = (32, 128, 512)  # of the context vector; the note's are 256, 512, 1024
STEPS, TOKENS, RATE = 200, 2048, 2e-2  # large batches: a wide GRU spends most on its weights
PIECES = TokenizerConfig(size=500, byte_fallback=False)  # the clauses have few different words

NAMES = {
    **{f"fixed {width}": T("vector_of_width", width=width) for width in WIDTHS},
    "attention": T("rnn_with_attention_128"),
    "transformer": T("transformer"),
}
JUDGED = "fixed 128"  # as wide as the RNN with attention
CLEAR = T.bound("words_name")  # nats: from here on, a difference counts

# A clause is a sentence of smallworld, polite, of a plain action; a text is some of them in a row,
# so that a long one has the same words, grammar and information per word as a short one.
LONGEST, CLAUSE = 4, 4  # clauses of a text, and English words of a clause
PLAIN = frozenset({"polite", "action", "past", "present", "adjective", "giving", "motion"})
HELD_OUT = 5  # one of so many clauses
WORDS = 250  # the commonest of the clauses' words


def write(folder: Path, pool: int = 2_500, training: int = 10_000, bucket: int = 300) -> Path:
    """Writes train and validation, .en and .ko, into folder/clauses, unless they are there.

    Args:
        pool: clauses, of which those with common words are taken.
        training: texts to train on.
        bucket: unseen texts of each length.
    """
    return written(folder / "clauses", lambda: _splits(pool, training, bucket))


def buckets(folder: Path) -> list[tuple[list[str], list[str]]]:
    """Unseen texts of one clause, of two, ...: English and Korean, equally many."""
    home = write(folder)
    sides = [(home / f"validation.{kind}").read_text("utf-8").splitlines() for kind in ("en", "ko")]
    size = len(sides[0]) // LONGEST
    return [
        (sides[0][at : at + size], sides[1][at : at + size])
        for at in range(0, LONGEST * size, size)
    ]


def _splits(pool_size: int, training: int, bucket: int) -> Splits:
    random = Random("clauses")
    pool = list(islice(_clauses(), pool_size))
    counts = Counter(word for pair in pool for word in words(pair))
    known = {word for word, _ in counts.most_common(WORDS)}
    common = list({(pair.source, pair.target): None for pair in pool if words(pair) <= known})
    test = common[::HELD_OUT]
    train = [clause for place, clause in enumerate(common) if place % HELD_OUT]
    lengths = [random.randint(1, LONGEST) for _ in range(training)]
    texts = {
        "train": [random.sample(train, many) for many in lengths],
        "validation": [
            random.sample(test, many) for many in range(1, LONGEST + 1) for _ in range(bucket)
        ],
    }
    return {
        split: {
            "en": [" ".join(english for english, _ in text) for text in chosen],
            "ko": [" ".join(korean for _, korean in text) for text in chosen],
        }
        for split, chosen in texts.items()
    }


def _clauses() -> Iterator[LinkedPair]:
    return (pair for pair in smallworld.pairs("train", SEED, CLAUSE, CLAUSE) if _plain(pair))


def _plain(pair: LinkedPair) -> bool:
    kinds = set(pair.constructions)
    return kinds <= PLAIN and {"polite", "action"} <= kinds and len(pair.source.split()) == CLAUSE


def variants() -> dict[str, Small]:
    """What is compared; the RNNs have their context vector's width."""
    transformer = Small(
        corpus=write, tokenizer=PIECES, steps=STEPS, tokens=TOKENS, learning_rate=RATE
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


def losses_of(model: Trained, texts: Sequence[tuple[list[str], list[str]]]) -> list[float]:
    """Nats a target token, length by length."""
    return [model.loss_on(*bucket) for bucket in texts]


def run(setting: Setting) -> Findings:
    """Trains all and measures them by length."""
    setting.say(f"training: {', '.join(name.en for name in NAMES.values())}")
    runs = trained(variants(), setting)
    texts = buckets(setting.cache)
    curves = setting.map(
        {name: [partial(losses_of, run, texts) for run in own] for name, own in runs.items()}
    )
    return report(curves, {name: own[0].parameters for name, own in runs.items()})


def report(curves: dict[str, list[list[float]]], parameters: dict[str, int]) -> Findings:
    """What each loses from the shortest to the longest texts.

    Args:
        curves: of each seed the loss by length.
    """
    lengths = [CLAUSE * many for many in range(1, LONGEST + 1)]
    by_length = {name: list(zip(*curves[name], strict=True)) for name in NAMES}
    lost = {name: [curve[-1] - curve[0] for curve in curves[name]] for name in NAMES}
    longest = {name: [curve[-1] for curve in curves[name]] for name in NAMES}
    height, rise = (
        "clear" if mean(differences(own[JUDGED], own["attention"])) > CLEAR else "unclear"
        for own in (longest, lost)
    )
    return T.findings(
        rows=[
            [NAMES[name], parameters[name], *(cell for each in own for cell in cells(each))]
            for name, own in by_length.items()
        ],
        figures={
            **{name: {"loss_by_length": curves[name], "lost": lost[name]} for name in NAMES},
            "lengths": lengths,
        },
        conditions=_conditions(lost, longest),
        panels=[
            T.chart(
                [
                    Series.of_seeds(NAMES[name], dict(zip(lengths, own, strict=True)))
                    for name, own in by_length.items()
                ],
                least=0.0,
            )
        ],
        columns=[
            T.column("model"),
            T.column("parameters"),
            *(
                column
                for length in lengths
                for column in (T.column("loss_length_words", length=length), T.column("n95"))
            ),
        ],
        lengths=lengths,
        lengths_last=lengths[-1],
        widths=WIDTHS,
        clear=CLEAR,
        height=T.named("height")[height],
        rise=T.named("rise")[rise],
        lost=list(lost.values()),
        first=", ".join(in_words([curve[0] for curve in curves[name]]) for name in NAMES),
        last=", ".join(map(in_words, longest.values())),
    )


def _conditions(lost: dict[str, list[float]], longest: dict[str, list[float]]) -> list[Condition]:
    narrow, wide = (longest[f"fixed {WIDTHS[place]}"] for place in (0, -1))
    return [
        T.condition("the_fixed_vector_128", lost[JUDGED]),
        *(
            T.condition(
                "words_name",
                differences(figure[JUDGED], figure[name]),
                words=words,
                name=NAMES[name],
            )
            for words, figure in (
                (T("it_loses_more_than"), lost),
                (T("its_loss_at_the"), longest),
            )
            for name in ("attention", "transformer")
        ),
        T.condition(
            "a_vector_of_widths",
            differences(narrow, wide),
            widths_last=WIDTHS[-1],
            widths=WIDTHS,
        ),
    ]
