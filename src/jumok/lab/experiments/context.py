"""One word, two sentences, two vectors.

An embedding table gives a word the same vector in every sentence; an encoder's state is the
word in its sentence. Tried on the encoder of a small translator: how far the vectors of one word
lie apart in different sentences, and whether the nearest sentence by contextual vectors is built
more alike (asks, denies, counts, compares as the other does) than the nearest by static ones.

All vectors of a space may point much the same way, and then any two of them have a large cosine.
So the mean of a space is taken out first: the cosine of two words that have nothing to do with each
other is then about 0.

An encoder that was trained before is read in the same way: `jumok lab context --encoder FOLDER`.
Its static vectors are those of the words that are one token.

Source: Peters et al. 2018; Devlin et al. 2019; Ethayarajh 2019 (what all vectors share); lecture
000 ("contextual embeddings"), 001.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import torch

from jumok.data.tokenizer import END, SPACE
from jumok.lab import world
from jumok.lab.findings import Bars, Column, Findings, Setting, TableCell
from jumok.lab.judging import Condition, mean
from jumok.lab.loaded import embedder_of
from jumok.lab.small import Small, Trained, train
from jumok.lab.text import Text, same
from jumok.shapes import Float, Tensor
from jumok.systems.embedding import Embedder
from jumok.systems.words import WordSpace

WORDS, MOST = 8, 20  # the most frequent words, and the maximum number of sentences of each
APART = 0.9  # the claim: contextual vectors of a word have a mean cosine below this; static: 1
MORE = 0.02  # and neighbours in context share this much more of their constructions


@dataclass(frozen=True)
class Read:
    """A sentence's words or tokens, with a vector for each before the encoder and behind it."""

    names: tuple[str, ...]
    static: Float[Tensor, "words dim"]
    contextual: Float[Tensor, "words dim"]


@torch.no_grad()
def pieces_of(trained: Trained, sentence: str) -> Read:
    """The tokens of a sentence, and their states above the last layer."""
    encoder, pieces = trained.transformer.encoder, trained.tokenizer.encode(sentence)
    found = encoder(torch.tensor([[*pieces, END]]))[0, : len(pieces)]
    names = tuple(trained.tokenizer.pieces(pieces))
    return Read(names, encoder.embedding.table[pieces].float(), found.float())


def words_of(embedder: Embedder, space: WordSpace, sentence: str) -> Read:
    """The words of a sentence that are one token, marked as a tokenizer marks them."""
    words, vectors = embedder.word_vectors(sentence)
    rows = [space.row(word) for word in words]
    known = [place for place, row in enumerate(rows) if row is not None]
    names = tuple(f"{SPACE}{words[place]}" for place in known)
    return Read(names, space.directions[[rows[place] for place in known]], vectors[known])


def centred(
    sentences: Sequence[Float[Tensor, "_ dim"]],
) -> list[Float[Tensor, "_ dim"]]:
    """The vectors of each sentence without the mean of all."""
    middle = torch.cat(list(sentences)).mean(0)
    return [sentence - middle for sentence in sentences]


def cosine_of_word(vectors: Sequence[Tensor]) -> float:
    """The mean cosine of all pairs: 1 where all are the same."""
    both = [torch.cosine_similarity(a, b, dim=0) for a, b in combinations(vectors, 2)]
    return float(torch.stack(both).mean())


def shared(kinds: Sequence[frozenset[str]], vectors: Float[Tensor, "sentence dim"]) -> float:
    """How much of their constructions sentences share with their nearest neighbour.

    Constructions in both over constructions in either, as a mean over the sentences.
    """
    normed = vectors / vectors.norm(dim=1, keepdim=True)
    likeness = (normed @ normed.T).fill_diagonal_(-1.0)
    nearest = likeness.argmax(1).tolist()
    return mean(
        [len(kinds[a] & kinds[b]) / len(kinds[a] | kinds[b]) for a, b in enumerate(nearest)]
    )


def run(setting: Setting) -> Findings:
    """Looks at what the encoder of a small translator makes of words and sentences, or the encoder
    that was given."""
    sentences = world.read(setting.cache, "test")[0]
    kinds = [each - {"polite"} or each for each in world.kinds(setting.cache, "test")]
    if setting.encoder is None:
        trained = train(Small(), setting.seed, setting.cache, setting.full)
        read = [pieces_of(trained, sentence) for sentence in sentences]
    else:
        embedder = embedder_of(setting.encoder)
        space = embedder.word_space()
        read = [words_of(embedder, space, sentence) for sentence in sentences]
    kinds = [kind for each, kind in zip(read, kinds, strict=True) if each.names]
    read = [each for each in read if each.names]
    static = centred([each.static for each in read])
    contextual = centred([each.contextual for each in read])
    by_word: dict[str, list[Tensor]] = defaultdict(list)
    for sentence, found in zip(read, contextual, strict=True):
        for name, state in zip(sentence.names, found, strict=True):
            by_word[name].append(state)
    again = [name for name, vectors in by_word.items() if len(vectors) > 1]
    commonest = sorted(again, key=lambda name: -len(by_word[name]))
    words = [name for name in commonest if _is_word(name)][:WORDS]
    cosines = {name.removeprefix(SPACE): cosine_of_word(by_word[name][:MOST]) for name in words}
    share = {
        "static": shared(kinds, torch.stack([each.mean(0) for each in static])),
        "contextual": shared(kinds, torch.stack([each.mean(0) for each in contextual])),
    }
    return report(cosines, share)


def _is_word(name: str) -> bool:
    """Whether the token is a whole English word of some length."""
    word = name.removeprefix(SPACE)
    return name.startswith(SPACE) and len(word) > 1 and word.isascii() and word.isalpha()


def report(cosines: dict[str, float], share: dict[str, float]) -> Findings:
    """The cosines of words, and the constructions that neighbours share."""
    average = mean(list(cosines.values()))
    gain = share["contextual"] - share["static"]
    _apart, _alike = average < APART, gain > MORE
    widest = min(cosines, key=lambda word: cosines[word])
    rows: list[list[TableCell]] = [[word, 1.0, value] for word, value in cosines.items()]
    return Findings(
        columns=(
            Column(Text("word, in different sentences", "여러 문장 속의 단어")),
            Column(Text("cosine, static", "코사인, 정적 벡터"), ".2f"),
            Column(Text("cosine, in context", "코사인, 문맥화된 벡터"), ".2f"),
        ),
        rows=rows,
        figures={"cosine": cosines, "shared_constructions": share},
        conditions=(
            Condition(Text("cosine", "코사인"), [average], APART, above=False),
            Condition(Text("in common", "공통"), [gain], MORE),
        ),
        sentence=Text(
            "The mean of all vectors is subtracted first. In different sentences the vectors of "
            f"one word have a cosine of {average:.2f} on average (static: 1), the lowest is that "
            f"of “{widest}” ({cosines[widest]:.2f}). A sentence shares {share['contextual']:.0%} "
            "of its constructions with its nearest neighbour by contextual vectors, and "
            f"{share['static']:.0%} with its nearest neighbour by static vectors. The claim needs "
            f"a mean cosine below {APART:.2f} and more than {100 * MORE:.0f} points more in "
            "common.",
            "먼저 모든 벡터의 평균을 뺍니다. 서로 다른 문장에 있는 같은 단어의 벡터는 코사인이 "
            f"평균 {average:.2f}입니다(정적 벡터: 1). 코사인이 가장 작은 단어는 “{widest}”입니다"
            f"({cosines[widest]:.2f}). 가장 가까운 문장과 공통된 구문의 비율은 문맥화된 벡터로 "
            f"찾으면 {share['contextual']:.0%}, 정적 벡터로 찾으면 {share['static']:.0%}입니다. "
            f"주장이 성립하려면 평균 코사인이 {APART:.2f}보다 작고, 공통된 구문의 비율이 정적 "
            f"벡터로 찾을 때보다 {100 * MORE:.0f}%포인트 넘게 커야 합니다.",
        ),
        panels=(
            Bars(
                Text("One word in different sentences", "여러 문장 속의 같은 단어"),
                Text("mean cosine in context (static: 1)", "문맥화된 벡터의 평균 코사인 (정적: 1)"),
                [(same(word), value) for word, value in cosines.items()],
            ),
            Bars(
                Text("Nearest sentences", "가장 가까운 문장"),
                Text("share of constructions in common", "공통된 구문의 비율"),
                [
                    (Text("static vectors", "정적 벡터"), share["static"]),
                    (Text("contextual vectors", "문맥화된 벡터"), share["contextual"]),
                ],
            ),
        ),
    )
