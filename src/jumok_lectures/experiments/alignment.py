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

import torch

from jumok.alignment.words import GoldLinks, Link, Weights, links, merge_words
from jumok.attention.observe import Attention, observe
from jumok.config.data import TokenizerConfig
from jumok.data.tokenizer import END, START, Tokenizer
from jumok.evaluation.alignment import score_links
from jumok.models.memory import SequenceToSequence
from jumok.shapes import Tensor
from jumok.training.precision import one_thread
from jumok_lectures import tatoeba, world
from jumok_lectures.findings import Findings, Grid, Setting, TableCell
from jumok_lectures.judging import cells, mean
from jumok_lectures.loaded import translator_of
from jumok_lectures.small import Small, trained
from jumok_lectures.text import Text, joined
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
) -> dict[TriedSetting, Weights]:
    """How much each target word attended to each source word, for every setting."""
    read, write = tokenizer.encode(source), tokenizer.encode(target)
    kept: dict[str, list[Tensor]] = {}

    def keep(site: str, attention: Attention) -> None:
        kept.setdefault(site, []).append(attention.weights[0])  # (heads query key)

    memory = model.encode(torch.tensor([[*read, END]]))
    with observe(model, keep, model.cross_sites.__contains__):
        model.decoder.hidden(memory, torch.tensor([[START, *write]]))
    weights_at = {}
    words = tokenizer.words(read), tokenizer.words(write)
    for layer, steps in enumerate(kept.values()):
        weights = torch.cat(steps, dim=1)  # an RNN attends step by step
        heads: list[int | None] = [None, *range(weights.shape[0])]
        for head in heads:
            of_head = weights.mean(0) if head is None else weights[head]
            for at_input in (False, True):
                rows = of_head[1:] if at_input else of_head[:-1]
                place = TriedSetting(layer, head, at_input)
                of_tokens = rows[:, : len(read)].detach().numpy()
                weights_at[place] = merge_words(of_tokens, *words)
    return weights_at


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
    grid: Weights


def judge(model: SequenceToSequence, tokenizer: Tokenizer, pairs: Pairs) -> JudgedAlignment:
    """Chooses a setting on one half of the sentences, and judges it on the other."""
    with one_thread():
        looked = [seen(model, tokenizer, source, target) for source, target, _ in pairs]
    gold = [each for *_, each in pairs]
    half = len(gold) // 2

    def error(place: TriedSetting, rows: slice) -> float:
        return score_links([links(each[place]) for each in looked[rows]], gold[rows]).error_rate

    first, second = slice(half), slice(half, None)
    best = min(looked[0], key=lambda place: error(place, first))
    return JudgedAlignment(
        best,
        error(best, second),
        error(best, first),
        crossing([sorted(links(each[best])) for each in looked[second]]),
        looked[_shown(pairs)][best],
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
    smalls = {"transformer": Small(), "rnn": Small(RNN)}
    if setting.full and data and french:
        smalls["french"] = Small(
            LARGER,
            corpus=partial(tatoeba.write, data),
            target="fr",
            tokenizer=TokenizerConfig(size=6_000),
            steps=LONG_STEPS,
            tokens=2_048,
        )
    setting.say(f"training: {len(smalls)} translators")
    jobs = {
        name: [
            partial(
                judge, run.model, run.tokenizer, french if name == "french" and french else korean
            )
            for run in runs
        ]
        for name, runs in trained(smalls, setting).items()
    }
    judged = setting.map(jobs)
    if setting.encoder is not None:
        translator = translator_of(setting.encoder)
        judged["given"] = [judge(translator.models[0], translator.tokenizer, korean)]
    second = korean[len(korean) // 2 :]
    gold = GoldFigures(
        diagonal(second), crossing(_sure(second)), crossing(_sure(french)) if french else None
    )
    grid = _grid(korean[_shown(korean)], judged["transformer"][0].grid)
    return report(judged, gold, grid)


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


def _grid(pair: tuple[str, str, GoldLinks], weights: Weights) -> Grid:
    source, target, gold = pair
    framed = [(there, here) for here, there in sorted(gold.sure)]
    return T.grid(target.split(), source.split(), weights.tolist(), framed=framed)


def report(judged: dict[str, list[JudgedAlignment]], gold: GoldFigures, grid: Grid) -> Findings:
    """The error rate of every model, and how often its links cross."""
    errors = {name: [each.error for each in own] for name, own in judged.items()}
    crosses = {name: [each.crosses for each in own] for name, own in judged.items()}
    rows: list[list[TableCell]] = [
        [
            NAMES[name],
            own[0].best.name,
            mean([each.chosen_error for each in own]),
            *cells(errors[name]),
            mean(crosses[name]),
        ]
        for name, own in judged.items()
    ]
    conditions = []
    for name in ("transformer", "rnn"):
        below = [gold.diagonal - error for error in errors[name]]
        over = [each / gold.korean for each in crosses[name]]
        conditions += [
            T.condition("name_error_below_the", below, name=NAMES[name]),
            T.condition("name_its_links_cross", over, name=NAMES[name]),
        ]
    there, links = T("no_french"), [(T("english_korean"), gold.korean)]
    if gold.french is not None:
        conditions.append(T.condition("gold_links_cross_korean", [gold.korean / gold.french]))
        there = T("in_french", share=gold.french)
        links.append((T("english_french"), gold.french))
    diagonal_name = T("diagonal_name")
    bars: list[tuple[Text, Sequence[float] | float]] = [
        *((NAMES[name], own) for name, own in errors.items()),
        (diagonal_name, gold.diagonal),
    ]
    return T.findings(
        rows=[*rows, [diagonal_name, "", None, gold.diagonal, None, 0.0]],
        figures={
            "error_rates": errors,
            "diagonal": gold.diagonal,
            "crossing": {**crosses, "gold en-ko": gold.korean, "gold en-fr": gold.french},
            "settings": {name: [each.best.name.en for each in own] for name, own in judged.items()},
        },
        conditions=conditions,
        panels=[grid, T.bars(bars, "_2"), T.bars(links)],
        korean=gold.korean,
        there=there,
        models=joined(
            (
                T("model", name=NAMES[name], error=errors[name], crosses=crosses[name])
                for name in errors
            ),
            "; ",
        ),
        diagonal=gold.diagonal,
    )
