"""What there is in an image of the small world: kinds of things, colours, sizes, groups."""

from dataclasses import dataclass, replace
from typing import NamedTuple

from smallworld.english import with_s
from smallworld.lexicon import NOUNS, Noun

CANVAS = 128  # pixels a side
MOST_THINGS = 6


class Colour(NamedTuple):
    """A colour: its Korean attributive, its hue in degrees with what that may vary, and how
    saturated and how light it is (0 to 1)."""

    korean: str
    hue: float
    spread: float
    saturation: float
    value: float


COLOURS = {
    "red": Colour("빨간", 0, 6, 0.86, 0.86),
    "orange": Colour("주황색", 27, 4, 0.92, 0.98),
    "yellow": Colour("노란", 53, 4, 0.90, 0.98),
    "green": Colour("초록색", 128, 12, 0.76, 0.62),
    "blue": Colour("파란", 218, 10, 0.80, 0.88),
    "purple": Colour("보라색", 276, 8, 0.68, 0.68),
    "pink": Colour("분홍색", 333, 6, 0.45, 0.99),
    "black": Colour("검은", 220, 20, 0.10, 0.17),
}

# Pixels from edge to edge, least and most; a gap lies between, so that a size can be seen. Words
# are said of the extremes alone.
SIZES = {"small": (17.0, 20.0), "": (25.5, 29.0), "big": (37.0, 42.0)}
SIZES_KOREAN = {"small": "작은", "": "", "big": "큰"}
CONTAINER = (43.0, 47.0)  # a big thing with another inside
CONTAINERS = ("circle", "square")


def _noun(english: str, korean: str, counter: str = "개", plural: str = "") -> Noun:
    return Noun(english, plural or with_s(english), korean, "shape", counter)


def _known(*words: str) -> list[Noun]:
    return [noun for group in NOUNS.values() for noun in group if noun.english in words]


KINDS: dict[str, Noun] = {
    noun.english: noun
    for noun in (
        _noun("circle", "원"),
        _noun("square", "네모"),
        _noun("triangle", "세모"),
        _noun("star", "별"),
        _noun("heart", "하트"),
        _noun("fish", "물고기", "마리", "fish"),
        *_known("house", "tree", "car", "ball", "cup", "flower"),
    )
}

# Kept back for the split "unseen combination": one colour of each kind, every colour at least once.
HELD_OUT = frozenset(
    (list(COLOURS)[(3 * number + 1) % len(COLOURS)], kind) for number, kind in enumerate(KINDS)
)


@dataclass(frozen=True, slots=True)
class Group:
    """Equal things that a caption names together: "three small red circles".

    inner: what lies inside, for a single big circle or square.
    """

    count: int
    size: str
    colour: str
    kind: str
    inner: "Group | None" = None

    @property
    def novel(self) -> bool:
        """Whether a colour and a kind meet here that training never joins."""
        pair = (self.colour, self.kind) in HELD_OUT
        return pair or (self.inner is not None and self.inner.novel)

    @property
    def things(self) -> int:
        return self.count + (1 if self.inner else 0)

    @property
    def emptied(self) -> "Group":
        """The same without what lies inside."""
        return replace(self, inner=None)

    def __str__(self) -> str:
        inner = f" ({self.inner})" if self.inner else ""
        return f"{self.count} {self.size or 'medium'} {self.colour} {self.kind}{inner}"


@dataclass(frozen=True, slots=True)
class Thing:
    """One drawn thing.

    Attributes:
        label: the group it belongs to, "0", "1", ...; what lies inside group 0 is "0i".
        kind, colour, size: words.
        x, y: its middle in pixels from the top left.
        side: pixels from edge to edge of the square it is drawn into.
        rgb: its own shade of the colour.
        turn: degrees; flip: -1 where it is drawn as in a mirror, else 1.
    """

    label: str
    kind: str
    colour: str
    size: str
    x: float
    y: float
    side: float
    rgb: tuple[int, int, int]
    turn: float
    flip: int


@dataclass(frozen=True, slots=True)
class Background:
    """A pale ground: plain, gradient, stripes or dots, of two shades."""

    pattern: str
    first: tuple[int, int, int]
    second: tuple[int, int, int]
    step: int


@dataclass(frozen=True, slots=True)
class Scene:
    """An image before it is drawn; all that can be said of it follows from this.

    Attributes:
        layout: how the groups stand to one another; a key of `layout.LAYOUTS`.
        groups: in the order in which captions name their places.
        things: in the order in which they are drawn.
    """

    layout: str
    groups: tuple[Group, ...]
    things: tuple[Thing, ...]
    background: Background

    @property
    def inventory(self) -> str:
        """The list of things without their places. Splits are made by it."""
        return "; ".join(sorted(map(str, self.groups)))
