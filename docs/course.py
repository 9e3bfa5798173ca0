"""`python docs/course.py` updates the generated parts of the course.

These are the claims and verdicts of labs, from docs/lab/NAME.json, between the marks
`<!-- lab: NAME -->` and `<!-- end -->`; and the figures in docs/course/figures, which the
formulas of the chapters compute.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from unicodedata import east_asian_width

import torch
from torch import Tensor

from jumok.environment import Language
from jumok_lectures.course.exercises import (
    chapter_01,
    chapter_08,
    chapter_10,
    chapter_13,
    chapter_15,
)
from jumok_lectures.report import in_brief, in_chapter

DOCS = Path(__file__).parent
COURSE = DOCS / "course"
LAB = re.compile(r"(<!-- lab: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)

CELL, LINE, LETTER, MARGIN, DIAL = 46, 28, 7.5, 14, 90


@dataclass(frozen=True)
class Panel:
    """A table of numbers: a title, the names of rows and columns, and the cells.

    Attributes:
        before: the cells that each row shows first, where the figure moves.
    """

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    cells: Tensor
    form: str = ".2f"
    before: Tensor | None = None


def drawn(panels: Sequence[Panel], below: Sequence[str] = (), style: str = "") -> str:
    """The panels side by side, as SVG; the darker a cell, the larger its number.

    Args:
        below: more parts, DIAL high, under the panels.
        style: animations, whose first moment is the still figure: in print, and for readers who
            prefer less motion, nothing moves.
    """
    parts, x, height = [], float(MARGIN), 0.0
    for panel in panels:
        left = max((_width(name) for name in panel.rows), default=0) + 6
        across = max(CELL, *(_width(name) + 8 for name in panel.columns))
        parts.append(_text(x + left, 20, panel.title, "start", 14))
        for number, name in enumerate(panel.columns):
            parts.append(_text(x + left + (number + 0.5) * across, 42, name))
        for number, name in enumerate(panel.rows):
            parts.append(_text(x + left - 6, 50 + (number + 0.65) * LINE, name, "end"))
        parts += _cells(panel, x + left, across)
        x += left + across * panel.cells.shape[1] + 2 * MARGIN
        height = max(height, 50 + LINE * panel.cells.shape[0] + MARGIN)
    height += DIAL if below else 0
    moving = f"@media screen and (prefers-reduced-motion: no-preference) {{{style}}}"
    size = f'viewBox="0 0 {x:.0f} {height:.0f}" width="{x:.0f}" height="{height:.0f}"'
    title = escape("; ".join(panel.title for panel in panels))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" '
            'font-family="sans-serif" font-size="12">',
            f"<title>{title}</title>",
            '<rect width="100%" height="100%" fill="#fff"/>',
            *([f"<style>{moving}</style>"] if style else []),
            *parts,
            *below,
            "</svg>\n",
        ]
    )


def _width(name: str) -> float:
    """The width of a name; a letter of Hangul is wider than a Latin one."""
    return sum(LETTER * (1.7 if east_asian_width(letter) == "W" else 1) for letter in name)


def _cells(panel: Panel, x: float, across: float) -> list[str]:
    shown = [panel.cells, *([] if panel.before is None else [panel.before])]
    finite = torch.cat(shown)[torch.cat(shown).isfinite()]
    lowest, highest = min(float(finite.min()), 0.0), float(finite.max())
    parts = []
    for row, numbers in enumerate(panel.cells.tolist()):
        place = x, across, 50 + row * LINE
        parts += _row(numbers, place, lowest, highest, panel.form)
        if panel.before is not None:
            first = _row(panel.before[row].tolist(), place, lowest, highest, panel.form)
            parts += [f'<g class="row{row}" opacity="0">', *first, "</g>"]
    return parts


def _row(
    numbers: list[float], place: tuple[float, float, int], lowest: float, highest: float, form: str
) -> list[str]:
    (x, across, y), parts = place, []
    for column, number in enumerate(numbers):
        hidden = number == float("-inf")
        share = 0.0 if hidden else (number - lowest) / ((highest - lowest) or 1.0)
        fill = "#ddd" if hidden else f"hsl(215 70% {96 - 46 * share:.0f}%)"
        box = f'x="{x + column * across:.1f}" y="{y}" width="{across:.1f}" height="{LINE}"'
        parts.append(f'<rect {box} fill="{fill}" stroke="#fff"/>')
        words = "−∞" if hidden else format(number, form).replace("-", "−")
        middle, color = x + (column + 0.5) * across, "#fff" if share > 0.6 else "#111"
        parts.append(_text(middle, y + 0.65 * LINE, words, color=color))
    return parts


def _text(
    x: float, y: float, words: str, anchor: str = "middle", size: int = 12, color: str = "#111"
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" '
        f'fill="{color}">{escape(words)}</text>'
    )


def table(*rows: Sequence[float]) -> Tensor:
    """A table of double precision."""
    return torch.tensor(rows, dtype=torch.float64)


def figures() -> dict[str, str]:
    """The figures, by the name of their file."""
    pair, scores = ("Thinking", "Machines"), table([112, 96])
    weights = (scores / 8).softmax(-1)
    note = (
        Panel("q·k", pair[:1], pair, scores, ".0f"),
        Panel("÷ √64", (), pair, scores / 8, ".0f"),
        Panel("softmax", (), pair, weights),
        Panel("0.88 v₁ + 0.12 v₂", (), ("z₁[1]", "z₁[2]"), weights @ torch.eye(2).double()),
    )
    return {
        "00.svg": drawn(note),
        "01.svg": drawn(_states()),
        "02.svg": drawn(_pie()),
        "03.svg": drawn(_products()),
        "04.svg": drawn(_roles()),
        "05.svg": drawn(_widths()),
        "06.svg": drawn(_student()),
        "07.svg": drawn(_masked()),
        "07-moving.svg": drawn(_masked(moving=True), style=_row_by_row(8)),
        "08.svg": drawn(_positions(), _dials()),
        "08-moving.svg": drawn(_positions(), _dials(), _turning()),
        "09.svg": drawn(_heads()),
        "10.svg": drawn(_normed()),
        "11.svg": drawn(_crossed()),
        "12.svg": drawn(_halves()),
        "13.svg": drawn(_grid()),
        "14.svg": drawn(_reach()),
        "15.svg": drawn(_explained()),
    }


def _states() -> list[Panel]:
    """The states of an RNN that reads four words: the last one is all that the decoder gets."""
    words = table([1, 0], [0, 1], [1, 1], [0, 0])
    w, u = torch.eye(2).double(), table([0.5, 0], [0, 0.5])
    states = torch.stack([chapter_01.encode(words[: n + 1], w, u) for n in range(4)])
    names = ("I", "am", "a", "student")
    return [
        Panel("x", names, ("x[1]", "x[2]"), words, ".0f"),
        Panel("h = tanh(x W + h U)", (), ("h[1]", "h[2]"), states),
        Panel("c = h₄", (), ("c[1]", "c[2]"), states[-1:]),
    ]


def _pie() -> list[Panel]:
    """The table of note 000, with scores of 3 where a French word translates an English one."""
    english, french = ("he", "hit", "me", "with", "a", "pie"), ("il", "a", "m'", "entarté")
    scores = torch.zeros(4, 6).double()
    for row, column in ((0, 0), (1, 1), (2, 2), (3, 1), (3, 3), (3, 4), (3, 5)):
        scores[row, column] = 3
    return [
        Panel("a", french, english, scores, ".0f"),
        Panel("α = softmax(a)", french, english, scores.softmax(-1)),
    ]


def _products() -> list[Panel]:
    names, keys = (
        ("[4, 5]", "[−5, 2]", "[40, 50]", "[2, 3]"),
        table([4, 5], [-5, 2], [40, 50], [2, 3]),
    )
    query = table([2, 3])
    return [
        Panel("[2, 3]·k", (), names, query @ keys.T, ".0f"),
        Panel("|k − [2, 3]|", (), names, torch.cdist(query, keys), ".1f"),
    ]


def _roles() -> list[Panel]:
    x, swap, double = table([1, 0], [0, 1]), table([0, 1], [1, 0]), table([2, 0], [0, 2])
    weights = (x @ swap @ x.T / 2**0.5).softmax(-1)
    none = ("", "")
    return [
        Panel("x", ("x₁", "x₂"), none, x, ".0f"),
        Panel("Q = x W_Q", (), none, x @ swap, ".0f"),
        Panel("K = x W_K", (), none, x, ".0f"),
        Panel("V = x W_V", (), none, x @ double, ".0f"),
        Panel("softmax(QKᵀ/√2)", (), none, weights),
        Panel("y", (), none, weights @ x @ double),
    ]


def _widths() -> list[Panel]:
    """The softmax of the same five scores: their spread grows with √d_k, unless it is divided."""
    scores, widths = table([-1.2, -0.6, 0, 0.6, 1.2]), (1, 16, 64, 1024)
    plain = torch.cat([(scores * width**0.5).softmax(-1) for width in widths])
    even = torch.cat([scores.softmax(-1)] * len(widths))
    names, keys = [f"d_k = {width}" for width in widths], ("k₁", "k₂", "k₃", "k₄", "k₅")
    return [
        Panel("softmax(q·k)", names, keys, plain),
        Panel("softmax(q·k/√d_k)", names, keys, even),
    ]


def _student() -> list[Panel]:
    names = ("i", "am", "a", "student")
    query, key = table([1, 0], [1, 1], [0, 1], [1, 2]), table([2, 0], [1, 1], [0, 1], [2, 2])
    scores = query @ key.T
    return [
        Panel("QKᵀ", names, names, scores, ".0f"),
        Panel("softmax(QKᵀ/√2)", names, names, (scores / 2**0.5).softmax(-1)),
    ]


def _masked(moving: bool = False) -> list[Panel]:
    """Eight words, of equal scores; in the moving figure each row is masked in its turn."""
    names = [str(number) for number in range(1, 9)]
    scores = torch.zeros(8, 8).double()
    masked = scores.masked_fill(~torch.ones(8, 8).tril().bool(), -torch.inf)
    first = (scores, scores.softmax(-1)) if moving else (None, None)
    return [
        Panel("QKᵀ + M", names, names, masked, ".0f", first[0]),
        Panel("softmax", names, names, masked.softmax(-1), before=first[1]),
    ]


def _row_by_row(rows: int) -> str:
    """Hides what is there, and lets one row after another appear."""
    rules = []
    for row in range(rows):
        start = 20 + 60 * row / rows
        rules.append(
            f"@keyframes row{row} {{0%, 8% {{opacity: 0}} 12%, {start:g}% {{opacity: 1}} "
            f"{start + 4:g}%, 100% {{opacity: 0}}}} "
            f".row{row} {{animation: row{row} 16s infinite}}"
        )
    return " ".join(rules)


def _positions() -> list[Panel]:
    names = [f"pos {number}" for number in range(8)]
    columns = [f"{name} {pair}" for pair in range(4) for name in ("sin", "cos")]
    return [Panel("PE", names, columns, chapter_08.sinusoidal(8, 8))]


def _dials() -> list[str]:
    """Each pair as the hand of a clock, of all positions in grey, and a frame around one row."""
    left, y = MARGIN + _width("pos 0") + 6, 50 + 8 * LINE + 50
    frame = f'x="{left}" y="50" width="{8 * CELL}" height="{LINE}" stroke="#c33" stroke-width="2"'
    parts = [f'<rect class="frame" {frame} fill="none"/>']
    for pair in range(4):
        x = left + (2 * pair + 1) * CELL
        parts.append(f'<circle cx="{x}" cy="{y}" r="40" fill="none" stroke="#bbb"/>')
        for sine, cosine in chapter_08.sinusoidal(8, 8)[:, 2 * pair : 2 * pair + 2].tolist():
            tip = f'x2="{x + 40 * sine:.1f}" y2="{y - 40 * cosine:.1f}"'
            parts.append(f'<line x1="{x}" y1="{y}" {tip} stroke="#bbb"/>')
        hand = f'x1="{x}" y1="{y}" x2="{x}" y2="{y - 40}" stroke="#c33" stroke-width="3"'
        parts.append(f'<line class="pair{pair}" style="transform-origin: {x}px {y}px" {hand}/>')
    return parts


def _turning() -> str:
    """Eight positions one after another: the frame moves down, and each hand turns."""
    motions = {"frame": [f"translateY({LINE * place}px)" for place in range(8)]}
    for pair in range(4):  # 10000^(2i/8) is 10^i
        motions[f"pair{pair}"] = [f"rotate({place / 10**pair:g}rad)" for place in range(8)]
    rules = []
    for name, moves in motions.items():
        frames = " ".join(
            f"{12.5 * place:g}%, {12.5 * place + 8:g}% {{transform: {move}}}"
            for place, move in enumerate(moves)
        )
        rules.append(f"@keyframes {name} {{{frames}}} .{name} {{animation: {name} 16s infinite}}")
    return " ".join(rules)


def _heads() -> list[Panel]:
    """One head that prefers the word itself, and one that prefers the noun."""
    names = ("animal", "street", "it")
    first, second = table([3, 0, 1], [0, 3, 1], [1, 1, 3]), table([1, 0, 1], [0, 1, 1], [3, 1, 0])
    return [
        Panel("head 1", names, names, first.softmax(-1)),
        Panel("head 2", names, names, second.softmax(-1)),
    ]


def _normed() -> list[Panel]:
    x, ones = table([1, 2, 3, 6]), torch.ones(4).double()
    return [
        Panel("x", (), ("",) * 4, x, ".0f"),
        Panel("x − μ, μ = 3", (), ("",) * 4, x - 3, ".0f"),
        Panel("(x − μ)/σ, σ = 1.87", (), ("",) * 4, chapter_10.layer_norm(x, ones, 0 * ones)),
    ]


def _crossed() -> list[Panel]:
    source, target = ("I", "am", "a", "student"), ("나는", "학생", "이다")
    scores = table([3, 1, 0, 0], [0, 0, 1, 3], [0, 3, 0, 1])
    return [Panel("softmax(QKᵀ/√d_k)", target, source, scores.softmax(-1))]


def _halves() -> list[Panel]:
    """Equal scores: GPT's mask permits earlier words, BERT attends to both sides of the gap."""
    words, gap = ("I", "am", "a", "student"), ("I", "am", "[MASK]", "student")
    none = torch.zeros(4, 4).double()
    hidden = none.masked_fill(~torch.ones(4, 4).tril().bool(), -torch.inf)
    return [
        Panel("GPT", words, words, hidden.softmax(-1)),
        Panel("BERT", gap, gap, none.softmax(-1)),
    ]


def _grid() -> list[Panel]:
    scores = chapter_13.GRID @ chapter_13.STATE
    weights = scores.flatten().softmax(-1).unflatten(0, (2, 2))
    found = chapter_13.attend_grid(chapter_13.STATE, chapter_13.GRID)[None]
    return [
        Panel("h·z", (), ("",) * 2, scores, ".0f"),
        Panel("softmax", (), ("",) * 2, weights, ".3f"),
        Panel("c", (), ("c[1]", "c[2]"), found, ".3f"),
    ]


def _reach() -> list[Panel]:
    """The shares of the cells in the output of the corner; all weights are equal."""
    corner = torch.zeros(1, 1, 5, 5).double()
    corner[..., 0, 0] = 1
    kernel = torch.ones(1, 1, 3, 3).double() / 9
    once = torch.conv2d(corner, kernel, padding=1)
    twice = torch.conv2d(once, kernel, padding=1)
    none = ("",) * 5
    return [
        Panel("3 × 3", (), none, once[0, 0]),
        Panel("3 × 3, 3 × 3", (), none, twice[0, 0]),
        Panel("softmax(QKᵀ/√d_k)", (), none, torch.full((5, 5), 1 / 25).double()),
    ]


def _explained() -> list[Panel]:
    weights, values = chapter_15.WEIGHTS, chapter_15.VALUES
    falls = chapter_15.occlusion(weights, values)
    rows, words = ("w", "v", "w · v", "Δ"), ("the", "story", "is", "great")
    return [
        Panel(row, (), words, numbers[None], ".2f")
        for row, numbers in zip(rows, (weights, values, weights * values, falls), strict=True)
    ]


def filled(path: Path) -> str:
    """A chapter with the labs as they are now; the rules in brief follow the first of them."""
    language: Language = "ko" if path.name.endswith(".ko.md") else "en"
    page, first = "../lab.ko.md" if language == "ko" else "../lab.md", iter([True])

    def verdict(mark: re.Match[str]) -> str:
        results = json.loads((DOCS / "lab" / f"{mark[2]}.json").read_text("utf-8"))
        brief = [in_brief(len(results["seeds"]), page, language) for _ in first]  # once
        return "\n\n".join((mark[1].rstrip(), *in_chapter(results, language), *brief, mark[3]))

    return LAB.sub(verdict, path.read_text("utf-8"))


def files() -> dict[Path, str]:
    """What each file is to have."""
    drawings = {COURSE / "figures" / name: text for name, text in figures().items()}
    return {**drawings, **{path: filled(path) for path in sorted(COURSE.glob("*.md"))}}


if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text, "utf-8")
