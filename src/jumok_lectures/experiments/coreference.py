"""What does "it" look at?

"The animal didn't cross the street, because it was too tired": the notes say that attention
links "it" with the animal. Whether an answer is right can be known only where sentences are made
so: here an animal or a person meets a place or a thing, and the last word decides which of the
two "it" is (tired: the animal; wide: the street). Both come first and second equally often, so
that nothing but the meaning tells. Three kinds of model are read, on combinations that training
never had. One is taught: it learns to name the answer from the encoder's state of "it" alone, so
that attention is the only way. One is not: a translator into Korean, whose target says the noun
again and does not say where to find it; that is what the notes speak of. And one that was trained
elsewhere, if it is given: `jumok lab coreference --encoder FOLDER`.

Source: the example is of Uszkoreit 2017, "Transformer: A Novel Neural Network Architecture for
Language Understanding"; lecture 001.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import nn

from jumok.attention.observe import Attention, observe, sites_of
from jumok.config.data import TokenizerConfig
from jumok.data.pairs.batches import Batch
from jumok.data.tokenizer import END, PAD
from jumok.kernels.cross_entropy import smoothed_cross_entropy
from jumok.models.encoder_decoder import Transformer
from jumok.shapes import Float, Tensor
from jumok.training.precision import one_thread
from jumok_lectures.findings import Findings, Setting, TableCell
from jumok_lectures.judging import cells, mean
from jumok_lectures.loaded import by_words, looks_of
from jumok_lectures.pronouns import ENDING, Sentence, sentences, write, write_translations
from jumok_lectures.small import Small, Trained, trained
from jumok_lectures.texts import Texts

T = Texts("coreference")

NAMES = T.named("names")
CHOSEN = 0.5  # the part of the held-out sentences that chooses layer and head
# With so few words, this many merges make every word one token.
TOKENIZER = TokenizerConfig(kind="bpe", size=180, byte_fallback=False)
TRANSLATORS = TokenizerConfig(kind="bpe", size=320, byte_fallback=False)


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
    """How much "it" attends to each word, in every layer and head."""
    pieces = trained.tokenizer.encode(sentence.text)
    seen: list[Tensor] = []

    def keep(_: str, attention: Attention) -> None:
        seen.append(attention.weights[0, :, : len(pieces), : len(pieces)])

    with observe(trained.model, keep, sites_of(trained.model, "encoder").__contains__):
        trained.model.encode(torch.tensor([[*pieces, END]]))
    it = sentence.text.split().index("it")
    return by_words(torch.stack(seen), trained.tokenizer.words(pieces), sentence.text, it)


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
    """What "it" attends to in one encoder.

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


@dataclass(frozen=True)
class PronounFindings:
    """Its attention, and in what share its answer names the right noun."""

    heads: Preferred
    told: float | None


def read(trained: Trained, taught: bool, tested: int, translated: int) -> PronounFindings:
    """Reads the attention and the answers of one model, which was taught to name the noun or not.

    Args:
        tested: sentences that are read.
        translated: of these, how many are translated.
    """
    held = sentences()[1][:tested]
    with one_thread():
        heads = preferred(lambda each: looked(trained, each), held)
        if taught:
            told = mean([float(named(trained, each)) for each in held])
        else:
            some = held[:translated]
            texts = trained.translate([each.text for each in some])
            endings = [each.korean.split()[-4:-3] for each in some]
            told = mean(
                [
                    float(text.split()[-4:-3] == ending)
                    for text, ending in zip(texts, endings, strict=True)
                ]
            )
    return PronounFindings(heads, told)


LAYERS = {"encoder_layers": 2, "decoder_layers": 1}
TAUGHT = Small(
    LAYERS, objective=from_its_state, corpus=write, tokenizer=TOKENIZER, tokens=256, steps=300
)
TRANSLATOR = Small(LAYERS, corpus=write_translations, tokenizer=TRANSLATORS, steps=200)


def run(
    setting: Setting,
    taught: Small = TAUGHT,
    translator: Small = TRANSLATOR,
    tested: int = 300,
    translated: int = 100,
) -> Findings:
    """Trains both with every seed and reads them, and the encoder that was given."""
    setting.say("training: taught encoders, and translators")
    runs = trained({"taught": taught, "translator": translator}, setting)
    jobs = {
        name: [partial(read, model, name == "taught", tested, translated) for model in models]
        for name, models in runs.items()
    }
    reads = setting.map(jobs)
    if setting.encoder is not None:
        looks = looks_of(setting.encoder)
        held = sentences()[1][:tested]
        given = preferred(lambda each: looks(each.text, each.text.split().index("it")), held)
        reads["given"] = [PronounFindings(given, None)]
    return report(reads)


def report(reads: dict[str, list[PronounFindings]]) -> Findings:
    """How often "it" attends more to the right noun, model by model."""
    best = {
        name: [float(each.heads.shares[each.heads.best]) for each in own]
        for name, own in reads.items()
    }
    answers = {
        name: [each.told for each in own if each.told is not None] for name, own in reads.items()
    }
    rows: list[list[TableCell]] = []
    for name, own in reads.items():
        right, wrong = (mean([each.heads.given[noun] for each in own]) for noun in (0, 1))
        every = mean([float(each.heads.shares.mean()) for each in own])
        told = mean(answers[name]) if answers[name] else None
        rows.append([NAMES[name], *cells(best[name]), every, right, wrong, told])
    shown = reads["translator"][0].heads
    words = shown.shown[0].split()
    layer, head = (place + 1 for place in shown.best)
    needed = T.bound("prefers_the_right_noun")
    return T.findings(
        rows=rows,
        figures={
            name: {
                "best": [list(each.heads.best) for each in own],
                "looks_at_right": best[name],
                "weights": [list(each.heads.given) for each in own],
                "named_rightly": [each.told for each in own],
                "shares": [each.heads.shares.tolist() for each in own],
            }
            for name, own in reads.items()
        },
        conditions=[
            T.condition("prefers_the_right_noun", values, name=NAMES[name])
            for name, values in best.items()
        ],
        panels=[
            T.grid(
                ["... tired", "... wide"],
                [*words[:-1], "tired / wide"],
                shown.grid,
                title=T("grid_title", layer=layer, head=head),
                framed=[(0, words.index("animal")), (1, words.index("street"))],
            ),
            T.bars([(NAMES[name], values) for name, values in best.items()]),
        ],
        best=best,
        answers=answers,
        needed=needed,
        models=len(best["taught"]),
        above={name: sum(each > needed for each in values) for name, values in best.items()},
        given=T("the_given_encoder", share=best["given"][0]) if "given" in best else "",
    )
