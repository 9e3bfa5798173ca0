"""What each target word attended to: alignment extracted from attention.

The notes show English-French as a near diagonal with a crossing here and there; a crossing means
that attention found another order. Korean puts its verb last and its particles after, so
English-Korean crosses much more. Read are a Transformer and an RNN with Bahdanau's attention, as
lecture 004 has it, on English-Korean. The place to read (layer, head, and the step that writes or
the one that reads a word) is chosen on one half of the sentences and judged on the other, against
the diagonal: the source word at the same share of the sentence. And it is counted how often the
links that attention gives cross. A translator that was trained elsewhere is read in the same way:
`jumok lab alignment --encoder FOLDER`.

The long form reads a larger model of English-French, trained on Tatoeba's sentences, on the
Hansards' gold links.

Source: Bahdanau et al. 2015, figure 3; Kobayashi et al. 2020 (which step); lectures 000, 004.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path

import torch

from jumok.alignment.words import GoldLinks, Link, links, merge_words
from jumok.attention.observe import Attention, observe
from jumok.config.data import TokenizerConfig
from jumok.data.tokenizer import END, START, Tokenizer
from jumok.evaluation.alignment import score_links
from jumok.models.memory import SequenceToSequence
from jumok.shapes import Float, Tensor
from jumok.training.precision import one_thread
from jumok_lectures import tatoeba, world
from jumok_lectures.findings import Bars, Findings, Grid, Setting, TableCell
from jumok_lectures.judging import Condition, half_width, mean, with_interval
from jumok_lectures.loaded import translator_of
from jumok_lectures.small import Small, trained
from jumok_lectures.text import LANGUAGES, Text
from jumok_lectures.texts import Texts

T = Texts("alignment")

SENTENCES = 200  # one half chooses, the other judges
LONG_STEPS = 1_200
LARGER = {"dim": 128, "encoder_layers": 3, "decoder_layers": 3, "feedforward": 512}
RNN = {
    "kind": "rnn",
    "cell": "gru",
    "dim": 128,
    "embedding": 64,
    "dropout": 0.0,
    "attention": "additive",
    "order": "bahdanau",
}

NAMES = T.named("names")

# What is compared: sentences of both sides, and their gold links.
Pairs = Sequence[tuple[str, str, GoldLinks]]

ENGLISH, KOREAN, FRENCH = (T("english"), T("korean"), T("french"))


@dataclass(frozen=True)
class TriedSetting:
    """An alignment setting: a layer, a head (None: the mean of all), and the step."""

    layer: int
    head: int | None
    at_input: bool

    @property
    def name(self) -> Text:
        """In words."""
        head = T("head")
        if self.head is not None:
            head = T("head_2", head=self.head + 1)
        step = T("reading") if self.at_input else T("writing")
        return T("name", layer=self.layer + 1, head=head, step=step)


def crossing(sentences: Iterable[Sequence[Link]]) -> float:
    """The share of pairs of links that cross: one word before the other here, after it there."""
    crossed = together = 0
    for alignment in sentences:
        for (s, t), (other_s, other_t) in combinations(alignment, 2):
            if s != other_s and t != other_t:
                together += 1
                crossed += (s < other_s) != (t < other_t)
    return crossed / together if together else 0.0


@torch.no_grad()
def seen(
    model: SequenceToSequence, tokenizer: Tokenizer, source: str, target: str
) -> dict[TriedSetting, Float[Tensor, "target_words source_words"]]:
    """How much each target word attended to each source word, for every setting."""
    read, write = tokenizer.encode(source), tokenizer.encode(target)
    kept: dict[str, list[Tensor]] = {}

    def keep(site: str, attention: Attention) -> None:
        kept.setdefault(site, []).append(attention.weights[0])  # (heads query key)

    memory = model.encode(torch.tensor([[*read, END]]))
    with observe(model, keep, model.cross_sites.__contains__):
        model.decoder.hidden(memory, torch.tensor([[START, *write]]))
    found = {}
    words = tokenizer.words(read), tokenizer.words(write)
    for layer, steps in enumerate(kept.values()):
        weights = torch.cat(steps, dim=1)  # an RNN attends step by step
        heads: list[int | None] = [None, *range(weights.shape[0])]
        for head in heads:
            of_head = weights.mean(0) if head is None else weights[head]
            for at_input in (False, True):
                rows = of_head[1:] if at_input else of_head[:-1]
                place = TriedSetting(layer, head, at_input)
                found[place] = merge_words(rows[:, : len(read)], *words)
    return found


@dataclass(frozen=True)
class JudgedAlignment:
    """One model's alignments.

    Attributes:
        best: the setting with the lowest error in the first half.
        error: its alignment error rate in the second half.
        chosen_error: the same in the half that chose it.
        crosses: the share of pairs of its links that cross, in the second half.
        grid: how much each word of the sentence that is shown attended to each.
    """

    best: TriedSetting
    error: float
    chosen_error: float
    crosses: float
    grid: Float[Tensor, "target_words source_words"]


@dataclass(frozen=True)
class AlignmentRun:
    """A model, and the sentences to read it on."""

    model: SequenceToSequence
    tokenizer: Tokenizer
    pairs: Pairs


def judge(reading: AlignmentRun) -> JudgedAlignment:
    """Chooses a setting on one half of the sentences, and judges it on the other."""
    with one_thread():
        looked = [
            seen(reading.model, reading.tokenizer, source, target)
            for source, target, _ in reading.pairs
        ]
    gold = [each for *_, each in reading.pairs]
    half = len(gold) // 2

    def error(place: TriedSetting, rows: slice) -> float:
        found = [links(each[place]) for each in looked[rows]]
        return score_links(found, gold[rows]).error_rate

    first, second = slice(half), slice(half, None)
    best = min(looked[0], key=lambda place: error(place, first))
    return JudgedAlignment(
        best,
        error(best, second),
        error(best, first),
        crossing([sorted(links(each[best])) for each in looked[second]]),
        looked[_shown(reading.pairs)][best],
    )


def diagonal(pairs: Pairs) -> float:
    """The error rate of linking every target word to the source word at the same share."""
    guessed = []
    for source, target, _ in pairs:
        here, there = len(source.split()), len(target.split())
        guessed.append({(place * here // there, place) for place in range(there)})
    return score_links(guessed, [gold for *_, gold in pairs]).error_rate


def run(setting: Setting) -> Findings:
    """Trains both with every seed, and judges them, and the translator that was given."""
    *sides, known = world.read(setting.cache, "test")
    sure = [GoldLinks(frozenset(each), frozenset(each)) for each in known]
    korean: Pairs = list(zip(*sides, sure, strict=True))[:SENTENCES]
    data = setting.data if setting.data and (setting.data / tatoeba.LINKS).exists() else None
    french = tatoeba.gold(data) if data else None
    smalls = [Small(), Small(RNN)]
    if setting.full and data and french:
        smalls.append(_french(data))
    setting.say(f"training: {len(smalls)} translators")
    names = list(NAMES)[: len(smalls)]
    runs = trained(smalls, setting)
    jobs = [
        AlignmentRun(run.model, run.tokenizer, french if name == "french" and french else korean)
        for name, of_name in zip(names, runs, strict=True)
        for run in of_name
    ]
    made, many = setting.workers.map(judge, jobs), len(setting.seeds)
    found = {name: made[many * place : many * (place + 1)] for place, name in enumerate(names)}
    if setting.encoder is not None:
        translator = translator_of(setting.encoder)
        found["given"] = [judge(AlignmentRun(translator.models[0], translator.tokenizer, korean))]
    second = korean[len(korean) // 2 :]
    gold = GoldFigures(
        diagonal(second), crossing(_sure(second)), crossing(_sure(french)) if french else None
    )
    grid = _grid(korean[_shown(korean)], found["transformer"][0].grid, KOREAN)
    return report(found, gold, grid)


def _french(data: Path) -> Small:
    return Small(
        LARGER,
        corpus=partial(tatoeba.write, data),
        target="fr",
        tokenizer=TokenizerConfig(size=6_000),
        steps=LONG_STEPS,
        tokens=2_048,
    )


@dataclass(frozen=True)
class GoldFigures:
    """What attention is held against: the diagonal's error, and how often gold links cross."""

    diagonal: float
    korean: float
    french: float | None


def _sure(pairs: Pairs) -> list[list[Link]]:
    return [sorted(gold.sure) for *_, gold in pairs]


def _shown(pairs: Pairs) -> int:
    """The sentence that crosses most, of those with at most eight words."""
    short = [row for row, (source, *_) in enumerate(pairs) if len(source.split()) <= 8]
    links = _sure(pairs)
    return max(short, key=lambda row: (crossing([links[row]]), len(links[row])))


def _grid(pair: tuple[str, str, GoldLinks], weights: Tensor, language: Text) -> Grid:
    source, target, gold = pair
    return Grid(
        T("grid_title", language=language),
        target.split(),
        source.split(),
        weights.tolist(),
        language,
        ENGLISH,
        framed=[(there, here) for here, there in sorted(gold.sure)],
    )


def report(found: dict[str, list[JudgedAlignment]], gold: GoldFigures, grid: Grid) -> Findings:
    """The error rate of every model, and how often its links cross."""
    errors = {name: [each.error for each in of_name] for name, of_name in found.items()}
    crosses = {name: [each.crosses for each in of_name] for name, of_name in found.items()}
    diagonal_name = T("diagonal_name")
    rows: list[list[TableCell]] = [
        [
            NAMES[name],
            of_name[0].best.name,
            mean([each.chosen_error for each in of_name]),
            mean(errors[name]),
            half_width(errors[name]),
            mean(crosses[name]),
        ]
        for name, of_name in found.items()
    ]
    rows.append([diagonal_name, "", None, gold.diagonal, None, 0.0])
    return Findings(
        columns=T.columns,
        rows=rows,
        figures={
            "error_rates": errors,
            "diagonal": gold.diagonal,
            "crossing": {**crosses, "gold en-ko": gold.korean, "gold en-fr": gold.french},
            "settings": {
                name: [each.best.name.en for each in of_name] for name, of_name in found.items()
            },
        },
        conditions=_conditions(errors, crosses, gold),
        sentence=_sentence(errors, crosses, gold),
        panels=(
            grid,
            T.bars(
                [
                    *((NAMES[name], values) for name, values in errors.items()),
                    (diagonal_name, gold.diagonal),
                ],
                "_2",
            ),
            *_crossing_bars(gold.korean, gold.french),
        ),
    )


def _conditions(
    errors: dict[str, list[float]], crosses: dict[str, list[float]], gold: GoldFigures
) -> list[Condition]:
    found = []
    for name in ("transformer", "rnn"):
        found += [
            T.condition(
                "name_error_below_the",
                [gold.diagonal - error for error in errors[name]],
                name=NAMES[name],
            ),
            T.condition(
                "name_its_links_cross",
                [each / gold.korean for each in crosses[name]],
                name=NAMES[name],
            ),
        ]
    if gold.french is not None:
        found.append(T.condition("gold_links_cross_korean", [gold.korean / gold.french]))
    return found


def _sentence(
    errors: dict[str, list[float]], crosses: dict[str, list[float]], gold: GoldFigures
) -> Text:
    there = ", and gold links of English-French were not at hand (JUMOK_DATA)"
    there_ko = ". 영어-프랑스어의 정답 정렬은 없었습니다(JUMOK_DATA)"
    if gold.french is not None:
        there = f" and {gold.french:.0%} in English-French (Hansards)"
        there_ko = f", 영어-프랑스어(Hansards)에서는 {gold.french:.0%}입니다"
    told = [
        f"{with_interval(errors[name])} ({with_interval(crosses[name], '.0%')})" for name in errors
    ]
    named, named_ko = (
        ", ".join(f"{NAMES[n].of(language)} {each}" for n, each in zip(errors, told, strict=True))
        for language in LANGUAGES
    )
    return T(
        "sentence",
        korean=gold.korean,
        there=there,
        named=named,
        diagonal=gold.diagonal,
        there_ko=there_ko,
        named_ko=named_ko,
    )


def _crossing_bars(korean: float, french: float | None) -> list[Bars]:
    both = [("English-Korean", "영어-한국어", korean), ("English-French", "영어-프랑스어", french)]
    return [
        Bars(
            T("bars_title"),
            T("bars_x"),
            [(Text(en, ko), value) for en, ko, value in both if value is not None],
        )
    ]
