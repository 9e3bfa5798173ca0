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
            Column(Text("cosine, static", "코사인, 정적 벡터"), ".2f"),
            Column(Text("cosine, in context", "코사인, 문맥화된 벡터"), ".2f"),
        ),
        rows=rows,
        figures={"cosine": cosines, "shared_constructions": share},
        outcome=judged(apart and alike, in_part=apart or alike),
        sentence=Text(
            "The mean of all vectors is taken out first. In different sentences the vectors of "
            f"one word have a cosine of {average:.2f} on average (static: 1), least for “{widest}” "
            f"({cosines[widest]:.2f}). A sentence shares {share['contextual']:.0%} of its "
            "constructions with its nearest neighbour in context, and "
            f"{share['static']:.0%} with its nearest by static vectors. To hold, the claim needs a "
            f"mean cosine below {APART:.2f} and more than {100 * MORE:.0f} points more in common.",
            "먼저 모든 벡터의 평균을 뺍니다. 서로 다른 문장에 있는 같은 단어의 벡터는 코사인이 "
            f"평균 {average:.2f}입니다(정적 벡터: 1). 가장 작은 단어는 “{widest}”입니다"
            f"({cosines[widest]:.2f}). 가장 가까운 문장과 공통된 구문의 비율은 문맥화된 벡터로 "
            f"찾으면 {share['contextual']:.0%}, 정적 벡터로 찾으면 {share['static']:.0%}입니다. "
            f"주장이 성립하려면 평균 코사인이 {APART:.2f}보다 작고 공통된 구문의 비율이 "
            f"{100 * MORE:.0f}%포인트 넘게 커야 합니다.",
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
