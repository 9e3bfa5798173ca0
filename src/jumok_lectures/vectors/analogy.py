"""king - man + woman = queen: do word vectors solve analogies, and is it the arithmetic that does?

Vectors are made by counting and not by training: how much more often two words are near each
other than by chance (positive pointwise mutual information), in the first dimensions of a singular
value decomposition. An analogy a : b = c : ? is the word nearest to b - a + c by cosine. As is
usual, the three given words may not be the answer. Two controls are measured: the nearest word
to c alone, where the arithmetic plays no part, and the same sum with the given words allowed.

The claim is judged on human text: with $JUMOK_DATA the English sentences of Tatoeba and of the
English-Korean corpus, 2.9 million words together. The pairs are those that were published with the
method, except for those that the bound was set with. In the sentences of smallworld a king does
whatever a queen does, so that they decide nothing; they are the control for it.

Source: lecture 004; Mikolov et al. 2013 (the offset; the pairs are of questions-words.txt, sections
family, gram8-plural and gram7-past-tense, Apache-2.0); Levy and Goldberg 2014 (by counting); Linzen
2016 and Rogers et al. 2017 (the controls: much of what is solved is the nearest word to c).
"""

import itertools
import random
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import torch

import smallworld
from jumok.data.pairs.corpus import Corpus, read_pairs
from jumok.shapes import Float, Tensor
from jumok_lectures.findings import Findings, Setting
from jumok_lectures.judging import cells, differences, mean
from jumok_lectures.tatoeba import PAIRS
from jumok_lectures.texts import Texts
from jumok_lectures.vectors.reading import word_vectors

T = Texts("analogy")

WINDOW, RARE, DIM = 4, 15, 100
KEPT = 0.7  # of the texts' sentences, another choice for each seed
MOST_WORDS, QUESTIONS = 6000, 400
ENKO = Path("enko") / "train.tsv.gz"
WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")
# With these the bound was set; smallworld has few others.
SMALL = {
    "family": (
        *("man woman", "boy girl", "father mother", "son daughter", "brother sister"),
        *("uncle aunt", "grandfather grandmother", "king queen", "prince princess", "he she"),
        "his her",
    ),
    "plural": (
        *("dog dogs", "cat cats", "book books", "car cars", "box boxes", "friend friends"),
        *("child children", "man men", "woman women", "city cities", "key keys"),
        "student students",
    ),
    "past": (
        *("go went", "eat ate", "buy bought", "see saw", "write wrote", "sing sang", "meet met"),
        *("walk walked", "play played", "talk talked", "wait waited", "open opened"),
    ),
}
# The published pairs of these kinds, those of SMALL left out (Mikolov et al. 2013).
PUBLISHED = {
    "family": (
        *("brothers sisters", "dad mom", "grandpa grandma", "grandson granddaughter"),
        *("groom bride", "husband wife", "nephew niece", "policeman policewoman"),
        *("sons daughters", "stepbrother stepsister", "stepfather stepmother"),
        "stepson stepdaughter",
    ),
    "plural": (
        *("banana bananas", "bird birds", "bottle bottles", "building buildings"),
        *("cloud clouds", "color colors", "computer computers", "cow cows", "dollar dollars"),
        *("donkey donkeys", "dream dreams", "eagle eagles", "elephant elephants", "eye eyes"),
        *("finger fingers", "goat goats", "hand hands", "horse horses", "lion lions"),
        *("machine machines", "mango mangoes", "melon melons", "monkey monkeys", "mouse mice"),
        *("onion onions", "pear pears", "pig pigs", "pineapple pineapples", "rat rats"),
        *("road roads", "snake snakes"),
    ),
    "past": (
        *("dancing danced", "decreasing decreased", "describing described"),
        *("enhancing enhanced", "falling fell", "feeding fed", "flying flew"),
        *("generating generated", "going went", "hiding hid", "hitting hit"),
        *("implementing implemented", "increasing increased", "jumping jumped"),
        *("knowing knew", "listening listened", "looking looked", "moving moved"),
        *("paying paid", "playing played", "predicting predicted", "reading read"),
        *("running ran", "saying said", "screaming screamed", "seeing saw", "selling sold"),
        *("shrinking shrank", "singing sang", "sitting sat", "sleeping slept"),
        *("slowing slowed", "spending spent", "striking struck", "swimming swam"),
        *("taking took", "thinking thought", "vanishing vanished", "walking walked"),
        "writing wrote",
    ),
}
KINDS = tuple(PUBLISHED)
ASKED = {"smallworld": SMALL, "texts": PUBLISHED}
NAMES = T.named("kinds")
CORPORA = T.named("corpora")


@dataclass(frozen=True)
class Space:
    """Words and their vectors, of length 1."""

    words: Sequence[str]
    vectors: Float[Tensor, "word dim"]

    def nearest(self, wanted: Float[Tensor, " dim"], without: Sequence[str]) -> str:
        """The nearest word by cosine that is none of `without`."""
        for place in (self.vectors @ wanted).topk(len(without) + 1).indices.tolist():
            if self.words[place] not in without:
                return self.words[place]
        raise AssertionError("more words are left out than there are")

    def of(self, word: str) -> Float[Tensor, " dim"]:
        """Its vector."""
        return self.vectors[self.words.index(word)]


@dataclass(frozen=True)
class SolvedAnalogies:
    """Shares of analogies that were solved, one number a seed.

    Attributes:
        offset: by b - a + c, the three words left out.
        alone: by the nearest word to c, the three words left out.
        allowed: by b - a + c, all words allowed.
        questions: how many the vocabulary has; the most of all seeds.
    """

    offset: list[float]
    alone: list[float]
    allowed: list[float]
    questions: int

    @classmethod
    def of(cls, seeds: Sequence[tuple[float, float, float, int]]) -> "SolvedAnalogies":
        """What `solve` gave for each seed, side by side."""
        offset, alone, allowed, counts = zip(*seeds, strict=True)
        return cls(list(offset), list(alone), list(allowed), max(counts))


def counted(lines: Sequence[Sequence[str]]) -> Space:
    """Vectors of the words of these sentences; rare words get none."""
    frequent = Counter(itertools.chain.from_iterable(lines)).most_common(MOST_WORDS)
    words = [word for word, count in frequent if count >= RARE]
    number = {word: place for place, word in enumerate(words)}
    size = len(words)
    near = torch.zeros(size * size)
    for gap in range(1, WINDOW + 1):
        pairs = [
            number[one] * size + number[other]
            for line in lines
            for one, other in zip(line, line[gap:], strict=False)
            if one in number and other in number
        ]
        near += torch.bincount(torch.tensor(pairs), minlength=size * size)
    counts = near.view(size, size)
    counts = counts + counts.T
    total = counts.sum(1)
    chance = total[:, None] * total[None] / total.sum()
    information = (counts / chance.clamp(min=1e-9)).clamp(min=1.0).log()
    torch.manual_seed(0)
    left, singular, _ = torch.svd_lowrank(information, q=min(DIM, size), niter=4)
    vectors = left * singular.sqrt()
    return Space(words, vectors / vectors.norm(dim=-1, keepdim=True).clamp(min=1e-9))


def questions(pairs: Sequence[str], space: Space) -> list[tuple[str, str, str, str]]:
    """(a, b, c, d) of all two pairs whose words have vectors; QUESTIONS of them at most."""
    known = [pair.split() for pair in pairs if set(pair.split()) <= set(space.words)]
    every = [(*one, *other) for one, other in itertools.permutations(known, 2)]
    random.Random(0).shuffle(every)
    return [(a, b, c, d) for a, b, c, d in every[:QUESTIONS]]


def solve(space: Space, pairs: Sequence[str]) -> tuple[float, float, float, int]:
    """See SolvedAnalogies."""
    asked = questions(pairs, space)
    offset = alone = allowed = 0
    for a, b, c, d in asked:
        wanted = space.of(b) - space.of(a) + space.of(c)
        offset += space.nearest(wanted, (a, b, c)) == d
        alone += space.nearest(space.of(c), (a, b, c)) == d
        allowed += space.nearest(wanted, ()) == d
    count = max(1, len(asked))
    return offset / count, alone / count, allowed / count, len(asked)


def words_of(line: str) -> list[str]:
    """Its English words, in lower case."""
    return WORD.findall(line.lower())


def small_sentences(seed: int, count: int) -> list[list[str]]:
    """Words of smallworld's sentences."""
    pairs = islice(smallworld.pairs("train", seed, 3, 12), count)
    return [words_of(pair.source) for pair in pairs]


def texts_of(data: Path | None) -> list[list[str]]:
    """Words of the English sentences of human text, each sentence once; none: no such files."""
    if data is None or not ((data / PAIRS).exists() and (data / ENKO).exists()):
        return []
    corpora = Corpus(file=data / PAIRS), Corpus(file=data / ENKO, source_column=1, target_column=2)
    lines = dict.fromkeys(pair.source for corpus in corpora for pair in read_pairs(corpus))
    return [words_of(line) for line in lines]


def run(setting: Setting, sentences: int = 15_000) -> Findings:
    """Every corpus that is there, every kind of analogy."""
    texts = texts_of(setting.data)
    made: dict[tuple[str, str], list[tuple[float, float, float, int]]] = defaultdict(list)
    queens = []
    for seed in setting.seeds:
        setting.say(f"word vectors, seed {seed}")
        spaces = {"smallworld": counted(small_sentences(seed, sentences))}
        if texts:
            space = counted(random.Random(seed).sample(texts, int(KEPT * len(texts))))
            wanted = space.of("king") - space.of("man") + space.of("woman")
            queens.append(space.nearest(wanted, ("king", "man", "woman")))
            spaces["texts"] = space
        last, words = list(spaces)[-1], list(spaces.values())[-1].words
        generator = torch.Generator().manual_seed(seed)
        spaces["chance"] = Space(words, word_vectors(generator, len(words), DIM))
        for (name, space), kind in itertools.product(spaces.items(), KINDS):
            made[name, kind].append(solve(space, ASKED.get(name, ASKED[last])[kind]))
    solved = {place: SolvedAnalogies.of(seeds) for place, seeds in made.items()}
    return report(solved, queens, sum(map(len, texts)))


def report(
    solved: dict[tuple[str, str], SolvedAnalogies], queens: Sequence[str], words: int
) -> Findings:
    """A row for each corpus and kind; a verdict where there are texts."""
    judged = {kind: solved["texts", kind] for kind in KINDS if ("texts", kind) in solved}
    own = [solved["smallworld", kind] for kind in KINDS]
    sentence = T("too_little")
    if judged:
        sentence = T(
            "of_texts",
            words=words / 1e6,
            tens_of_thousands=round(words, -5) / 1e4,
            kept=KEPT,
            offset=[mean(each.offset) for each in judged.values()],
            alone=[mean(each.alone) for each in judged.values()],
            allowed=[mean(each.allowed) for each in judged.values()],
            answers=", ".join(dict.fromkeys(queens)),
        )
    bars = {place: T("name_kind", name=CORPORA[place[0]], kind=NAMES[place[1]]) for place in solved}
    return T.findings(
        rows=[
            [
                CORPORA[name],
                NAMES[kind],
                each.questions,
                *cells(each.offset),
                mean(each.alone),
                mean(each.allowed),
            ]
            for (name, kind), each in solved.items()
        ],
        figures={
            "solved": {f"{name}, {kind}": vars(each) for (name, kind), each in solved.items()},
            "king - man + woman": list(queens),
        },
        conditions=[
            *(
                T.condition("more_than_nearest", differences(each.offset, each.alone), kind=name)
                for name, each in ((NAMES[kind], each) for kind, each in judged.items())
            ),
            *(
                [T.condition("gives_queen", [float(each == "queen") for each in queens])]
                * bool(queens)
            ),
        ],
        panels=[T.bars([(bars[place], each.offset) for place, each in solved.items()], form=".0%")],
        judged=sentence,
        offset=[mean(each.offset) for each in own],
        alone=[mean(each.alone) for each in own],
    )
