"""Where each target word looked: alignment read from attention.

The notes show English-French as a near diagonal with a crossing here and there. Korean puts its
verb last and its particles after, so English-Korean crosses. Tried: how much gold links cross in
both pairs; and, in a model trained on English-Korean, how well attention finds the links: at the
step that writes a word and at the step that reads it, by layer and by head.

Source: Bahdanau et al. 2015, figure 3; Kobayashi et al. 2020 (which step); lectures 000, 004.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import torch

from jumok.attention.observe import Attention, observe
from jumok.data.tokenizer import END, START
from jumok.evaluation.alignment import GoldLinks, read_gold, score_links
from jumok.inspection.alignment import Link, links, merge_words
from jumok.lab import world
from jumok.lab.findings import Bars, Cell, Column, Findings, Grid, Setting, judged
from jumok.lab.small import Small, Trained, train
from jumok.lab.text import Text
from jumok.shapes import Float, Tensor

SENTENCES = 100
FRENCH = Path("align_gold") / "hansards_en-fr_447.tsv"
FOUND = 0.25  # the claim: attention's links are right to an error rate below this
CROSSES = 1.5  # and English-Korean crosses more than so many times as often as English-French


@dataclass(frozen=True)
class Place:
    """Where attention is read: a layer, a head (None: the mean of all), and which step."""

    layer: int
    head: int | None
    at_input: bool

    @property
    def name(self) -> Text:
        """In words."""
        head = Text("all heads", "모든 헤드")
        if self.head is not None:
            head = Text(f"head {self.head + 1}", f"헤드 {self.head + 1}")
        step = Text("reading", "읽는 단계") if self.at_input else Text("writing", "쓰는 단계")
        return Text(
            f"layer {self.layer + 1}, {head.en}, {step.en}",
            f"{self.layer + 1}층, {head.ko}, {step.ko}",
        )


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
    trained: Trained, source: str, target: str
) -> dict[Place, Float[Tensor, "target_words source_words"]]:
    """How much each target word looked at each source word, at every place."""
    model, tokenizer = trained.transformer, trained.tokenizer
    read, write = tokenizer.encode(source), tokenizer.encode(target)
    kept: list[Tensor] = []

    def keep(_: str, attention: Attention) -> None:
        kept.append(attention.weights[0])  # (heads query key)

    memory = model.encode(torch.tensor([[*read, END]]))
    with observe(model, keep, lambda site: site.endswith("cross_attention")):
        model.decoder.hidden(memory, torch.tensor([[START, *write]]))
    found = {}
    for layer, weights in enumerate(kept):
        heads: list[int | None] = [None, *range(weights.shape[0])]
        for head in heads:
            of_head = weights.mean(0) if head is None else weights[head]
            for at_input in (False, True):
                rows = of_head[1:] if at_input else of_head[:-1]
                words = tokenizer.words(read), tokenizer.words(write)
                found[Place(layer, head, at_input)] = merge_words(rows[:, : len(read)], *words)
    return found


def run(setting: Setting) -> Findings:
    """Trains English-Korean and reads its attention at every place."""
    english, korean, gold = world.read(setting.cache, "test")
    pairs = list(zip(english, korean, gold, strict=True))[:SENTENCES]
    trained = train(Small(steps=450), setting.seed, setting.cache, setting.full)
    looked = [seen(trained, source, target) for source, target, _ in pairs]
    known = [GoldLinks(frozenset(each), frozenset(each)) for _, _, each in pairs]
    rates = {
        place: score_links([links(each[place]) for each in looked], known).error_rate
        for place in looked[0]
    }
    korean_crosses = crossing(gold)
    french = setting.data / FRENCH if setting.data else None
    french_crosses = None
    if french is not None and french.exists():
        french_crosses = crossing([sorted(each.sure) for each in read_gold(french)])
    shown = _shown(pairs)
    best = min(rates, key=lambda place: rates[place])
    return report(rates, korean_crosses, french_crosses, _grid(pairs[shown], looked[shown][best]))


def _shown(pairs: Sequence[tuple[str, str, list[Link]]]) -> int:
    """The sentence that crosses most, of those with at most eight words."""
    short = [row for row, pair in enumerate(pairs) if len(pair[0].split()) <= 8]
    return max(short, key=lambda row: (crossing([pairs[row][2]]), len(pairs[row][2])))


def _grid(pair: tuple[str, str, list[Link]], weights: Tensor) -> Grid:
    source, target, gold = pair
    return Grid(
        Text("Where each Korean word looked; gold framed", "한국어 단어가 본 곳, 정답은 테두리"),
        target.split(),
        source.split(),
        weights.tolist(),
        Text("Korean", "한국어"),
        Text("English", "영어"),
        framed=[(there, here) for here, there in gold],
    )


def report(rates: dict[Place, float], korean: float, french: float | None, grid: Grid) -> Findings:
    """The error rate at every place, and how much gold links cross."""
    ordered = sorted(rates, key=lambda place: rates[place])
    best, layers = ordered[0], [place for place in rates if place.head is None]
    writing = min(rates[place] for place in layers if not place.at_input)
    reading = min(rates[place] for place in layers if place.at_input)
    finds = rates[best] < FOUND
    crosses = None if french is None else korean > CROSSES * french
    there = "" if french is None else f" against {french:.0%} in English-French (gold, Hansards)"
    there_ko = "" if french is None else f", 영어-프랑스어(Hansards 정답)에서는 {french:.0%}"
    missing = Text("", "")
    if french is None:
        missing = Text(
            " English-French was not compared: JUMOK_DATA names no folder with its gold links.",
            " 영어-프랑스어는 견주지 못했다. JUMOK_DATA에 정답 정렬이 없다.",
        )
    rows: list[list[Cell]] = [[place.name, rates[place]] for place in ordered]
    return Findings(
        columns=(
            Column(Text("read at", "읽은 곳")),
            Column(Text("alignment error rate", "정렬 오류율"), ".3f"),
        ),
        rows=rows,
        figures={
            "error_rates": {place.name.en: rate for place, rate in rates.items()},
            "crossing": {"en-ko": korean, "en-fr": french},
        },
        outcome=judged(finds and crosses is True, in_part=finds or crosses is True),
        sentence=Text(
            f"Of two links {korean:.0%} cross in English-Korean{there}. Read at {best.name.en}, "
            f"attention finds the gold links with an error rate of {rates[best]:.2f}; the mean of "
            f"a layer's heads has {writing:.2f} at the step that writes a word and {reading:.2f} "
            f"at the step that reads it.{missing.en}",
            f"두 연결이 엇갈리는 비율은 영어-한국어에서 {korean:.0%}{there_ko}이다. "
            f"{best.name.ko}에서 읽으면 어텐션은 정답 정렬을 오류율 {rates[best]:.2f}로 찾는다. "
            f"한 층의 헤드를 평균하면 단어를 쓰는 단계에서 {writing:.2f}, 읽는 단계에서 "
            f"{reading:.2f}이다.{missing.ko}",
        ),
        panels=(
            grid,
            Bars(
                Text("Alignment error rate by place", "읽은 곳에 따른 정렬 오류율"),
                Text("error rate; less is better", "오류율, 낮을수록 좋음"),
                [(place.name, rates[place]) for place in ordered],
            ),
            *_crossing_bars(korean, french),
        ),
    )


def _crossing_bars(korean: float, french: float | None) -> list[Bars]:
    both = [("English-Korean", "영어-한국어", korean), ("English-French", "영어-프랑스어", french)]
    return [
        Bars(
            Text("Gold links that cross", "엇갈리는 정답 연결"),
            Text("share of pairs of links", "연결 쌍 가운데 비율"),
            [(Text(en, ko), value) for en, ko, value in both if value is not None],
        )
    ]
