"""Like words lie near each other, and one word has another vector in another sentence.

The notes say of word vectors that they place words of like meaning near each other, and that they
may begin at random and learn their values. So: the embedding of a small translator before and after
training, and how often a word of the same kind (a city, a number, a job) is nearer than one of
another kind. They list contextual vectors as what is left to do. So: words that have several Korean
translations, by the gold links; whether of two other uses of a word the one that is translated in
the same way has the nearer state in the encoder. One static vector a word could not tell.

All vectors of a space may point much the same way, and then any two of them have a large cosine.
So the mean of a space is taken out first. A translator that was trained elsewhere is read in the
same way: `jumok lab context --encoder FOLDER`.

Source: Mikolov et al. 2013; Peters et al. 2018; Ethayarajh 2019 (what all vectors share); lecture
001, and 000 ("contextual embeddings").
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch

from jumok.config.data import TokenizerConfig
from jumok.data.tokenizer import END, SPACE, Tokenizer
from jumok.lab import world
from jumok.lab.findings import Bars, Column, Findings, Setting, TableCell
from jumok.lab.judging import Condition, differences, half_width, mean, with_interval
from jumok.lab.loaded import translator_of
from jumok.lab.small import Small, first_batch, trained
from jumok.lab.text import Text
from jumok.models.encoder_decoder import Transformer
from jumok.shapes import Tensor
from jumok.smallworld import LinkedPair
from jumok.training.precision import one_thread

KINDS: Mapping[str, tuple[str, ...]] = {
    kind: tuple(words.split())
    for kind, words in {
        "family": "mother father sister brother son daughter uncle aunt cousin grandmother",
        "names": "Mina Minsu Sujin Jiho Yuna Anna Emma Paul Tom David Daniel John Mary Junho",
        "cities": "Seoul Busan Daegu Gyeongju",
        "jobs": "actor baker dancer doctor driver farmer judge lawyer nurse painter poet singer",
        "places": "beach company farm garden hospital hotel library museum park school station",
        "things": "bag ball bicycle book box bread cake car chair coat desk dress pen magazine",
        "numbers": "two three four five six",
        "pronouns": "I we they he she you",
        "modals": "can must will could may",
        "asking": "who what where when why how",
        "manner": "carefully happily quickly quietly slowly",
    }.items()
}
Kind = TypeVar("Kind")
VOWELS_AND_FINALS = 21 * 28  # of a Hangul syllable, after its first consonant, as Unicode counts
SEEN, SENSES = 3, 2  # occurrences of a sense that counts, and senses of a word
OCCURRENCES = 1_500  # sentences in which words with several translations are sought
PIECES = TokenizerConfig(size=1_000, byte_fallback=False)  # most words are one token
STATIC = 0.5  # how often a use of the same translation is nearer if all uses have one vector
NEARER = 0.05  # the claim: so much more often than before training, and than by chance

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


def near(kinds: Mapping[Kind, Sequence[Tensor]]) -> float:
    """How often a vector of the same kind is nearer than one of another kind; by chance 0.5.

    Over all triples of a vector, another of its kind and one of another kind; every vector counts
    the same. It is the area under the curve of telling one's own kind by the cosine.
    """
    labels = [kind for kind, vectors in kinds.items() for _ in vectors]
    vectors = torch.stack([v for vectors in kinds.values() for v in vectors])
    found = []
    normed = vectors / vectors.norm(dim=1, keepdim=True).clamp_min(1e-9)
    for place, cosines in enumerate(normed @ normed.T):
        alike = torch.tensor([label == labels[place] for label in labels])
        others = cosines[~alike]
        alike[place] = False
        found.append(float((cosines[alike][:, None] > others).float().mean()))
    return mean(found)


@torch.no_grad()
def states(encoded: Encoded, sentence: str) -> list[Tensor]:
    """A vector for each word between spaces: the mean of the states of its tokens."""
    pieces = encoded.tokenizer.encode(sentence)
    found = encoded.model.encode(torch.tensor([[*pieces, END]])).states[0, : len(pieces)].float()
    words = torch.tensor(encoded.tokenizer.words(pieces))
    return [found[words == word].mean(0) for word in range(len(sentence.split()))]


@dataclass(frozen=True)
class Senses:
    """How often an occurrence of the same translation is nearer (`near`), over these words."""

    nearer: float
    words: tuple[str, ...]


def sense(korean: str) -> int:
    """The consonant that a translation begins with, which its endings never change."""
    return (ord(korean[0]) - ord("가")) // VOWELS_AND_FINALS


def senses(encoded: Encoded, pairs: Sequence[LinkedPair]) -> Senses:
    """Over all words with several translations, told apart by `sense`."""
    seen: dict[str, dict[int, list[Tensor]]] = defaultdict(lambda: defaultdict(list))
    every: list[Tensor] = []
    for pair in pairs:
        words, targets = pair.source.split(), pair.target.split()
        vectors = states(encoded, pair.source)
        every += vectors
        linked = defaultdict(list)
        shared = Counter(there for _, there in pair.alignment)
        for here, there in pair.alignment:
            if shared[there] == 1:  # an article is linked to the noun, as the noun itself is
                linked[here].append(there)
        for place, word in enumerate(words):
            if len(linked[place]) == 1:
                bare = word.strip(".,?!").lower()
                seen[bare][sense(targets[linked[place][0]])].append(vectors[place])
    middle = torch.stack(every).mean(0)
    nearer = {}
    for word, occurrences in sorted(seen.items()):
        kept = {
            label: [vector - middle for vector in vectors]
            for label, vectors in occurrences.items()
            if len(vectors) >= SEEN
        }
        if len(kept) >= SENSES:
            nearer[word] = near(kept)
    return Senses(mean(list(nearer.values())), tuple(nearer))


def run(setting: Setting) -> Findings:
    """Looks at the words and the states of a small translator, and of the one that was given."""
    setting.say("training: translators")
    small = Small(tokenizer=PIECES)
    (runs,) = trained([small], setting)
    after = [Encoded(each.transformer, each.tokenizer) for each in runs]
    before = [
        Encoded(first_batch(small, seed, setting.cache)[0], each.tokenizer)
        for seed, each in zip(setting.seeds, after, strict=True)
    ]
    models = {"before": before, "after": after}
    if setting.encoder is not None:
        translator = translator_of(setting.encoder)
        model = translator.models[0]
        assert isinstance(model, Transformer)
        models["given"] = [Encoded(model, translator.tokenizer)]
    pairs = world.linked("test", OCCURRENCES)
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
    Column(Text("a word of the same kind is nearer", "같은 종류의 단어가 더 가까움"), ".0%"),
    Column(Text("± (95 %)", "± (95%)"), ".0%"),
    Column(Text("a use of the same translation is nearer", "같은 번역의 쓰임이 더 가까움"), ".0%"),
    Column(Text("± (95 %)", "± (95%)"), ".0%"),
)
SHARE = Text("share of comparisons (chance: 50 %), ± 95 %", "비교의 비율 (우연: 50%), ± 95%")


def report(shares: dict[str, list[float]], found: dict[str, list[Senses]]) -> Findings:
    """How near like words lie, and the uses of a word that are translated alike."""
    rows: list[list[TableCell]] = []
    for name, values in shares.items():
        alike = [each.nearer for each in found[name]] if name in found else []
        told: list[TableCell] = [mean(alike), half_width(alike)] if alike else [None, None]
        rows.append([NAMES[name], mean(values), half_width(values), *told])
    after = found["after"]
    nearer = [each.nearer for each in after]
    return Findings(
        columns=COLUMNS,
        rows=rows,
        figures={
            "same_kind": shares,
            "same_translation": {
                name: [each.nearer for each in of_name] for name, of_name in found.items()
            },
            "words": list(after[0].words),
        },
        conditions=_conditions(shares, nearer),
        sentence=_sentence(shares, nearer, after[0].words),
        panels=(
            Bars(
                Text("A word of the same kind is nearer", "같은 종류의 단어가 더 가까운가"),
                SHARE,
                [(NAMES[name], mean(values)) for name, values in shares.items()],
                spread=[half_width(values) or 0.0 for values in shares.values()],
            ),
            Bars(
                Text("A use of the same translation is nearer", "같은 번역의 쓰임이 더 가까운가"),
                SHARE,
                [
                    (Text("static vectors", "정적 벡터"), STATIC),
                    (Text("states of the encoder", "인코더의 은닉 상태"), mean(nearer)),
                ],
                spread=[0.0, half_width(nearer) or 0.0],
            ),
        ),
    )


def _conditions(shares: dict[str, list[float]], nearer: list[float]) -> tuple[Condition, ...]:
    return (
        Condition(
            Text(
                "a word of the same kind is nearer, more often than before training",
                "학습 전보다 같은 종류의 단어가 더 자주 가까움",
            ),
            differences(shares["after"], shares["before"]),
            NEARER,
            form=".0%",
        ),
        Condition(
            Text(
                "a use of the same translation is nearer, more often than by chance",
                "우연보다 같은 번역의 쓰임이 더 자주 가까움",
            ),
            [each - STATIC for each in nearer],
            NEARER,
            form=".0%",
        ),
    )


def _sentence(shares: dict[str, list[float]], nearer: list[float], words: tuple[str, ...]) -> Text:
    before, learned = (with_interval(shares[name], ".0%") for name in ("before", "after"))
    alike, count, some = with_interval(nearer, ".0%"), len(words), ", ".join(words[:5])
    return Text(
        f"A word of the same kind (family, jobs, cities ...) has the nearer vector than one of "
        f"another kind in {before} of the comparisons before training (chance: 50%) and in "
        f"{learned} after it. Of two other uses of the same word, the one that is translated in "
        f"the same way has the nearer state in {alike}, over {count} words with several "
        f"translations ({some} ...); one static vector a word would leave it at 50%.",
        f"같은 종류(가족, 직업, 도시 등)의 단어 벡터가 다른 종류의 것보다 가까운 비율은 학습 전 "
        f"{before}(우연: 50%), 학습 후 {learned}입니다. 같은 단어의 다른 쓰임 둘 가운데 같은 "
        f"번역인 쪽의 은닉 상태가 더 가까운 비율은 {alike}입니다. 번역이 여러 가지인 단어 "
        f"{count}개({some} 등)를 보았으며, 단어마다 정적 벡터가 하나뿐이라면 50%입니다.",
    )
