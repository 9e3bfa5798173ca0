"""`python docs/diagrams.py`: the course's diagrams, boxes and arrows, in docs/course/figures."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

FIGURES = Path(__file__).parent / "course" / "figures"
WIDE, HIGH, GAP = 84, 30, 26
SECONDS = 12  # of one round of the moving diagram
BLUE, GREY, WHITE = "hsl(215 70% 88%)", "#eee", "#fff"


def drawn(size: tuple[int, int], title: str, parts: Sequence[str], style: str = "") -> str:
    """The parts as SVG.

    Args:
        style: animations; in print, and for readers who prefer less motion, nothing moves.
    """
    width, height = size
    moving = f"@media screen and (prefers-reduced-motion: no-preference) {{{style}}}"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" role="img" '
            'font-family="sans-serif" font-size="12">',
            f"<title>{escape(title)}</title>",
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
            'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#555"/></marker></defs>',
            '<rect width="100%" height="100%" fill="#fff"/>',
            *([f"<style>{moving}</style>"] if style else []),
            *parts,
            "</svg>\n",
        ]
    )


def box(x: float, y: float, words: str, fill: str = BLUE, wide: float = WIDE) -> str:
    """A box around words; x and y are its middle."""
    edge = f'x="{x - wide / 2:.1f}" y="{y - HIGH / 2:.1f}" width="{wide:.1f}" height="{HIGH}"'
    return (
        f'<rect {edge} rx="4" fill="{fill}" stroke="#888"/>'
        f'<text x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle" fill="#111">{escape(words)}</text>'
    )


def arrow(*points: tuple[float, float]) -> str:
    """A line through these points, with a tip at its end."""
    through = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{through}" fill="none" stroke="#555" marker-end="url(#tip)"/>'


def arrows() -> str:
    """Each output of causal self-attention, and the inputs that it attends to."""
    parts, places = [], [60 + number * 90 for number in range(5)]
    for row, x in enumerate(places):
        parts += [arrow((there, 135), (x, 67)) for there in places[: row + 1]]
    for number, x in enumerate(places, 1):
        parts += [box(x, 50, f"y{number}", WHITE, 50), box(x, 152, f"x{number}", BLUE, 50)]
    return drawn((480, 190), "causal self-attention: y_i attends to x_1 ... x_i", parts)


def block() -> str:
    """One block: attention, add and norm, feed-forward, add and norm."""
    names = ("x", "SelfAttention", "+", "LayerNorm", "z", "FFN", "+", "LayerNorm", "y")
    middle, step = 130, HIGH + GAP
    rows = [40 + step * (len(names) - 1 - number) for number in range(len(names))]
    parts = []
    for number, (name, y) in enumerate(zip(names, rows, strict=True)):
        small = len(name) == 1
        parts.append(box(middle, y, name, GREY if small else BLUE, 34 if small else 120))
        if number:
            parts.append(arrow((middle, rows[number - 1] - HIGH / 2), (middle, y + HIGH / 2)))
    for start, end in ((0, 2), (4, 6)):  # the residual connections
        around = middle + 85
        line = ((middle + 17, rows[start]), (around, rows[start]), (around, rows[end]))
        parts.append(arrow(*line, (middle + 17, rows[end])))
    return drawn(
        (250, rows[0] + 40), "z = LayerNorm(x + SelfAttention(x)), y = LayerNorm(z + FFN(z))", parts
    )


def model() -> str:
    """Encoder and decoder; every layer of the decoder gets the encoder's last output."""
    left, middle, right, step = 90, 235, 400, HIGH + GAP
    rows = [40 + step * number for number in range(5)]
    parts = [box(left, rows[4], "x + PE", GREY), box(right, rows[4], "y + PE", GREY, 150)]
    for number, y in enumerate(rows[3:0:-1], 1):
        parts.append(box(left, y, f"encoder {number}", wide=100))
        parts.append(box(right, y, f"decoder {number}: Q", wide=150))
        for x in (left, right):
            parts.append(arrow((x, y + step - HIGH / 2), (x, y + HIGH / 2)))
        parts.append(
            arrow((middle + 55, rows[1]), (middle + 68, rows[1]), (middle + 68, y), (right - 75, y))
        )
    parts += [
        box(middle, rows[1], "Memory: K, V", GREY, 110),
        arrow((left + 50, rows[1]), (middle - 55, rows[1])),
    ]
    parts += [
        box(right, rows[0], "Linear, softmax", wide=150),
        arrow((right, rows[1] - 15), (right, rows[0] + 15)),
    ]
    return drawn(
        (500, rows[4] + 40),
        "the last output of the encoder, into every layer of the decoder",
        parts,
    )


def unrolled() -> str:
    """An RNN that reads four words into one vector, and one that writes three from it."""
    source, target = ("I", "am", "a", "student"), ("나는", "학생", "이다")
    step, states, words = WIDE + GAP, 95, 160
    moments: list[list[str]] = []
    for number, word in enumerate(source):
        x = 60 + number * step
        moment = [box(x, words, word, WHITE), box(x, states, f"h{number + 1}")]
        moment.append(arrow((x, words - 15), (x, states + 15)))
        if number:
            moment.append(arrow((x - GAP - WIDE / 2, states), (x - WIDE / 2, states)))
        moments.append(moment)
    middle = 60 + len(source) * step
    moments.append([box(middle, states, f"c = h{len(source)}", GREY)])
    moments[-1].append(arrow((middle - GAP - WIDE / 2, states), (middle - WIDE / 2, states)))
    for number, word in enumerate(target, 1):
        x = middle + number * step
        moment = [box(x, states, f"s{number}"), box(x, 35, word, WHITE)]
        moment.append(arrow((x - GAP - WIDE / 2, states), (x - WIDE / 2, states)))
        moment.append(arrow((x, states - 15), (x, 50)))
        if number < len(target):  # what was written is read in the next step
            read = (x + WIDE / 2, 35), (x + WIDE / 2 + 13, 35), (x + WIDE / 2 + 13, states - 8)
            moment.append(arrow(*read, (x + WIDE / 2 + GAP, states - 8)))
        moments.append(moment)
    style, parts = "", []
    for number, moment in enumerate(moments):
        begin = 5 + 85 * number / len(moments)
        hidden = f"0%, {begin:.0f}% {{opacity: .1}} {begin + 2:.0f}%, 100% {{opacity: 1}}"
        style += f".step{number} {{animation: step{number} {SECONDS}s infinite}} "
        style += f"@keyframes step{number} {{{hidden}}} "
        parts.append("\n".join([f'<g class="step{number}">', *moment, "</g>"]))
    size = (middle + len(target) * step + 70, 190)
    return drawn(
        size, "seq2seq: h_t = f(x_t, h_t-1), c = h_4, s_t = g(y_t-1, s_t-1)", parts, style.strip()
    )


def files() -> dict[Path, str]:
    """What each file is to have."""
    made = {
        "01-moving.svg": unrolled(),
        "07-arrows.svg": arrows(),
        "10-block.svg": block(),
        "11-model.svg": model(),
    }
    return {FIGURES / name: text for name, text in made.items()}


if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text, "utf-8")
