"""Like words lie near each other, and one word has another vector in another sentence.

The notes say of word vectors that they place words of like meaning near each other, and that they
may begin at random and learn their values. So: the embedding of a small translator before and after
training, and how often the nearest neighbour of a word is of its kind (an animal, a number, a
colour). They list contextual vectors as what is left to do. So: words that have several Korean
translations, by the gold links; whether an occurrence's nearest neighbour among the others of the
same word is translated in the same way, by the encoder's states and by chance, which is all that
one static vector a word can give.

All vectors of a space may point much the same way, and then any two of them have a large cosine.
So the mean of a space is taken out first. A translator that was trained elsewhere is read in the
same way: `jumok lab context --encoder FOLDER`.

Source: Mikolov et al. 2013; Peters et al. 2018; Ethayarajh 2019 (what all vectors share); lecture
001, and 000 ("contextual embeddings").
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from jumok.data.tokenizer import END, SPACE, Tokenizer
from jumok.lab import world
from jumok.lab.findings import Bars, Column, Findings, Setting, TableCell
from jumok.lab.judging import Condition, differences, half_width, mean, with_interval
from jumok.lab.loaded import translator_of
from jumok.lab.small import Small, first_batch, trained
from jumok.lab.text import Text
from jumok.models.encoder_decoder import Transformer
from jumok.shapes import Float, Tensor
from jumok.training.precision import one_thread

KINDS: Mapping[str, tuple[str, ...]] = {
    "numbers": ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    "family": ("mother", "father", "sister", "brother", "son", "daughter", "uncle", "aunt"),
    "names": ("Mina", "Minsu", "Sujin", "Jiho", "Yuna", "Anna", "Tom", "Emma", "Paul", "Junho"),
    "pronouns": ("I", "we", "they", "he", "she"),
    "possessives": ("my", "our", "his", "her", "their"),
    "animals": ("dog", "cat", "bird", "cow", "horse", "mouse", "fox", "snake", "rabbit", "pig"),
    "colours": ("red", "white", "black", "blue", "yellow", "green"),
    "modals": ("can", "must", "will", "could", "should"),
    "asking": ("who", "what", "where", "when", "why"),
}
SEEN, SENSES = 3, 2  # occurrences of a sense that counts, and senses of a word
NEARER = 0.2  # the claim: so many more neighbours of the same kind than before training
SAME = 0.1  # and so many more of the same translation than by chance

NAMES = {
    "before": Text("before training (random)", "학습 전 (임의의 벡터)"),
    "after": Text("after training", "학습 후"),
    "given": Text("given translator", "주어진 번역 모델"),
}


@dataclass(frozen=True)
class Encoded:
    """A model's encoder, and what splits words."""

    model: Transformer
    tokenizer: Tokenizer


def table(encoded: Encoded) -> dict[str, list[Tensor]]:
    """The embeddings of the words of KINDS that are one token, by their kind, mean taken out."""
    embeddings = encoded.model.encoder.embedding.table.detach().float()
    embeddings = embeddings - embeddings.mean(0)
    found: dict[str, list[Tensor]] = defaultdict(list)
    for kind, words in KINDS.items():
        for word in words:
            for written in {word, word.capitalize()}:
                pieces = encoded.tokenizer.encode(written)
                if len(pieces) == 1 and encoded.tokenizer.pieces(pieces) == [f"{SPACE}{written}"]:
                    found[kind].append(embeddings[pieces[0]])
    return {kind: vectors for kind, vectors in found.items() if len(vectors) > 1}


def near(kinds: Mapping[str, Sequence[Tensor]]) -> float:
    """The share of the vectors whose nearest neighbour by cosine is of the same kind."""
    labels = [kind for kind, vectors in kinds.items() for _ in vectors]
    return _nearest_alike(torch.stack([v for vectors in kinds.values() for v in vectors]), labels)


def _nearest_alike(vectors: Float[Tensor, "count dim"], labels: Sequence[str]) -> float:
    normed = vectors / vectors.norm(dim=1, keepdim=True).clamp_min(1e-9)
    nearest = (normed @ normed.T).fill_diagonal_(-2.0).argmax(1).tolist()
    return mean([float(labels[place] == labels[other]) for place, other in enumerate(nearest)])


@torch.no_grad()
def states(encoded: Encoded, sentence: str) -> list[Tensor]:
    """A vector for each word between spaces: the mean of the states of its tokens."""
    pieces = encoded.tokenizer.encode(sentence)
    found = encoded.model.encode(torch.tensor([[*pieces, END]])).states[0, : len(pieces)].float()
    words = torch.tensor(encoded.tokenizer.words(pieces))
    return [found[words == word].mean(0) for word in range(len(sentence.split()))]


@dataclass(frozen=True)
class Senses:
    """How often an occurrence's nearest neighbour has its translation, and how often by chance."""

    alike: float
    chance: float
    words: tuple[str, ...]


Linked = Sequence[tuple[str, str, Sequence[tuple[int, int]]]]


def senses(encoded: Encoded, pairs: Linked) -> Senses:
    """Over all words with several translations; a translation is its first syllable."""
    seen: dict[str, list[tuple[str, Tensor]]] = defaultdict(list)
    every: list[Tensor] = []
    for english, korean, links in pairs:
        words, targets = english.split(), korean.split()
        vectors = states(encoded, english)
        every += vectors
        linked = defaultdict(list)
        shared = Counter(there for _, there in links)
        for here, there in links:
            if shared[there] == 1:  # an article is linked to the noun, as the noun itself is
                linked[here].append(there)
        for place, word in enumerate(words):
            if len(linked[place]) == 1:
                bare = word.strip(".,?!").lower()
                seen[bare].append((targets[linked[place][0]][0], vectors[place]))
    middle = torch.stack(every).mean(0)
    alike, chance, told = [], [], []
    for word, occurrences in sorted(seen.items()):
        counts: dict[str, int] = defaultdict(int)
        for sense, _ in occurrences:
            counts[sense] += 1
        kept = [each for each in occurrences if counts[each[0]] >= SEEN]
        labels = [sense for sense, _ in kept]
        if len(set(labels)) < SENSES:
            continue
        told.append(word)
        alike.append(_nearest_alike(torch.stack([v for _, v in kept]) - middle, labels))
        chance.append(mean([(labels.count(label) - 1) / (len(labels) - 1) for label in labels]))
    return Senses(mean(alike), mean(chance), tuple(told))


def run(setting: Setting) -> Findings:
    """Looks at the words and the states of a small translator, and of the one that was given."""
    setting.say("training: translators")
    (runs,) = trained([Small()], setting)
    after = [Encoded(each.transformer, each.tokenizer) for each in runs]
    before = [
        Encoded(first_batch(Small(), seed, setting.cache)[0], each.tokenizer)
        for seed, each in zip(setting.seeds, after, strict=True)
    ]
    models = {"before": before, "after": after}
    if setting.encoder is not None:
        translator = translator_of(setting.encoder)
        model = translator.models[0]
        assert isinstance(model, Transformer)
        models["given"] = [Encoded(model, translator.tokenizer)]
    pairs = list(zip(*world.read(setting.cache, "test"), strict=True))
    with one_thread():
        shares = {name: [near(table(each)) for each in of_name] for name, of_name in models.items()}
        found = {
            name: [senses(each, pairs) for each in of_name]
            for name, of_name in models.items()
            if name != "before"
        }
    return report(shares, found)


COLUMNS = (
    Column(Text("word vectors", "단어 벡터")),
    Column(Text("nearest word is of the same kind", "가장 가까운 단어가 같은 종류"), ".0%"),
    Column(Text("± (95 %)", "± (95%)"), ".0%"),
    Column(Text("nearest occurrence, same translation", "가까운 쓰임이 같은 번역"), ".0%"),
    Column(Text("± (95 %)", "± (95%)"), ".0%"),
    Column(Text("by chance (static vectors)", "우연 (정적 벡터)"), ".0%"),
)


def report(shares: dict[str, list[float]], found: dict[str, list[Senses]]) -> Findings:
    """How near like words lie, and how like the neighbours of an occurrence are translated."""
    rows: list[list[TableCell]] = []
    for name, values in shares.items():
        alike = [each.alike for each in found[name]] if name in found else []
        rows.append(
            [
                NAMES[name],
                mean(values),
                half_width(values),
                mean(alike) if alike else None,
                half_width(alike) if alike else None,
                found[name][0].chance if alike else None,
            ]
        )
    after = found["after"]
    return Findings(
        columns=COLUMNS,
        rows=rows,
        figures={
            "same_kind": shares,
            "same_translation": {
                name: [{"alike": each.alike, "chance": each.chance} for each in of_name]
                for name, of_name in found.items()
            },
            "words": list(after[0].words),
        },
        conditions=_conditions(shares, after),
        sentence=_sentence(shares, after),
        panels=(
            Bars(
                Text("Nearest word is of the same kind", "가장 가까운 단어가 같은 종류"),
                Text("share of words, ± 95 %", "단어의 비율, ± 95%"),
                [(NAMES[name], mean(values)) for name, values in shares.items()],
                spread=[half_width(values) or 0.0 for values in shares.values()],
            ),
            Bars(
                Text("Nearest occurrence has the same translation", "가까운 쓰임이 같은 번역"),
                Text("share of occurrences, ± 95 %", "쓰임의 비율, ± 95%"),
                [
                    (Text("by chance", "우연"), after[0].chance),
                    (Text("by states", "은닉 상태"), mean([each.alike for each in after])),
                ],
                spread=[0.0, half_width([each.alike for each in after]) or 0.0],
            ),
        ),
    )


def _conditions(shares: dict[str, list[float]], after: list[Senses]) -> tuple[Condition, ...]:
    more = [each.alike - each.chance for each in after]
    return (
        Condition(
            Text(
                "more neighbours of the same kind than before training",
                "학습 전보다 많은 같은 종류의 이웃",
            ),
            differences(shares["after"], shares["before"]),
            NEARER,
            form=".0%",
        ),
        Condition(
            Text(
                "in context, more of the same translation than by chance",
                "문맥 속에서 우연보다 많은 같은 번역",
            ),
            more,
            SAME,
            form=".0%",
        ),
    )


def _sentence(shares: dict[str, list[float]], after: list[Senses]) -> Text:
    before, learned = (with_interval(shares[name], ".0%") for name in ("before", "after"))
    alike, chance = with_interval([each.alike for each in after], ".0%"), after[0].chance
    count, some = len(after[0].words), ", ".join(after[0].words[:5])
    return Text(
        f"The nearest neighbour of a word vector is of the same kind (numbers, family, animals "
        f"...) for {before} of the words before training and for {learned} after it. In context, "
        f"the nearest other occurrence of the same word has the same translation in {alike} of the "
        f"cases, and by chance in {chance:.0%}, over {count} words with several translations "
        f"({some} ...).",
        f"단어 벡터의 가장 가까운 이웃이 같은 종류(수, 가족, 동물 등)인 비율은 학습 전 {before}, "
        f"학습 후 {learned}입니다. 문맥 속에서 같은 단어의 가장 가까운 다른 쓰임이 같은 번역인 "
        f"비율은 {alike}, 우연이면 {chance:.0%}입니다. 번역이 여러 가지인 단어 {count}개를 "
        f"보았습니다({some} 등).",
    )
