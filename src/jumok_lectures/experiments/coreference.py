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
from jumok_lectures.findings import Bars, Findings, Grid, Setting, TableCell
from jumok_lectures.judging import half_width, mean, with_interval
from jumok_lectures.loaded import by_words, looks_of
from jumok_lectures.pronouns import ENDING, Sentence, sentences, write, write_translations
from jumok_lectures.small import Small, Trained, trained
from jumok_lectures.text import Text
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
class PronounRun:
    """A model, whether it was taught to name the noun, and how much it reads and translates."""

    model: Trained
    taught: bool
    tested: int
    translated: int


@dataclass(frozen=True)
class PronounFindings:
    """What was found of it: its attention, and in what share its answer names the right noun."""

    found: Preferred
    told: float | None


def read(reading: PronounRun) -> PronounFindings:
    """Reads the attention and the answers of one model."""
    held, trained = sentences()[1][: reading.tested], reading.model
    with one_thread():
        found = preferred(lambda each: looked(trained, each), held)
        if reading.taught:
            told = mean([float(named(trained, each)) for each in held])
        else:
            some = held[: reading.translated]
            texts = trained.translate([each.text for each in some])
            endings = [each.korean.split()[-4:-3] for each in some]
            told = mean(
                [
                    float(text.split()[-4:-3] == ending)
                    for text, ending in zip(texts, endings, strict=True)
                ]
            )
    return PronounFindings(found, told)


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
    trained_ones = trained([taught, translator], setting)
    jobs = [
        PronounRun(model, place == 0, tested, translated)
        for place, models in enumerate(trained_ones)
        for model in models
    ]
    found, many = setting.workers.map(read, jobs), len(setting.seeds)
    reads = {"taught": found[:many], "translator": found[many:]}
    if setting.encoder is not None:
        looks = looks_of(setting.encoder)
        held = sentences()[1][:tested]
        given = preferred(lambda each: looks(each.text, each.text.split().index("it")), held)
        reads["given"] = [PronounFindings(given, None)]
    return report(reads)


def report(reads: dict[str, list[PronounFindings]]) -> Findings:
    """How often "it" attends more to the right noun, model by model."""
    best = {
        name: [float(each.found.shares[each.found.best]) for each in of_name]
        for name, of_name in reads.items()
    }
    rows: list[list[TableCell]] = []
    for name, of_name in reads.items():
        right, wrong = (mean([each.found.given[noun] for each in of_name]) for noun in (0, 1))
        told = [each.told for each in of_name if each.told is not None]
        every = mean([float(each.found.shares.mean()) for each in of_name])
        shares = [mean(best[name]), half_width(best[name]), every, right, wrong]
        rows.append([NAMES[name], *shares, mean(told) if told else None])
    shown = reads["translator"][0].found
    return Findings(
        columns=T.columns,
        rows=rows,
        figures={
            name: {
                "best": [list(each.found.best) for each in of_name],
                "looks_at_right": best[name],
                "weights": [list(each.found.given) for each in of_name],
                "named_rightly": [each.told for each in of_name],
                "shares": [each.found.shares.tolist() for each in of_name],
            }
            for name, of_name in reads.items()
        },
        conditions=[
            T.condition("prefers_the_right_noun", values, name=NAMES[name])
            for name, values in best.items()
        ],
        sentence=_sentence(reads, best),
        panels=(_grid(shown), _bars(best)),
    )


def _grid(found: Preferred) -> Grid:
    words = found.shown[0].split()
    layer, head = (place + 1 for place in found.best)
    return Grid(
        T("grid_title", layer=layer, head=head),
        ["... tired", "... wide"],
        [*words[:-1], "tired / wide"],
        found.grid,
        T("grid_row"),
        T("grid_column"),
        framed=[(0, words.index("animal")), (1, words.index("street"))],
    )


def _bars(best: dict[str, list[float]]) -> Bars:
    return T.bars([(NAMES[name], values) for name, values in best.items()])


def _sentence(reads: dict[str, list[PronounFindings]], best: dict[str, list[float]]) -> Text:
    def told(name: str) -> str:
        return with_interval([each.told or 0.0 for each in reads[name]], ".0%")

    given, given_ko = "", ""
    if "given" in best:
        given = f" The given encoder: {best['given'][0]:.0%}."
        given_ko = f" 주어진 인코더는 {best['given'][0]:.0%}입니다."
    taught, translator = (with_interval(best[name], ".0%") for name in ("taught", "translator"))
    return T(
        "sentence",
        taught=taught,
        told_taught=told("taught"),
        translator=translator,
        told_translator=told("translator"),
        given=given,
        given_ko=given_ko,
    )
