"""Scenes to pixels: polygons on a canvas four times as fine, averaged down.

The same scene gives the same bytes; nothing is drawn by chance here.
"""

from math import ceil, cos, floor, pi, sin
from typing import TYPE_CHECKING

from jumok.errors import optional_import
from smallworld.scenes.shapes import SHAPES
from smallworld.scenes.world import CANVAS, Background, Scene, Thing

if TYPE_CHECKING:
    from PIL.Image import Image as Picture
    from PIL.ImageDraw import ImageDraw as Draw

FINE = 4
EDGE = 1.1  # width of the darker line along a shape, in pixels
RGB = tuple[int, int, int]
FIXED: dict[str, RGB] = {
    "white": (250, 250, 250),
    "pale": (226, 238, 245),
    "ink": (44, 42, 50),
    "wood": (122, 82, 48),
    "leaf": (66, 148, 74),
}

Box = tuple[int, int, int, int]


def outline(thing: Thing, points: tuple[tuple[float, float], ...]) -> list[tuple[float, float]]:
    """Points of a shape's own square, in pixels of the image."""
    half, angle = thing.side / 2, thing.turn * pi / 180
    across, along = half * cos(angle), half * sin(angle)
    return [
        (
            thing.x + x * thing.flip * across - y * along,
            thing.y + x * thing.flip * along + y * across,
        )
        for x, y in points
    ]


def box(thing: Thing) -> Box:
    """The pixels that a thing is drawn on: left, top, right, bottom; the last two are excluded."""
    points = [point for part in SHAPES[thing.kind] for point in outline(thing, part.points)]
    across, down = [x for x, _ in points], [y for _, y in points]
    room = EDGE / 2
    return (
        max(0, floor(min(across) - room)),
        max(0, floor(min(down) - room)),
        min(CANVAS, ceil(max(across) + room)),
        min(CANVAS, ceil(max(down) + room)),
    )


def render(scene: Scene) -> "Picture":
    """The scene as an image of CANVAS x CANVAS pixels in RGB.

    Raises:
        MissingExtraError: Pillow is not installed.
    """
    image = _ground(scene.background)
    with optional_import("drawing scenes", extra="images"):
        from PIL import ImageDraw
    draw = ImageDraw.Draw(image)
    for thing in scene.things:
        _draw(draw, thing)
    return image.reduce(FINE)


def _draw(draw: "Draw", thing: Thing) -> None:
    dark: RGB = _mixed(thing.rgb, (0, 0, 0), 0.35)
    for part in SHAPES[thing.kind]:
        shade = {"own": thing.rgb, "dark": dark}.get(part.shade) or FIXED[part.shade]
        points = [(x * FINE, y * FINE) for x, y in outline(thing, part.points)]
        draw.polygon(points, fill=shade)
        if part.edge:
            closed = [*points, points[0], points[1]]
            draw.line(closed, fill=dark, width=round(EDGE * FINE), joint="curve")


def _ground(background: Background) -> "Picture":
    size, step = CANVAS * FINE, background.step * FINE
    first, second = background.first, background.second
    with optional_import("drawing scenes", extra="images"):
        from PIL import Image
    if background.pattern == "gradient":
        small = Image.new("RGB", (2, 2), first)
        small.putpixel((background.step % 2, 1), second)
        small.putpixel((1, (background.step + 1) % 2), _mixed(first, second, 0.5))
        return small.resize((size, size), Image.Resampling.BILINEAR)
    image: Picture = Image.new("RGB", (size, size), first)
    with optional_import("drawing scenes", extra="images"):
        from PIL import ImageDraw
    draw = ImageDraw.Draw(image)
    if background.pattern == "stripes":
        for start in range(0, size, 2 * step):
            draw.rectangle((0, start, size, start + step), fill=second)
    elif background.pattern == "dots":
        radius = FINE * 1.5
        for row, y in enumerate(range(0, size, step)):
            for x in range((row % 2) * step // 2, size, step):
                draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=second)
    return image


def _mixed(first: RGB, second: RGB, share: float) -> RGB:
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(first, second, strict=True))
    return red, green, blue
