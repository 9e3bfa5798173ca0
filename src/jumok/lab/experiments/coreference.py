"""What does "it" look at?

"The animal didn't cross the street, because it was too tired": the notes say that attention
links "it" with the animal. Whether an answer is right can be known only where sentences are made
so: here an animal or a person meets a place or a thing, and the last word decides which of the
two "it" is (tired: the animal; wide: the street). Both come first and second equally often, so
that nothing but the meaning tells. An encoder learns to name the answer from the state of "it"
alone; then its attention from "it" is read, on combinations that training never had. An encoder
that was trained elsewhere is read in the same way: `jumok lab coreference --encoder FOLDER`.

Source: the example is of Uszkoreit 2017, "Transformer: A Novel Neural Network Architecture for
Language Understanding"; lecture 001.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import torch
from torch import nn

from jumok.attention.observe import Attention, observe, sites_of
from jumok.config.data import TokenizerConfig
from jumok.data.pairs.batches import Batch
from jumok.data.tokenizer import END, PAD
from jumok.kernels.cross_entropy import smoothed_cross_entropy
from jumok.lab.findings import Bars, Column, Findings, Grid, Setting, TableCell
from jumok.lab.judging import Condition, mean
from jumok.lab.loaded import looks_of
from jumok.lab.small import Small, Trained, train
from jumok.lab.text import Text
from jumok.lab.written import Splits, written
from jumok.models.encoder_decoder import Transformer
from jumok.shapes import Float, Tensor

LIVING = ("animal", "dog", "horse", "child", "cat", "mouse", "bird", "cow")
THINGS = ("street", "river", "bridge", "field", "wall", "road", "garden", "lake")
OF_LIVING = ("tired", "hungry", "scared", "sick", "lazy", "sleepy")
OF_THINGS = ("wide", "long", "steep", "icy", "muddy", "narrow")
# Living first, and thing first: "because it was too ..." follows.
FRAMES = (
    "the {living} did not cross the {thing}",
    "the {living} saw the {thing}",
    "the {thing} stopped the {living}",
    "the {thing} was left by the {living}",
)
ENDING = "because it was too {quality}"
HELD_OUT, CHOSEN = 0.2, 0.5  # of all sentences; of those, the part that chooses layer and head
SEED = 1
# With so few words, this many merges make every word one token.
TOKENIZER = TokenizerConfig(kind="bpe", size=180, byte_fallback=False)
MOST_ROWS = 8  # heads in the table
SOME = 0.6  # in part: in this share, or the state of "it" names the right noun
RIGHT = 0.75  # the claim: the best head looks more at the right noun in this share (chance: 0.5)


@dataclass(frozen=True)
class Sentence:
    """A sentence, the noun that "it" is, and the other noun."""

    text: str
    right: str
    wrong: str


def sentences() -> tuple[list[Sentence], list[Sentence]]:
    """All of them: to train on, and held out."""
    every = []
    nouns = itertools.product(FRAMES, LIVING, THINGS)
    for (frame, living, thing), quality in itertools.product(nouns, OF_LIVING + OF_THINGS):
        text = f"{frame} {ENDING}".format(living=living, thing=thing, quality=quality)
        of_living = quality in OF_LIVING
        right, wrong = (living, thing) if of_living else (thing, living)
        every.append(Sentence(text, right, wrong))
    Random(SEED).shuffle(every)
    held = round(len(every) * HELD_OUT)
    return every[held:], every[:held]


def write(folder: Path) -> Path:
    """Writes the sentences and their answers as a corpus, unless it is there."""
    return written(folder / "pronouns", _splits)


def _splits() -> Splits:
    return {
        split: {"en": [each.text for each in chosen], "ko": [each.right for each in chosen]}
        for split, chosen in zip(("train", "validation"), sentences(), strict=True)
    }


def from_its_state(model: nn.Module, batch: Batch, smoothing: float) -> Float[Tensor, ""]:
    """The answer, predicted from the encoder's state of "it" and nothing else.

    "it" is the fourth word from the end: "it was too tired".
    """
    assert isinstance(model, Transformer)
    memory = model.encode(batch.source, batch.source_allowed)
    lengths = (batch.source != PAD).sum(1) - 1  # without END
    rows = torch.arange(len(lengths))
    state = memory.states[rows, lengths - len(ENDING.split()) + 1]
    answer = batch.target_output[:, 0]
    return smoothed_cross_entropy(state, model.decoder.output.weight, answer, smoothing)


@torch.no_grad()
def looked(trained: Trained, sentence: Sentence) -> Float[Tensor, "layer head word"]:
    """How much "it" attends to each word, in every layer and head; one token is one word here."""
    pieces = trained.tokenizer.encode(sentence.text)
    it = sentence.text.split().index("it")
    seen: list[Tensor] = []

    def keep(_: str, attention: Attention) -> None:
        seen.append(attention.weights[0, :, it, : len(pieces)])

    with observe(trained.model, keep, sites_of(trained.model, "encoder").__contains__):
        trained.model.encode(torch.tensor([[*pieces, END]]))
    return torch.stack(seen)


@torch.no_grad()
def named(trained: Trained, sentence: Sentence) -> bool:
    """Whether the state of "it" names the right noun."""
    model, tokenizer = trained.transformer, trained.tokenizer
    states = model.encode(torch.tensor([[*tokenizer.encode(sentence.text), END]])).states
    logits = model.decoder.logits(states[0, sentence.text.split().index("it")])
    return tokenizer.decode([int(logits.argmax())]) == sentence.right


def at_nouns(
    weights: Float[Tensor, "layer head word"], sentence: Sentence
) -> tuple[Float[Tensor, "layer head"], Float[Tensor, "layer head"]]:
    """How much "it" attends to the right noun, and to the wrong one."""
    words = sentence.text.split()
    return weights[..., words.index(sentence.right)], weights[..., words.index(sentence.wrong)]


@dataclass(frozen=True)
class Preferred:
    """What is found of "it" in one encoder.

    Attributes:
        shares: (layer, head) of the second half of the sentences: in how many the right noun gets
            more attention.
        best: layer and head of the largest share in the first half.
        shown: two sentences that differ in their last word alone, and in what "it" is.
        grid: how much "it" attends to each of these words in the best head.
        given: the parts of that head's attention that the right noun gets, and the other: means.
    """

    shares: Float[Tensor, "layer head"]
    best: tuple[int, int]
    shown: tuple[str, str]
    grid: list[list[float]]
    given: tuple[float, float]

    @property
    def places(self) -> list[tuple[int, int]]:
        """Layer and head from 0: all of them, or of many those with the largest shares."""
        layers, heads = self.shares.shape
        every = [(layer, head) for layer in range(layers) for head in range(heads)]
        if len(every) <= MOST_ROWS:
            return every
        best_first = sorted(every, key=lambda at: (at != self.best, -float(self.shares[at])))
        return sorted(best_first[:MOST_ROWS])


def preferred(look: Callable[[Sentence], Tensor], held: Sequence[Sentence]) -> Preferred:
    """Which heads attend to the right noun; one half of the sentences chooses, the other judges."""
    weights = [at_nouns(look(each), each) for each in held]
    prefers = torch.stack([(right > wrong).float() for right, wrong in weights])
    half = round(len(held) * CHOSEN)
    chosen = prefers[:half].mean(0)
    layer, head = divmod(int(chosen.argmax()), chosen.shape[1])
    tired = "the animal did not cross the street because it was too tired"
    wide = tired.replace("tired", "wide")
    two = Sentence(tired, "animal", "street"), Sentence(wide, "street", "animal")
    grid = [look(each)[layer, head].tolist() for each in two]
    right, wrong = (
        mean([float(both[noun][layer, head]) for both in weights[half:]]) for noun in (0, 1)
    )
    return Preferred(prefers[half:].mean(0), (layer, head), (tired, wide), grid, (right, wrong))


def run(setting: Setting) -> Findings:
    """Trains an encoder, or takes one that was; reads it on combinations that it never saw."""
    _, held = sentences()
    if setting.encoder is not None:
        looks = looks_of(setting.encoder)
        found = preferred(lambda each: looks(each.text, each.text.split().index("it")), held)
        return report(found, None)
    held = held[:300]
    layers = {"encoder_layers": 2, "decoder_layers": 1}
    small = Small(
        layers, objective=from_its_state, corpus=write, tokenizer=TOKENIZER, tokens=256, steps=150
    )
    trained = train(small, setting.seed, setting.cache, setting.full)
    told = mean([float(named(trained, each)) for each in held])
    return report(preferred(lambda each: looked(trained, each), held), told)


def report(found: Preferred, told: float | None) -> Findings:
    """How often "it" attends more to the right noun, by layer and head.

    Args:
        told: in what share its state names the right noun; None: it was not trained to.
    """
    at_best, average = float(found.shares[found.best]), float(found.shares.mean())
    names = {
        (layer, head): Text(
            f"layer {layer + 1}, head {head + 1}", f"{layer + 1}층, 헤드 {head + 1}"
        )
        for layer, head in found.places
    }
    words = found.shown[0].split()
    where = names[found.best]
    rows: list[list[TableCell]] = [
        [name, float(found.shares[place])] for place, name in names.items()
    ]
    rows.append([Text("all heads, mean", "모든 헤드의 평균"), average])
    return Findings(
        columns=(
            Column(Text("from “it”", "“it”의 어텐션")),
            Column(Text("attends more to the right noun", "옳은 명사를 더 보는 비율"), ".1%"),
        ),
        rows=rows,
        figures={
            **({} if told is None else {"named_rightly": told}),
            "best": list(found.best),
            "looks_at_right": at_best,
            "weight_of_right": found.given[0],
            "weight_of_wrong": found.given[1],
            "mean_over_heads": average,
            "shares": found.shares.tolist(),
        },
        conditions=(Condition(Text("prefers the right noun", "옳은 명사"), [at_best], RIGHT),),
        sentence=_sentence(found, told, where),
        panels=(
            Grid(
                Text(f"Attention of “it”: {where.en}", f"“it”이 보는 곳: {where.ko}"),
                ["... tired", "... wide"],
                [*words[:-1], "tired / wide"],
                found.grid,
                Text("the sentence ends in", "문장의 끝"),
                Text("word", "단어"),
                framed=[(0, words.index("animal")), (1, words.index("street"))],
            ),
            Bars(
                Text("Attends more to the right noun", "옳은 명사를 더 보는 비율"),
                Text("share of sentences (chance: 0.5)", "문장의 비율 (우연: 0.5)"),
                [(name, float(found.shares[place])) for place, name in names.items()],
            ),
        ),
    )


def _sentence(found: Preferred, told: float | None, where: Text) -> Text:
    at_best, average = float(found.shares[found.best]), float(found.shares.mean())
    right, wrong = found.given
    known = (
        Text(
            "This encoder was never trained to resolve “it”.",
            "이 인코더는 “it”이 무엇인지 배운 적이 없습니다.",
        )
        if told is None
        else Text(
            f"In {told:.0%} of the sentences with unseen combinations the state of “it” predicts "
            "the right noun.",
            f"학습에 없던 조합의 문장에서도 “it”의 은닉 상태만으로 옳은 명사를 {told:.0%} "
            "맞힙니다.",
        )
    )
    return Text(
        f"{known.en} The head chosen on one half of the sentences ({where.en}) attends more to the "
        f"right noun than to the other in {at_best:.0%} of the other half (chance: 50%), with "
        f"{right:.0%} of its attention against {wrong:.0%}; the mean over all heads is "
        f"{average:.0%}. A single head found by a search is not “the attention”.",
        f"{known.ko} 앞 절반의 문장으로 고른 헤드({where.ko})는 뒤 절반의 {at_best:.0%}에서 다른 "
        f"명사보다 옳은 명사를 더 봅니다(우연: 50%). 어텐션의 {right:.0%}가 옳은 명사에, "
        f"{wrong:.0%}가 다른 명사에 갑니다. 옳은 명사를 더 보는 비율은 모든 헤드의 평균으로는 "
        f"{average:.0%}입니다. 찾아서 고른 헤드 하나가 ‘어텐션’ 전체를 대표하지는 않습니다.",
    )
