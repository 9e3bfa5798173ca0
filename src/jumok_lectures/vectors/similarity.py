"""Is attention similarity? Dot product, distance and cosine; and what trained attention finds.

The note says that a dot product is large where vectors are alike and near each other, and that
attention learns similarity. For vectors of one length a product is a distance: |a - b|² = |a|² +
|b|² - 2 a·b. Where their lengths differ it is not, which is tried first.

Then a head is trained (W_Q and W_K; the words' vectors stay as they were drawn) to find for each
word a partner in the sentence: the word itself, a word that has nothing to do with it, or its
opposite. Without matrices x·x finds what is alike. With them attention finds whatever it was
taught, however unlike: queries and keys are alike then, and not the words.

Source: lecture 003; the identity: elementary.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch.nn.functional import one_hot

from jumok.shapes import Float, Int, Tensor
from jumok_lectures.findings import Findings, Series, Setting
from jumok_lectures.fitting import fit
from jumok_lectures.judging import mean
from jumok_lectures.text import joined
from jumok_lectures.texts import Texts
from jumok_lectures.vectors.reading import word_vectors

T = Texts("similarity")

WIDTH, KEYS, QUERIES = 64, 64, 400
SPREADS = (0.0, 0.25, 0.5, 1.0)  # standard deviations of the logarithm of the keys' lengths
UNEQUAL = 0.5  # one of them: the 95 % of keys between lie within a factor of 7
WORDS, DIM, LENGTH, LABELS = 48, 32, 10, 8
BATCH, RATE = 64, 1e-2
TESTED = 1000
PARTNERS = T.named("partners")


@dataclass(frozen=True)
class Compared:
    """Dot product against distance, one number a seed.

    Attributes:
        order: rank correlation of q·k and -|q - k| over the keys.
        nearest: how often the nearest key has the largest product.
    """

    order: list[float]
    nearest: list[float]


@dataclass(frozen=True)
class Taught:
    """Attention that was taught a partner, one number a seed.

    Attributes:
        raw: weight on the partner with x·x / √d, without matrices.
        trained: weight on the partner with W_Q and W_K.
        words: rank correlation of the weights and the cosines of the words' vectors.
        keys: rank correlation of the weights and the cosines of queries and keys.
    """

    raw: list[float]
    trained: list[float]
    words: list[float]
    keys: list[float]


def ranks(values: Float[Tensor, "*axes item"]) -> Float[Tensor, "*axes item"]:
    """The rank of each item in its row."""
    return values.argsort(-1).argsort(-1).double()


def rank_correlation(left: Float[Tensor, "row item"], right: Float[Tensor, "row item"]) -> float:
    """Spearman's, averaged over the rows; no two items of a row are equal."""
    pair = torch.stack((ranks(left), ranks(right)))
    centred = pair - pair.mean(-1, keepdim=True)
    one, other = centred / centred.norm(dim=-1, keepdim=True)
    return float((one * other).sum(-1).mean())


def compare(spread: float, seed: int) -> tuple[float, float]:
    """Keys between like the query and its opposite, with lengths of this spread: see Compared."""
    generator = torch.Generator().manual_seed(seed)
    query = word_vectors(generator, QUERIES, WIDTH)
    likeness = 2.0 * torch.rand(QUERIES, KEYS, 1, generator=generator) - 1.0
    noise = torch.randn(QUERIES, KEYS, WIDTH, generator=generator)
    noise = noise - (noise * query[:, None]).sum(-1, keepdim=True) * query[:, None]
    noise = noise / noise.norm(dim=-1, keepdim=True)
    keys = likeness * query[:, None] + (1.0 - likeness.square()).sqrt() * noise
    keys = keys * (spread * torch.randn(QUERIES, KEYS, 1, generator=generator)).exp()
    product = (keys * query[:, None]).sum(-1)
    nearness = -(keys - query[:, None]).norm(dim=-1)
    same = product.argmax(-1) == nearness.argmax(-1)
    return rank_correlation(product, nearness), float(same.double().mean())


@dataclass(frozen=True)
class PartnerTask:
    """Words and their partners.

    Attributes:
        vectors: of each word; an opposite has the negative one.
        partner: of each word, which is asked for when the word asks.
    """

    vectors: Float[Tensor, "word dim"]
    partner: Int[Tensor, " word"]

    @classmethod
    def of(cls, kind: str, generator: torch.Generator) -> "PartnerTask":
        """Half of the words are the opposites of the other half."""
        half = word_vectors(generator, WORDS // 2, DIM) * math.sqrt(DIM)
        words = torch.arange(WORDS)
        opposite = (words + WORDS // 2) % WORDS
        partner = {"itself": words, "unrelated": (words + 5) % WORDS, "opposite": opposite}[kind]
        return cls(torch.cat((half, -half)), partner)

    def draw(
        self, count: int, generator: torch.Generator
    ) -> tuple[Int[Tensor, " sample"], Int[Tensor, "sample place"], Int[Tensor, " sample"]]:
        """Words that ask, sentences of distinct words, and where in them the partners are."""
        asks = torch.randint(WORDS, (count,), generator=generator)
        order = torch.rand(count, WORDS, generator=generator)
        order.scatter_(1, self.partner[asks][:, None], 2.0)  # the partner is always drawn
        sentence = order.topk(LENGTH).indices
        sentence = sentence.gather(1, torch.rand(count, LENGTH, generator=generator).argsort(1))
        return asks, sentence, (sentence == self.partner[asks][:, None]).long().argmax(1)


def teach(kind: str, seed: int, steps: int) -> tuple[float, float, float, float]:
    """Trains W_Q and W_K to find the partner by its label alone: see Taught."""
    generator = torch.Generator().manual_seed(seed)
    task = PartnerTask.of(kind, generator)
    matrices = torch.randn(2, DIM, DIM, generator=generator) / math.sqrt(DIM)
    matrices.requires_grad_()

    def scores(asks: Tensor, sentence: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        query, key = task.vectors[asks] @ matrices[0], task.vectors[sentence] @ matrices[1]
        return query, key, (key @ query[:, :, None])[..., 0] / math.sqrt(DIM)

    def loss() -> Tensor:
        asks, sentence, place = task.draw(BATCH, generator)
        labels = torch.randint(LABELS, (BATCH, LENGTH), generator=generator)
        weights = scores(asks, sentence)[2].softmax(-1)
        told = (weights[:, None] @ one_hot(labels, LABELS).float())[:, 0]
        wanted = labels.gather(1, place[:, None])[:, 0]
        return -told[torch.arange(BATCH), wanted].clamp(min=1e-9).log().mean()

    fit([matrices], loss, steps, RATE, falling=False)
    with torch.no_grad():
        asks, sentence, place = task.draw(TESTED, generator)
        query, key, products = scores(asks, sentence)
        word, others = task.vectors[asks], task.vectors[sentence]
        raw = ((others @ word[:, :, None])[..., 0] / math.sqrt(DIM)).softmax(-1)
        alike = torch.cosine_similarity(others, word[:, None], dim=-1)
        matched = torch.cosine_similarity(key, query[:, None], dim=-1)
        at = place[:, None]
        return (
            float(raw.gather(1, at).mean()),
            float(products.softmax(-1).gather(1, at).mean()),
            rank_correlation(products, alike),
            rank_correlation(products, matched),
        )


def run(setting: Setting, steps: int = 400) -> Findings:
    """Lengths first, then partners."""
    lengths = {
        spread: Compared(*_by_measure([compare(spread, seed) for seed in setting.seeds]))
        for spread in SPREADS
    }
    taught = {}
    for kind, name in PARTNERS.items():
        setting.say(f"training: {name.en}")
        taught[kind] = Taught(*_by_measure([teach(kind, seed, steps) for seed in setting.seeds]))
    return report(lengths, taught)


def report(lengths: dict[float, Compared], taught: dict[str, Taught]) -> Findings:
    """A row for each spread of lengths and for each partner."""
    places = list(enumerate(taught))
    means = {
        kind: {name: mean(values) for name, values in vars(each).items()}
        for kind, each in taught.items()
    }
    numbered = joined(T("numbered", place=place, name=PARTNERS[kind]) for place, kind in places)
    return T.findings(
        rows=[
            *(
                [
                    T("lengths_spread_by_e", spread=spread),
                    *(mean(each.order), mean(each.nearest)),
                    *(None, None, None, None),
                ]
                for spread, each in lengths.items()
            ),
            *(
                [T("partner_kind", kind=PARTNERS[kind]), None, None, *means[kind].values()]
                for kind in taught
            ),
        ],
        figures={
            "lengths": {str(spread): vars(each) for spread, each in lengths.items()},
            "taught": {kind: vars(each) for kind, each in taught.items()},
            "note": {"[2, 3]·[4, 5]": 2 * 4 + 3 * 5, "[2, 3]·[-5, 2]": 2 * -5 + 3 * 2},
        },
        conditions=[
            T.condition("keys_of_one_length", lengths[0.0].order),
            T.condition("keys_of_unequal_lengths", lengths[UNEQUAL].nearest),
            T.condition("trained_weight_on_the", taught["unrelated"].trained),
            T.condition("unrelated_partner_order_of", taught["unrelated"].words),
            T.condition("unrelated_partner_order_of_2", taught["unrelated"].keys),
        ],
        panels=[
            T.chart(
                [
                    Series(name, [(at, mean(vars(each)[of])) for at, each in lengths.items()])
                    for of, name in T.named("compared").items()
                ],
                least=0.0,
                most=1.05,
            ),
            T.chart(
                [
                    Series(name, [(float(place), means[kind][of]) for place, kind in places])
                    for of, name in T.named("weights").items()
                ],
                "_2",
                x=numbered,
                least=0.0,
                most=1.05,
            ),
        ],
        equal=mean(lengths[0.0].nearest),
        spread=UNEQUAL,
        unequal=mean(lengths[UNEQUAL].nearest),
        means=means,
    )


def _by_measure(seeds: Sequence[tuple[float, ...]]) -> list[list[float]]:
    """What each seed gave, measure by measure."""
    return [list(each) for each in zip(*seeds, strict=True)]
