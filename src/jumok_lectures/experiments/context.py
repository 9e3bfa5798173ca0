"""Like words lie near each other, and one word has another vector in another sentence.

The notes say of word vectors that they place words of like meaning near each other, and that they
may begin at random and learn their values. So: the embedding of a small translator before and after
training, and how often a word of the same kind (a city, a number, a job) is nearer than one of
another kind. They list contextual vectors as what is left to do. So: words that have several Korean
translations, by the gold links; whether a use's nearest neighbour among the others of the same word
is translated in the same way, by the encoder's states and by chance, which is all that one static
vector a word can give.

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

from jumok.config.data import TokenizerConfig
from jumok.data.tokenizer import END, SPACE, Tokenizer
from jumok.models.encoder_decoder import Transformer
from jumok.shapes import Float, Tensor
from jumok.training.precision import one_thread
from jumok_lectures import world
from jumok_lectures.findings import Findings, Setting
from jumok_lectures.judging import cells, differences, mean
from jumok_lectures.loaded import translator_of
from jumok_lectures.small import Small, first_batch, trained
from jumok_lectures.texts import Texts
from smallworld import LinkedPair

T = Texts("context")

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
VOWELS_AND_FINALS = 21 * 28  # of a Hangul syllable, after its first consonant, as Unicode counts
SEEN, SENSES = 20, 2  # uses of a translation that counts, and translations of a word
OCCURRENCES = 1_500  # sentences in which words with several translations are sought
PIECES = TokenizerConfig(size=1_000, byte_fallback=False)  # most words are one token

NAMES = T.named("names")


@dataclass(frozen=True)
class Encoded:
    """A model's encoder, and what splits words."""

    model: Transformer
    tokenizer: Tokenizer


def table(encoded: Encoded) -> dict[str, list[Tensor]]:
    """The embeddings of the words of KINDS that are one token, by their kind, mean taken out."""
    embeddings = encoded.model.encoder.embedding.table.detach().float()
    embeddings = embeddings - embeddings.mean(0)
    by_kind: dict[str, list[Tensor]] = defaultdict(list)
    for kind, words in KINDS.items():
        for word in words:
            for written in {word, word.capitalize()}:
                pieces = encoded.tokenizer.encode(written)
                if len(pieces) == 1 and encoded.tokenizer.pieces(pieces) == [f"{SPACE}{written}"]:
                    by_kind[kind].append(embeddings[pieces[0]])
    return {kind: vectors for kind, vectors in by_kind.items() if len(vectors) > 1}


def near(kinds: Mapping[str, Sequence[Tensor]]) -> float:
    """How often a word of the same kind is nearer than one of another kind; by chance 0.5.

    Over all triples of a word, another of its kind and one of another kind; every word counts the
    same. It is the area under the curve of telling one's own kind by the cosine.
    """
    labels = [kind for kind, vectors in kinds.items() for _ in vectors]
    shares = []
    for place, cosines in enumerate(_cosines([v for of_kind in kinds.values() for v in of_kind])):
        alike = torch.tensor([label == labels[place] for label in labels])
        others = cosines[~alike]
        alike[place] = False
        shares.append(float((cosines[alike][:, None] > others).float().mean()))
    return mean(shares)


def _cosines(vectors: Sequence[Tensor]) -> Float[Tensor, "count count"]:
    table = torch.stack(list(vectors))
    normed = table / table.norm(dim=1, keepdim=True).clamp_min(1e-9)
    return normed @ normed.T


@torch.no_grad()
def states(encoded: Encoded, sentence: str) -> list[Tensor]:
    """A vector for each word between spaces: the mean of the states of its tokens."""
    pieces = encoded.tokenizer.encode(sentence)
    hidden = encoded.model.encode(torch.tensor([[*pieces, END]])).states[0, : len(pieces)].float()
    words = torch.tensor(encoded.tokenizer.words(pieces))
    return [hidden[words == word].mean(0) for word in range(len(sentence.split()))]


@dataclass(frozen=True)
class Senses:
    """How often a use's nearest other use has its translation, how often by chance, of which words.

    Every translation of a word counts the same, and every word.
    """

    alike: float
    chance: float
    words: tuple[str, ...]


def sense(korean: str) -> int:
    """The consonant that a translation begins with, which its endings never change."""
    return (ord(korean[0]) - ord("가")) // VOWELS_AND_FINALS


def senses(encoded: Encoded, pairs: Sequence[LinkedPair], uses_each: int = SEEN) -> Senses:
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
    alike, chance = {}, {}
    for word, uses in sorted(seen.items()):
        kept = {label: vectors for label, vectors in uses.items() if len(vectors) >= uses_each}
        if len(kept) >= SENSES:
            alike[word] = _nearest_alike([[v - middle for v in each] for each in kept.values()])
            others = sum(map(len, kept.values())) - 1
            chance[word] = mean([(len(each) - 1) / others for each in kept.values()])
    return Senses(mean(list(alike.values())), mean(list(chance.values())), tuple(alike))


def _nearest_alike(uses: Sequence[Sequence[Tensor]]) -> float:
    """The share of the vectors whose nearest one is of the same list; a mean over the lists."""
    labels = torch.tensor([label for label, vectors in enumerate(uses) for _ in vectors])
    nearest = _cosines([v for vectors in uses for v in vectors]).fill_diagonal_(-2.0).argmax(1)
    same = (labels[nearest] == labels).float()
    return mean([float(same[labels == label].mean()) for label in range(len(uses))])


def run(setting: Setting) -> Findings:
    """Looks at the words and the states of a small translator, and of the one that was given."""
    setting.say("training: translators")
    small = Small(tokenizer=PIECES)
    runs = trained({"after": small}, setting)["after"]
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
        uses = {
            name: [senses(each, pairs) for each in of_name]
            for name, of_name in models.items()
            if name != "before"
        }
    return report(shares, uses)


def report(shares: dict[str, list[float]], uses: dict[str, list[Senses]]) -> Findings:
    """How near like words lie, and the uses of a word that are translated alike."""
    alike = {name: [each.alike for each in own] for name, own in uses.items()}
    chance, words = uses["after"][0].chance, uses["after"][0].words

    def of_uses(name: str) -> list[float | None]:
        return [*cells(alike[name]), uses[name][0].chance] if name in uses else [None, None, None]

    return T.findings(
        rows=[[NAMES[name], *cells(values), *of_uses(name)] for name, values in shares.items()],
        figures={
            "same_kind": shares,
            "same_translation": {
                name: [{"alike": each.alike, "chance": each.chance} for each in own]
                for name, own in uses.items()
            },
            "words": list(words),
        },
        conditions=[
            T.condition("a_word_of_the", differences(shares["after"], shares["before"])),
            T.condition("the_nearest_use_has", [use.alike - use.chance for use in uses["after"]]),
        ],
        panels=[
            T.bars([(NAMES[name], values) for name, values in shares.items()]),
            T.bars(
                [(T("static_vectors"), chance), (T("states_of_the_encoder"), alike["after"])], "_2"
            ),
        ],
        shares=shares,
        alike=alike["after"],
        chance=chance,
        some=", ".join(words),
    )
