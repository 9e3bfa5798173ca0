"""The outline of every kind, in a square from -1 to 1 whose y points down.

A kind is a tuple of parts, drawn one over the other. Everything is a polygon, so a thing's box
follows from its points.
"""

from math import cos, pi, sin
from typing import NamedTuple

Points = tuple[tuple[float, float], ...]


class ShapePart(NamedTuple):
    """A polygon and its shade: "own" (the thing's colour), "dark" (a darker own), or a fixed one.

    edge: whether a darker line runs along it.
    """

    points: Points
    shade: str
    edge: bool = False


def oval(x: float, y: float, wide: float, high: float | None = None, points: int = 28) -> Points:
    """An ellipse round (x, y) by its half axes; a circle where `high` is not given."""
    high = wide if high is None else high
    angles = [2 * pi * number / points for number in range(points)]
    return tuple((x + wide * cos(angle), y + high * sin(angle)) for angle in angles)


def oblong(left: float, top: float, right: float, bottom: float) -> Points:
    """A rectangle."""
    return ((left, top), (right, top), (right, bottom), (left, bottom))


def _star() -> Points:
    """Five points; outer radius 1.05, inner 0.44."""
    corners = []
    for number in range(10):
        radius, angle = (0.44, 1.05)[number % 2 == 0], pi * (number / 5 - 0.5)
        corners.append((radius * cos(angle), 0.08 + radius * sin(angle)))
    return tuple(corners)


def _heart() -> Points:
    """The usual curve, x = 16 sin^3 t, y = 13 cos t - 5 cos 2t - 2 cos 3t - cos 4t."""
    points = []
    for number in range(36):
        t = 2 * pi * number / 36
        y = 13 * cos(t) - 5 * cos(2 * t) - 2 * cos(3 * t) - cos(4 * t)
        points.append((16 * sin(t) ** 3 / 16, -(y + 2.5) / 15))
    return tuple(points)


def _ring(x: float, y: float, outer: float, inner: float) -> Points:
    """A band between two circles, as one polygon with a seam."""
    outside, inside = oval(x, y, outer, points=20), oval(x, y, inner, points=20)
    return (*outside, outside[0], inside[0], *reversed(inside))


def _segment(start: float, end: float) -> Points:
    """A slice of a disc of radius 1, from one angle to another, in degrees."""
    steps = 6
    angles = [pi / 180 * (start + (end - start) * step / steps) for step in range(steps + 1)]
    return ((0.0, 0.0), *((cos(angle), sin(angle)) for angle in angles))


def _petals() -> tuple[ShapePart, ...]:
    places = [(0.4 * cos(pi * n / 3), 0.4 * sin(pi * n / 3) - 0.3) for n in range(6)]
    under = tuple(ShapePart(oval(x, y, 0.32, points=14), "dark") for x, y in places)
    over = tuple(ShapePart(oval(x, y, 0.26, points=14), "own") for x, y in places)
    return (*under, *over)


CROWN = ((0.0, -0.5), (-0.42, -0.02), (0.42, -0.02), (0.0, 0.0))

SHAPES: dict[str, tuple[ShapePart, ...]] = {
    "circle": (ShapePart(oval(0, 0, 1, points=40), "own", True),),
    "square": (ShapePart(oblong(-0.9, -0.9, 0.9, 0.9), "own", True),),
    "triangle": (ShapePart(((0, -0.95), (1, 0.85), (-1, 0.85)), "own", True),),
    "star": (ShapePart(_star(), "own", True),),
    "heart": (ShapePart(_heart(), "own", True),),
    "house": (
        ShapePart(oblong(-0.75, -0.15, 0.75, 0.95), "own", True),
        ShapePart(((-1, -0.1), (0, -1), (1, -0.1)), "dark"),
        ShapePart(oblong(-0.5, 0.3, -0.08, 0.95), "ink"),
        ShapePart(oblong(0.14, 0.18, 0.54, 0.58), "pale"),
    ),
    "tree": (
        ShapePart(oblong(-0.16, 0.3, 0.16, 1), "wood"),
        *(ShapePart(oval(x, y, 0.55, 0.5), "dark") for x, y in CROWN),
        *(ShapePart(oval(x, y, 0.48, 0.43), "own") for x, y in CROWN),
    ),
    "car": (
        ShapePart(
            (
                *((-1, 0.42), (-1, 0.05), (-0.72, -0.05), (-0.45, -0.5)),
                *((0.3, -0.5), (0.62, -0.05), (1, 0.08), (1, 0.42)),
            ),
            "own",
            True,
        ),
        ShapePart(((-0.52, -0.06), (-0.36, -0.38), (-0.1, -0.38), (-0.1, -0.06)), "pale"),
        ShapePart(((0.02, -0.06), (0.02, -0.38), (0.24, -0.38), (0.44, -0.06)), "pale"),
        *(ShapePart(oval(x, 0.42, 0.25, points=18), "ink") for x in (-0.52, 0.52)),
        *(ShapePart(oval(x, 0.42, 0.1, points=10), "pale") for x in (-0.52, 0.52)),
    ),
    "ball": (
        ShapePart(oval(0, 0, 1, points=40), "white", True),
        *(ShapePart(_segment(start, start + 60), "own") for start in (30, 150, 270)),
        ShapePart(oval(0, 0, 0.24, points=14), "own", True),
    ),
    "cup": (
        ShapePart(_ring(0.5, 0.0, 0.46, 0.26), "dark"),
        ShapePart(((-0.85, -0.62), (0.5, -0.62), (0.32, 0.9), (-0.67, 0.9)), "own", True),
        ShapePart(oval(-0.175, -0.62, 0.675, 0.2), "dark"),
        ShapePart(oval(-0.175, -0.6, 0.55, 0.12), "pale"),
    ),
    "flower": (
        ShapePart(oblong(-0.07, 0, 0.07, 1), "leaf"),
        ShapePart(((0, 0.85), (0.5, 0.5), (0.2, 0.9)), "leaf"),
        ShapePart(((0, 0.95), (-0.5, 0.6), (-0.2, 1)), "leaf"),
        *_petals(),
        ShapePart(oval(0, -0.3, 0.22, points=14), "wood"),
    ),
    "fish": (
        ShapePart(((0.4, 0), (1, -0.48), (0.88, 0), (1, 0.48)), "dark"),
        ShapePart(oval(-0.22, 0, 0.78, 0.5), "own", True),
        ShapePart(((0, -0.1), (0.32, 0), (0, 0.22)), "dark"),
        ShapePart(oval(-0.58, -0.12, 0.14, points=12), "white"),
        ShapePart(oval(-0.6, -0.12, 0.07, points=8), "ink"),
    ),
}
# Shapes that look right when turned a little; a house stands upright.
TURNING = {"circle": 0.0, "square": 7.0, "triangle": 8.0, "star": 14.0, "heart": 8.0, "ball": 40.0}
