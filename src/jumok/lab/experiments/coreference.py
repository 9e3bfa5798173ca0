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
from jumok.lab.findings import Bars, Column, Findings, Grid, Setting, TableCell
from jumok.lab.judging import Condition, half_width, mean, with_interval
from jumok.lab.loaded import by_words, looks_of
from jumok.lab.pronouns import ENDING, Sentence, sentences, write, write_translations
from jumok.lab.small import Small, Trained, trained
from jumok.lab.text import Text
from jumok.models.encoder_decoder import Transformer
from jumok.shapes import Float, Tensor
from jumok.training.precision import one_thread

NAMES = {
    "taught": Text("taught to name the noun", "명사를 맞히도록 배운 인코더"),
    "translator": Text("translator, not taught", "번역 모델, 배우지 않음"),
    "given": Text("given encoder, not taught", "주어진 인코더, 배우지 않음"),
}
CHOSEN = 0.5  # the part of the held-out sentences that chooses layer and head
# With so few words, this many merges make every word one token.
TOKENIZER = TokenizerConfig(kind="bpe", size=180, byte_fallback=False)
TESTED, TRANSLATED, STEPS = 300, 100, 200
TRANSLATORS = TokenizerConfig(kind="bpe", size=320, byte_fallback=False)
RIGHT = 0.6  # the claim: the best head looks more at the right noun in this share (chance: 0.5)


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
    """A model, and whether it was taught to name the noun."""

    model: Trained
    taught: bool


@dataclass(frozen=True)
class PronounFindings:
    """What was found of it: its attention, and in what share its answer names the right noun."""

    found: Preferred
    told: float | None


def read(reading: PronounRun) -> PronounFindings:
    """Reads the attention and the answers of one model."""
    held, trained = sentences()[1][:TESTED], reading.model
    with one_thread():
        found = preferred(lambda each: looked(trained, each), held)
        if reading.taught:
            told = mean([float(named(trained, each)) for each in held])
        else:
            some = held[:TRANSLATED]
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
TRANSLATOR = Small(LAYERS, corpus=write_translations, tokenizer=TRANSLATORS, steps=STEPS)


def run(setting: Setting) -> Findings:
    """Trains both with every seed and reads them, and the encoder that was given."""
    setting.say("training: taught encoders, and translators")
    trained_ones = trained([TAUGHT, TRANSLATOR], setting)
    jobs = [
        PronounRun(model, place == 0)
        for place, models in enumerate(trained_ones)
        for model in models
    ]
    found, many = setting.workers.map(read, jobs), len(setting.seeds)
    reads = {"taught": found[:many], "translator": found[many:]}
    if setting.encoder is not None:
        looks = looks_of(setting.encoder)
        held = sentences()[1][:TESTED]
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
        columns=(
            Column(Text("model", "모델")),
            Column(
                Text("chosen head prefers the right noun", "고른 헤드가 옳은 명사를 더 봄"), ".0%"
            ),
            Column(Text("± (95 %)", "± (95%)"), ".0%"),
            Column(Text("mean over all heads", "모든 헤드의 평균"), ".0%"),
            Column(Text("its attention on the right noun", "옳은 명사에 준 어텐션"), ".0%"),
            Column(Text("on the other", "다른 명사에 준 어텐션"), ".0%"),
            Column(Text("answer names the right noun", "답이 옳은 명사를 말함"), ".0%"),
        ),
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
            Condition(
                Text(
                    f"prefers the right noun: {NAMES[name].en}",
                    f"옳은 명사를 더 봄: {NAMES[name].ko}",
                ),
                values,
                RIGHT,
                form=".0%",
            )
            for name, values in best.items()
        ],
        sentence=_sentence(reads, best),
        panels=(_grid(shown), _bars(best)),
    )


def _grid(found: Preferred) -> Grid:
    words = found.shown[0].split()
    layer, head = (place + 1 for place in found.best)
    return Grid(
        Text(
            f"The translator's “it”: layer {layer}, head {head}",
            f"번역 모델의 “it”: {layer}층, 헤드 {head}",
        ),
        ["... tired", "... wide"],
        [*words[:-1], "tired / wide"],
        found.grid,
        Text("the sentence ends in", "문장의 끝"),
        Text("word", "단어"),
        framed=[(0, words.index("animal")), (1, words.index("street"))],
    )


def _bars(best: dict[str, list[float]]) -> Bars:
    return Bars(
        Text("Attends more to the right noun", "옳은 명사를 더 보는 비율"),
        Text("share of sentences (chance: 0.5), ± 95 %", "문장의 비율 (우연: 0.5), ± 95%"),
        [(NAMES[name], mean(values)) for name, values in best.items()],
        spread=[half_width(values) or 0.0 for values in best.values()],
    )


def _sentence(reads: dict[str, list[PronounFindings]], best: dict[str, list[float]]) -> Text:
    def told(name: str) -> str:
        return with_interval([each.told or 0.0 for each in reads[name]], ".0%")

    given, given_ko = "", ""
    if "given" in best:
        given = f" The given encoder: {best['given'][0]:.0%}."
        given_ko = f" 주어진 인코더는 {best['given'][0]:.0%}입니다."
    taught, translator = (with_interval(best[name], ".0%") for name in ("taught", "translator"))
    return Text(
        "The head chosen on one half of the sentences attends more to the right noun than to the "
        f"other in {taught} of the other half where the encoder was taught to name it (its answer "
        f"is right in {told('taught')}), and in {translator} in a translator, whose Korean names "
        f"the right noun in {told('translator')} (chance: 50%).{given} A single head found by a "
        "search is not “the attention”.",
        f"앞 절반의 문장으로 고른 헤드가 뒤 절반에서 다른 명사보다 옳은 명사를 더 보는 비율은, "
        f"명사를 맞히도록 배운 인코더에서 {taught}(답의 정답률 {told('taught')}), 배우지 않은 번역 "
        f"모델에서 {translator}(한국어 문장이 옳은 명사를 말하는 비율 {told('translator')})입니다. "
        f"우연은 50%입니다.{given_ko} 찾아서 고른 헤드 하나가 ‘어텐션’ 전체를 대표하지는 않습니다.",
    )
