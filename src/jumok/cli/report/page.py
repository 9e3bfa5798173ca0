"""The report of the demo: one page that works offline and without scripts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from jumok.alignment.words import Link
from jumok.cli.report.plots import Line, attention_grid, chart
from jumok.data.files.run_log import LogRecord, number_in
from jumok.systems.translation.result import WordAttention

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
STYLE = """
:root { color-scheme: light dark; --page: #fcfcfa; --card: #ffffff; --ink: #1c1e26;
  --muted: #6b7080; --grid: #e4e5ea; --heat: #3b4cc0; --line-1: #3b4cc0; --line-2: #c2410c;
  --good: #15803d; --shadow: 0 1px 2px #0001, 0 4px 16px #0000000a; }
@media (prefers-color-scheme: dark) { :root { --page: #14151a; --card: #1c1e26; --ink: #eceef4;
  --muted: #9aa0b2; --grid: #2e313d; --heat: #8ea2ff; --line-1: #8ea2ff; --line-2: #fb923c;
  --good: #4ade80; --shadow: none; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); line-height: 1.55;
  font: 15px/1.55 system-ui, "Noto Sans KR", "Apple SD Gothic Neo", "Malgun Gothic",
  NanumGothic, sans-serif; }
main { max-width: 1040px; margin: 0 auto; padding: 48px 24px 72px; }
h1 { font-size: 30px; letter-spacing: -.02em; margin: 0; }
h1 small { font-weight: 400; color: var(--muted); font-size: 20px; margin-left: .35em; }
h2 { font-size: 19px; margin: 48px 0 4px; letter-spacing: -.01em; }
p { margin: 6px 0 16px; max-width: 68ch; } .muted { color: var(--muted); }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 14px;
  margin: 28px 0 0; }
.figures div, .card { background: var(--card); border: 1px solid var(--grid); border-radius: 12px;
  padding: 14px 18px; box-shadow: var(--shadow); }
.figures b { display: block; font-size: 25px; letter-spacing: -.02em; line-height: 1.3;
  font-variant-numeric: tabular-nums; }
.figures span { color: var(--muted); font-size: 13px; }
.row { display: flex; flex-wrap: wrap; gap: 18px; }
.row > .card { flex: 1 1 440px; overflow-x: auto; }
table { width: 100%; border-collapse: collapse; }
td, th { text-align: left; padding: 9px 14px 9px 0; border-bottom: 1px solid var(--grid);
  vertical-align: top; } tr:last-child td { border-bottom: 0; }
th { color: var(--muted); font-size: 13px; font-weight: 500; }
.same { color: var(--good); white-space: nowrap; } .other { color: var(--muted); }
figure { margin: 0; } figcaption { margin: 0 0 10px; }
figcaption b { display: block; font-weight: 600; }
.scale { display: inline-block; width: 140px; height: 10px; border-radius: 5px; margin: 0 8px;
  vertical-align: middle; border: 1px solid var(--grid);
  background: linear-gradient(to right, transparent, var(--heat)); }
.framed { display: inline-block; width: 14px; height: 14px; border: 2px solid var(--good);
  border-radius: 4px; vertical-align: -2px; margin: 0 6px 0 18px; }
pre { background: var(--card); border: 1px solid var(--grid); border-radius: 12px;
  padding: 14px 18px; overflow-x: auto; font: 13.5px/1.8 ui-monospace, monospace; }
svg { max-width: none; display: block; } svg text { font-size: 13px; fill: var(--ink); }
svg .heading { font-weight: 600; } svg .tick { fill: var(--muted); font-size: 12px; }
svg .end { text-anchor: end; } svg .middle, svg .weight { text-anchor: middle; }
svg .name { font-size: 12px; font-weight: 600; }
svg .grid { stroke: var(--grid); fill: none; } svg .line { fill: none; stroke-width: 2;
  stroke-linejoin: round; } svg .heat { fill: var(--heat); }
svg .empty { fill: var(--page); stroke: var(--grid); }
svg .right { stroke: var(--good); stroke-width: 2.5; }
svg .weight { font-size: 11px; } svg .weight.light { fill: var(--card); }
"""


@dataclass(frozen=True)
class ReportExample:
    """An unseen sentence, its translation by the model, and the reference.

    Attributes:
        attention: cross-attention of the model's translation; None: the sentence is only listed.
        gold: the gold links, if the translation equals the reference.
    """

    source: str
    translation: str
    reference: str
    attention: WordAttention | None = None
    gold: tuple[Link, ...] = ()


def report(
    figures: Mapping[str, str],
    records: Sequence[LogRecord],
    examples: Sequence[ReportExample],
    commands: Sequence[str],
    page: str = "",
) -> str:
    """The whole page.

    Args:
        figures: key figures by their names.
        records: the lines of the run's log.
        examples: all are listed, and those with attention are drawn.
        commands: the commands to try next.
        page: the file of the interactive page, next to the report; empty: there is none.
    """
    drawn = [example for example in examples if example.attention is not None]
    right = sum(example.translation == example.reference for example in examples)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>jumok: demo report</title><style>{STYLE}</style></head><body><main>
<h1>jumok<small lang="ko">주목</small></h1>
<p class="muted">A Transformer that was just trained on this machine, from scratch, to translate
the sentences of a small world from English into Korean. It has seen none of the sentences below.
</p>
<div class="figures">{"".join(map(_figure, figures.items()))}</div>
<h2>Learning curves</h2>
<p class="muted">The loss is the negative log-probability of each token of the reference, in nats.
The training loss includes dropout and label smoothing, so it ends above the validation loss.</p>
<div class="row">{_curves(records)}</div>
<h2>Translations</h2>
<p class="muted">Unseen sentences: {right} of these {len(examples)} are the reference word for
word.</p>
<div class="card" tabindex="0"><table><tr><th>English</th><th>jumok</th><th>reference</th></tr>
{"".join(map(_row, examples))}</table></div>
<h2>What it attends to</h2>
<p class="muted">Cross-attention: for every Korean word, the attention weight of each English word,
in percent. The rest of a row, up to 100, is the weight of the end of the sentence.</p>
<p class="muted">0<span class="scale"></span>100<span class="framed"></span>a link of the corpus's
gold alignment</p>
<div class="row">{"".join(map(_attention, drawn))}</div>
{_way_in(page)}<h2>What to try next</h2>
<pre tabindex="0">{chr(10).join(map(escape, commands))}</pre>
</main></body></html>
"""


def _way_in(page: str) -> str:
    """The link to the interactive page; empty without a page."""
    if not page:
        return ""
    return (
        f'<p><a href="{escape(page)}">Look inside: every layer and head of one translation, the '
        "steps from query to output, and the beam search tree</a></p>\n"
    )


def _figure(figure: tuple[str, str]) -> str:
    name, value = figure
    return f"<div><b>{escape(value)}</b><span>{escape(name)}</span></div>"


def _curves(records: Sequence[LogRecord]) -> str:
    steps = [line for line in records if line["kind"] == "step" and line["loss"] is not None]
    checks = [line for line in records if line["kind"] == "validation"]
    loss = [
        Line("training", _points(steps, "loss")),
        Line("validation", _points(checks, "loss"), dots=True),
    ]
    quality = [
        Line("BLEU", _points(checks, "bleu"), dots=True),
        Line("chrF", _points(checks, "chrf"), dots=True),
    ]
    charts = (
        chart(loss, "loss, nats per token", "step"),
        chart(quality, "BLEU and chrF on validation", "step", 100.0),
    )
    return "".join(f'<div class="card" tabindex="0">{each}</div>' for each in charts)


def _points(records: Sequence[LogRecord], key: str) -> list[tuple[float, float]]:
    values = ((record["step"], number_in(record, key)) for record in records)
    return [(float(step), float(value)) for step, value in values if value is not None]


def _row(example: ReportExample) -> str:
    same = example.translation == example.reference
    verdict = (
        '<td class="same">✓ the same</td>'
        if same
        else f'<td class="other" lang="ko">{escape(example.reference)}</td>'
    )
    return (
        f"<tr><td>{escape(example.source)}</td>"
        f'<td lang="ko">{escape(example.translation)}</td>{verdict}</tr>'
    )


def _attention(example: ReportExample) -> str:
    seen = example.attention
    assert seen is not None
    grid = attention_grid(seen.weights, seen.source_words, seen.target_words, example.gold)
    return (
        f'<figure class="card" tabindex="0"><figcaption><b>{escape(example.source)}</b>'
        f'<span lang="ko">{escape(example.translation)}</span></figcaption>{grid}</figure>'
    )
