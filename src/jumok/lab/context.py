"""One word, two sentences, two vectors.

An embedding table gives a word the same vector wherever it stands; an encoder's state is the
word in its sentence. Tried on the encoder of a small translator: how far the vectors of one word
lie apart in different sentences, and whether the nearest sentence by contextual vectors is built
more alike (asks, denies, counts, compares as the other does) than the nearest by static ones.

All vectors of a space may point much the same way, and then any two of them have a large cosine.
So the mean of a space is taken out first: the cosine of two words that have nothing to do with each
other is then about 0.

Source: Peters et al. 2018; Devlin et al. 2019; Ethayarajh 2019 (what all vectors share); lecture
000 ("contextual embeddings"), 001.
"""

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations

import torch

from jumok.data.tokenizer import END
from jumok.lab import world
from jumok.lab.findings import Bars, Cell, Column, Findings, Setting, judged, mean
from jumok.lab.small import Small, Trained, train
from jumok.lab.text import Text, same
from jumok.shapes import Float, Tensor

WORDS, MOST = 8, 20  # the commonest words, and so many sentences of each at most
APART = 0.9  # the claim: contextual vectors of a word have a mean cosine below this; static: 1
MORE = 0.02  # and neighbours in context share so much more of their constructions


@torch.no_grad()
def states(
    trained: Trained, sentence: str
) -> tuple[list[int], Float[Tensor, "pieces dim"], Float[Tensor, "pieces dim"]]:
    """The pieces of a sentence, their static vectors, and their states above the last layer."""
    encoder, pieces = trained.transformer.encoder, trained.tokenizer.encode(sentence)
    found = encoder(torch.tensor([[*pieces, END]]))[0, : len(pieces)]
    return pieces, encoder.embedding.table[pieces].float(), found.float()


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
    """Trains a translator and looks at what its encoder makes of words and sentences."""
    sentences = world.read(setting.cache, "test")[0]
    kinds = [each - {"polite"} or each for each in world.kinds(setting.cache, "test")]
    trained = train(Small(), setting.seed, setting.cache, setting.full)
    read = [states(trained, sentence) for sentence in sentences]
    static = centred([fixed for _, fixed, _ in read])
    contextual = centred([found for _, _, found in read])
    by_word: dict[int, list[Tensor]] = defaultdict(list)
    for (pieces, _, _), found in zip(read, contextual, strict=True):
        for piece, state in zip(pieces, found, strict=True):
            by_word[piece].append(state)
    commonest = sorted(by_word, key=lambda piece: -len(by_word[piece]))
    words = [piece for piece in commonest if _is_word(trained, piece)][:WORDS]
    cosines = {
        trained.tokenizer.decode([piece]): cosine_of_word(by_word[piece][:MOST]) for piece in words
    }
    share = {
        "static": shared(kinds, torch.stack([each.mean(0) for each in static])),
        "contextual": shared(kinds, torch.stack([each.mean(0) for each in contextual])),
    }
    return report(cosines, share)


def _is_word(trained: Trained, piece: int) -> bool:
    """Whether the piece is a whole English word of some length."""
    (text,) = trained.tokenizer.pieces([piece])
    return text.startswith("▁") and len(text) > 2 and text[1:].isascii() and text[1:].isalpha()


def report(cosines: dict[str, float], share: dict[str, float]) -> Findings:
    """Words apart, and neighbours alike."""
    average = mean(list(cosines.values()))
    gain = share["contextual"] - share["static"]
    apart, alike = average < APART, gain > MORE
    widest = min(cosines, key=lambda word: cosines[word])
    rows: list[list[Cell]] = [[word, 1.0, value] for word, value in cosines.items()]
    return Findings(
        columns=(
            Column(Text("word, in different sentences", "여러 문장 속의 단어")),
            Column(Text("cosine, static", "코사인, 정적"), ".2f"),
            Column(Text("cosine, in context", "코사인, 문맥"), ".2f"),
        ),
        rows=rows,
        figures={"cosine": cosines, "shared_constructions": share},
        outcome=judged(apart and alike, in_part=apart or alike),
        sentence=Text(
            f"In different sentences the vectors of one word have a cosine of {average:.2f} on "
            f"average (static: 1), least for “{widest}” ({cosines[widest]:.2f}). A sentence shares "
            f"{share['contextual']:.0%} of its constructions with its nearest neighbour in "
            f"context, and {share['static']:.0%} with its nearest by static vectors.",
            f"한 단어의 벡터는 문장이 다르면 평균 코사인이 {average:.2f}이고(정적 벡터는 1), "
            f"“{widest}”가 가장 작다({cosines[widest]:.2f}). 문장은 문맥 공간의 가장 가까운 "
            f"이웃과 구문의 {share['contextual']:.0%}를, 정적 벡터의 이웃과는 "
            f"{share['static']:.0%}를 함께 가진다.",
        ),
        panels=(
            Bars(
                Text("One word in different sentences", "여러 문장 속의 같은 단어"),
                Text("mean cosine in context (static: 1)", "문맥 속 평균 코사인 (정적: 1)"),
                [(same(word), value) for word, value in cosines.items()],
            ),
            Bars(
                Text("Nearest sentences", "가장 가까운 문장"),
                Text("share of constructions in common", "함께 가진 구문의 비율"),
                [
                    (Text("static vectors", "정적 벡터"), share["static"]),
                    (Text("contextual vectors", "문맥 벡터"), share["contextual"]),
                ],
            ),
        ),
    )
