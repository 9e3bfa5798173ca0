"""Like words lie near each other, and one word has another vector in another sentence.

The notes say of word vectors that they place words of like meaning near each other, and that they
may begin at random and learn their values. So: the embedding of a small translator before and after
training, and how often a word of the same kind (a city, a number, a job) is nearer than one of
another kind. They list contextual vectors as what is left to do. So: homonyms (who hunted the bat,
who repaired the bat), of which one static vector a word cannot tell the meanings. A use's nearest
other use is sought among those with another verb: that it has the same meaning can then not come
from a word beside both. Measured by the states of an encoder that was trained to
translate such sentences, of the same one before training, and by chance.

All vectors of a space may point much the same way, and then any two of them have a large cosine.
So the mean of a space is taken out first. A translator that was trained elsewhere is read in the
same way: `jumok lab context --encoder FOLDER`.

Source: Mikolov et al. 2013; Peters et al. 2018; Ethayarajh 2019 (what all vectors share); lecture
001, and 000 ("contextual embeddings").
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import torch

from jumok.config.data import TokenizerConfig
from jumok.data.tokenizer import END, SPACE, Tokenizer
from jumok.models.encoder_decoder import Transformer
from jumok.shapes import Float, Tensor
from jumok.training.precision import one_thread
from jumok_lectures.experiments import homonyms
from jumok_lectures.experiments.homonyms import Use
from jumok_lectures.findings import Findings, Setting
from jumok_lectures.judging import cells, differences, mean
from jumok_lectures.loaded import translator_of
from jumok_lectures.small import Small, Trained, first_batch, trained
from jumok_lectures.texts import Texts

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
PIECES = TokenizerConfig(size=1_000, byte_fallback=False)  # most words are one token
KNOWN = TokenizerConfig(kind="bpe", size=700, byte_fallback=False)  # of all words of the homonyms
KINDS_MODEL = Small(tokenizer=PIECES)
HOMONYMS_MODEL = Small(corpus=homonyms.write, tokenizer=KNOWN, steps=200)

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
class Meanings:
    """How often a use's nearest one, with another verb, has its meaning; and how often by chance.

    Every use of a meaning counts the same, every meaning of a word, and every word.
    """

    alike: float
    chance: float


def meanings(encoded: Encoded, held: Sequence[Use]) -> Meanings:
    """Over all homonyms, by the states of an encoder."""
    vectors = [states(encoded, each.text) for each in held]
    middle = torch.stack([vector for sentence in vectors for vector in sentence]).mean(0)
    alike, chance = [], []
    for word in sorted({each.noun for each in held}):
        own = [number for number, each in enumerate(held) if each.noun == word]
        cosines = _cosines([vectors[number][held[number].place] - middle for number in own])
        right, expected = nearest_alike([held[number] for number in own], cosines)
        alike.append(right)
        chance.append(expected)
    return Meanings(mean(alike), mean(chance))


def nearest_alike(own: Sequence[Use], cosines: Float[Tensor, "use use"]) -> tuple[float, float]:
    """The share of the uses of a word whose nearest one, of those with another verb, has the same
    meaning, and this share where the nearest one is drawn; means over the meanings."""
    shares: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for place, use in enumerate(own):
        others = [i for i, each in enumerate(own) if each.verb != use.verb]
        same = [own[i].meaning == use.meaning for i in others]
        nearest = int(cosines[place, others].argmax())
        shares[use.meaning].append((float(same[nearest]), mean([float(each) for each in same])))
    right, expected = (
        mean([mean([each[part] for each in of_one]) for of_one in shares.values()])
        for part in (0, 1)
    )
    return right, expected


def of_homonyms(count: int) -> list[Use]:
    """The first so many uses of homonyms that no model was trained on."""
    return [use for use in homonyms.uses()[1] if use.homonym][:count]


def told(trained: Trained, held: Sequence[Use]) -> float:
    """In which share of the sentences the translation has the Korean word of the meaning."""
    texts = trained.translate([each.text for each in held])
    return mean([float(use.meaning in text) for use, text in zip(held, texts, strict=True)])


def read(trained: Trained, before: Transformer, tested: int) -> tuple[Meanings, Meanings, float]:
    """The meanings of one translator before and after training, and what its translations tell."""
    held = of_homonyms(tested)
    with one_thread():
        first, last = (
            meanings(Encoded(model, trained.tokenizer), held)
            for model in (before, trained.transformer)
        )
        return first, last, told(trained, held)


def run(
    setting: Setting,
    kinds: Small = KINDS_MODEL,
    translator: Small = HOMONYMS_MODEL,
    tested: int = 400,
) -> Findings:
    """Looks at the words and the states of small translators, and of the one that was given."""
    setting.say("training: translators")
    runs = trained({"kinds": kinds, "homonyms": translator}, setting)
    untrained = {
        name: [first_batch(small, seed, setting.cache)[0].eval() for seed in setting.seeds]
        for name, small in (("kinds", kinds), ("homonyms", translator))
    }
    after = [Encoded(each.transformer, each.tokenizer) for each in runs["kinds"]]
    before = [
        Encoded(model, each.tokenizer)
        for model, each in zip(untrained["kinds"], runs["kinds"], strict=True)
    ]
    jobs = [
        partial(read, each, model, tested)
        for each, model in zip(runs["homonyms"], untrained["homonyms"], strict=True)
    ]
    first, last, answers = zip(*setting.map({"homonyms": jobs})["homonyms"], strict=True)
    models = {"before": before, "after": after}
    found = {"before": list(first), "after": list(last)}
    if setting.encoder is not None:
        given = translator_of(setting.encoder)
        model = given.models[0]
        assert isinstance(model, Transformer)
        models["given"] = [Encoded(model, given.tokenizer)]
        with one_thread():
            found["given"] = [meanings(models["given"][0], of_homonyms(tested))]
    with one_thread():
        shares = {name: [near(table(each)) for each in of_name] for name, of_name in models.items()}
    return report(shares, found, list(answers))


def report(
    shares: dict[str, list[float]], found: dict[str, list[Meanings]], answers: list[float]
) -> Findings:
    """How near like words lie, and the uses of a word that mean the same."""
    alike = {name: [each.alike for each in own] for name, own in found.items()}
    chance = found["after"][0].chance
    said: dict[str, list[float | None]] = {"after": [*cells(answers)]}
    return T.findings(
        rows=[
            [NAMES[name], *cells(own), *cells(alike[name]), chance, *said.get(name, [None, None])]
            for name, own in shares.items()
        ],
        figures={
            "same_kind": shares,
            "same_meaning": alike,
            "chance": chance,
            "translations_tell": answers,
            "words": list(homonyms.homonyms()),
        },
        conditions=[
            T.condition("a_word_of_the", differences(shares["after"], shares["before"])),
            T.condition("nearest_beyond_chance", [each - chance for each in alike["after"]]),
            T.condition("nearest_beyond_untrained", differences(alike["after"], alike["before"])),
        ],
        panels=[
            T.bars([(NAMES[name], values) for name, values in shares.items()]),
            T.bars(
                [
                    (T("static_vectors"), chance),
                    *((NAMES[name], values) for name, values in alike.items()),
                ],
                "_2",
            ),
        ],
        shares=shares,
        alike=alike,
        chance=chance,
        answers=answers,
        some=", ".join(homonyms.homonyms()),
    )
