"""A translator that has learnt a little language in seconds: what it writes follows its source."""

from itertools import product
from random import Random

import torch

from jumok.config import TransformerConfig
from jumok.data.pairs.batches import collate
from jumok.data.tokenizer import Tokenizer
from jumok.models.catalog import DataSizes, build
from jumok.models.memory import SequenceToSequence
from jumok.systems.translation.translator import Translator
from jumok.training.objectives import translation

NOUNS = {
    "cat": "고양이",
    "dog": "개",
    "bird": "새",
    "boy": "소년",
    "box": "상자",
    "road": "길",
    "car": "차",
    "bear": "곰",
    "lion": "사자",
    "book": "책",
    "tea": "차",
    "map": "지도",
}
VERBS = {"saw": "봤어요", "hid": "숨겼어요", "drew": "그렸어요", "lost": "잃었어요"}


def ending(noun: str, consonant: str, vowel: str) -> str:
    return noun + (consonant if (ord(noun[-1]) - ord("가")) % 28 else vowel)


def korean(subject: str, verb: str, thing: str) -> str:
    first, last = ending(NOUNS[subject], "은", "는"), ending(NOUNS[thing], "을", "를")
    return f"{first} {last} {VERBS[verb]}."


GERMAN = {
    "cat": "die Katze", "dog": "den Hund", "bird": "den Vogel", "girl": "das Mädchen",
    "road": "die Straße", "car": "das Auto", "lion": "den Löwen", "book": "das Buch",
}  # fmt: skip
GERMAN_VERBS = {"saw": "sah", "found": "fand", "drew": "malte", "lost": "verlor"}


def worded_translator(steps: int = 130) -> Translator:
    """English to Korean: "the cat saw a dog." """
    triples = list(product(NOUNS, VERBS, NOUNS))
    pairs = [(f"the {a} {verb} a {b}.", korean(a, verb, b)) for a, verb, b in triples]
    return learnt(pairs, "ko", 420, steps)


def cased_translator(steps: int = 130) -> Translator:
    """English to German, with the capitals of both: "Mary saw the dog." """
    names = ("Mary", "Peter", "Anna", "Berlin")
    triples = list(product(names, GERMAN_VERBS, GERMAN))
    pairs = [(f"{a} {v} the {b}.", f"{a} {GERMAN_VERBS[v]} {GERMAN[b]}.") for a, v, b in triples]
    pairs += [
        (f"The {b} {v} {a}.", f"Es {GERMAN_VERBS[v]} {GERMAN[b]} {a}.") for a, v, b in triples
    ]
    return learnt(pairs, "de", 420, steps)


def french_pairs() -> list[tuple[str, str]]:
    """English and French, with short articles: "The man saw the bird." """
    nouns = {"man": "l'homme", "bird": "l'oiseau", "cat": "le chat", "girl": "la fille"}
    nouns |= {"tree": "l'arbre", "dog": "le chien", "child": "l'enfant", "school": "l'école"}
    verbs = {"saw": "a vu", "found": "a trouvé", "lost": "a perdu", "drew": "a dessiné"}
    triples = product(nouns, verbs, nouns)
    return [
        (f"The {a} {v} the {b}.", f"{nouns[a].capitalize()} {verbs[v]} {nouns[b]}.")
        for a, v, b in triples
    ]


def french_translator(steps: int = 130) -> Translator:
    """English to French."""
    return learnt(french_pairs(), "fr", 360, steps)


def learnt(pairs: list[tuple[str, str]], target: str, size: int, steps: int) -> Translator:
    torch.manual_seed(2)
    tokenizer = Tokenizer.train([text for pair in pairs for text in pair], "bpe", size)
    sizes = TransformerConfig(
        dim=48, heads=2, encoder_layers=1, decoder_layers=2, feedforward=96, dropout=0.0
    )
    model = build(sizes, DataSizes(vocabulary=tokenizer.size))
    assert isinstance(model, SequenceToSequence)
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    random = Random(1)
    for _ in range(steps):
        sources, targets = zip(*random.sample(pairs, 48), strict=True)
        batch = collate(tokenizer.encode_batch(sources), tokenizer.encode_batch(targets))
        loss = translation(model, batch, 0.0) / batch.targets
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return Translator(
        [model.eval()], tokenizer, max_tokens=60, source_language="en", target_language=target
    )
