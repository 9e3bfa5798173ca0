"""Endless streams of scenes, in splits that share no list of things."""

from collections.abc import Iterator
from colorsys import hsv_to_rgb
from hashlib import blake2b
from random import Random

from jumok.errors import ConfigError
from smallworld.scenes.layout import LAYOUTS, Placed, Square, place_inner
from smallworld.scenes.shapes import TURNING
from smallworld.scenes.world import (
    COLOURS,
    CONTAINER,
    CONTAINERS,
    KINDS,
    MOST_THINGS,
    SIZES,
    Background,
    Group,
    Scene,
    Thing,
)

SPLITS = ("train", "validation", "test", "unseen combination")
# The share of all lists of things, in 256ths, that a hash gives to each; train has the others.
SHARE = 12
HASHED = ("validation", "test")
MOST_ALIKE = 4
PLACINGS = 12
CONTAINING = 0.15  # of the single circles and squares beside other groups
DRAWN = tuple(name for name, layout in LAYOUTS.items() for _ in range(layout.weight))
PATTERNS = ("plain", "gradient", "gradient", "stripes", "dots")


def split_of(inventory: str) -> str:
    """The split of a list of things without unseen combinations, by a hash of its text."""
    bucket = blake2b(inventory.encode(), digest_size=1).digest()[0] // SHARE
    return HASHED[bucket] if bucket < len(HASHED) else "train"


def scenes(split: str = "train", seed: int = 1) -> Iterator[Scene]:
    """An endless stream of scenes of one split; the arguments decide it alone.

    Splits share no list of things (what there is, how many, how large and of which colour),
    however it is placed and whatever the seeds. Scenes of "unseen combination" hold a colour and
    a kind that no other split joins (`world.HELD_OUT`).

    Raises:
        ConfigError: the split is not one of SPLITS.
    """
    if split not in SPLITS:
        raise ConfigError(
            "smallworld has no such split of scenes.",
            expected=", ".join(SPLITS),
            got=split,
            do="choose one of these.",
        )
    return _stream(split, Random(f"scenes/{split}/{seed}"))


def _stream(split: str, random: Random) -> Iterator[Scene]:
    novel = split == "unseen combination"
    while True:
        layout = random.choice(DRAWN)
        groups = _groups(layout, random)
        if groups is None or any(group.novel for group in groups) != novel:
            continue
        inventory = "; ".join(sorted(map(str, groups)))
        if not novel and split_of(inventory) != split:
            continue
        for _ in range(PLACINGS):
            sides = [[_side(group, random) for _ in range(group.count)] for group in groups]
            placed = LAYOUTS[layout].place(sides, random)
            if placed is not None:
                things = tuple(_things(groups, placed, random))
                yield Scene(layout, groups, things, _background(random))
                break


def _groups(layout: str, random: Random) -> tuple[Group, ...] | None:
    """What there is: groups of different colours or kinds, 2 to MOST_THINGS things in all."""
    number = LAYOUTS[layout].groups
    groups: list[Group] = []
    known: set[tuple[str, str]] = set()
    counts = _counts(number, random)
    for count in counts:
        group = _group(count, random, layout == "inside")
        parts = [group] if group.inner is None else [group, group.inner]
        for part in parts:
            if (part.colour, part.kind) in known:
                return None
            known.add((part.colour, part.kind))
        groups.append(group)
    if sum(group.things for group in groups) > MOST_THINGS:
        return None
    return tuple(groups)


def _counts(number: int, random: Random) -> list[int]:
    if number == 1:
        return [1]
    counts = [1] * number
    for _ in range(random.randint(number, MOST_THINGS) - number):
        chosen = random.randrange(number)
        counts[chosen] += counts[chosen] < MOST_ALIKE
    return counts


def _group(count: int, random: Random, containing: bool) -> Group:
    size, colour = random.choice(list(SIZES)), random.choice(list(COLOURS))
    kind = random.choice(CONTAINERS if containing else list(KINDS))
    if containing or (count == 1 and kind in CONTAINERS and random.random() < CONTAINING):
        others = [each for each in COLOURS if each != colour]
        inner = Group(1, "small", random.choice(others), random.choice(list(KINDS)))
        return Group(1, "big", colour, kind, inner)
    return Group(count, size, colour, kind)


def _side(group: Group, random: Random) -> float:
    return random.uniform(*(SIZES[group.size] if group.inner is None else CONTAINER))


def _things(groups: tuple[Group, ...], placed: Placed, random: Random) -> Iterator[Thing]:
    for index, (group, squares) in enumerate(zip(groups, placed, strict=True)):
        for square in squares:
            yield _thing(str(index), group, square, random)
            if group.inner is not None:
                inner = place_inner(square, group, _side(group.inner, random), random)
                yield _thing(f"{index}i", group.inner, inner, random)


def _thing(label: str, group: Group, square: Square, random: Random) -> Thing:
    turn = TURNING.get(group.kind, 0.0)
    return Thing(
        label,
        group.kind,
        group.colour,
        group.size,
        *square,
        rgb=_shade(group.colour, random),
        turn=random.uniform(-turn, turn),
        flip=random.choice((-1, 1)),
    )


def _shade(colour: str, random: Random) -> tuple[int, int, int]:
    """The colour as this thing has it, a little off in hue, saturation and light."""
    _, hue, spread, saturation, value = COLOURS[colour]
    return _rgb(
        hue + random.uniform(-spread, spread),
        saturation + random.uniform(-0.07, 0.07),
        value + random.uniform(-0.06, 0.06),
    )


def _background(random: Random) -> Background:
    hue, saturation, value = random.uniform(0, 360), random.uniform(0, 0.14), random.uniform(0.9, 1)
    first = _rgb(hue, saturation, value)
    nearby = hue + random.uniform(-40, 40)
    second = _rgb(nearby, min(0.2, saturation + 0.05), value - random.uniform(0.02, 0.08))
    return Background(random.choice(PATTERNS), first, second, random.randint(9, 16))


def _rgb(hue: float, saturation: float, value: float) -> tuple[int, int, int]:
    """Bytes of a hue in degrees; saturation and value are brought into 0 to 1."""
    clipped = (min(1.0, max(0.0, each)) for each in (saturation, value))
    red, green, blue = (round(255 * each) for each in hsv_to_rgb(hue % 360 / 360, *clipped))
    return red, green, blue
