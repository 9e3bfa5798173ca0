"""Tours of the page: TOML files of links with texts, in English and Korean.

    [title]
    en = "Find the head that translates"
    ko = "번역하는 헤드 찾기"

    [text]
    en = "..."
    ko = "..."

    [needs]
    parts = ["cross"]

    [[steps]]
    link = "view=overview&layer={sharpest.layer}&head={sharpest.head}"
    text.en = "..."
    text.ko = "..."

A link is what the page's address has after its #. What depends on the model is a placeholder, which
the page fills in. The names that a link may have are read from the page's source in `web/`.
"""

import difflib
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, get_args
from urllib.parse import parse_qsl

from jumok.attention.role import Part
from jumok.environment import LANGUAGES
from jumok.errors import ConfigError, Location
from jumok.inspection.page.source import source_folder
from jumok.inspection.trace import Trace
from jumok.kinds import Writes, page_facts

READER_NAMES = frozenset({"lang", "text", "picture", "pin", "tour", "step", "game"})
"""What belongs to the reader of the page, or to the tour itself, and to no link."""

COPY = "copy what the page's address has after the #"
TOUR_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
Reads = Literal["text", "picture"]
TourNeeds = Mapping[str, object]


@dataclass(frozen=True)
class TourStep:
    """One step."""

    link: str
    text: Mapping[str, str]


@dataclass(frozen=True)
class Tour:
    """A tour.

    Attributes:
        needs: what a model must have: the keys of `NEEDS`.
    """

    name: str
    title: Mapping[str, str]
    text: Mapping[str, str]
    needs: TourNeeds
    steps: tuple[TourStep, ...]

    def payload(self) -> dict[str, object]:
        """The same as plain JSON."""
        steps = [{"link": step.link, "text": dict(step.text)} for step in self.steps]
        texts = {"title": dict(self.title), "text": dict(self.text), "needs": dict(self.needs)}
        return {"name": self.name} | texts | {"steps": steps}


def _several(allowed: Iterable[str]) -> Callable[[object], bool]:
    known = frozenset(allowed)
    return lambda value: isinstance(value, list) and bool(value) and known.issuperset(value)


NEEDS: dict[str, tuple[str, Callable[[object], bool]]] = {
    "reads": ('["text"] or ["picture"], or both', _several(get_args(Reads))),
    "writes": (f"a list of some of {', '.join(get_args(Writes))}", _several(get_args(Writes))),
    "parts": (f"a list of some of {', '.join(get_args(Part))}", _several(get_args(Part))),
    "heads": ("a number of heads", lambda value: type(value) is int and value > 0),
    "output": ("true", lambda value: value is True),
    "mask": ("true", lambda value: value is True),
    "scores": ("true", lambda value: value is True),
    "recurrent": ("true", lambda value: value is True),
}
"""What a tour may need, with what it takes, and whether a value is that."""


def tours_folder() -> Path:
    """The folder of the tours that come with jumok."""
    return source_folder() / "tours"


def tour_names() -> list[str]:
    """The names of the tours that come with jumok, in alphabetical order."""
    return sorted(file.stem for file in tours_folder().glob("*.toml"))


@cache
def built_in() -> tuple[Tour, ...]:
    """The tours that come with jumok."""
    return tuple(read_tour(tours_folder() / f"{name}.toml") for name in tour_names())


def find_tour(given: str) -> Tour:
    """The tour of this name, or of this file.

    Raises:
        ConfigError: there is neither, or the file is no tour.
    """
    for tour in built_in():
        if tour.name == given:
            return tour
    if Path(given).suffix == ".toml" and Path(given).is_file():
        return read_tour(Path(given))
    raise ConfigError(
        "there is no such tour.",
        expected=f"one of {', '.join(tour_names())}, or FILE.toml",
        got=given,
        do=_suggestion(given, tour_names(), otherwise="jumok look --tours lists them"),
    )


def read_tour(file: Path) -> Tour:
    """Reads a tour and checks everything in it.

    Raises:
        ConfigError: with the file, the step, and what to do.
    """
    place = Location(file)
    try:
        text = file.read_text(encoding="utf-8-sig")
        values = tomllib.loads(text)
    except OSError as error:
        raise ConfigError(
            "the tour cannot be read.", got=str(error.strerror), place=place
        ) from error
    except (ValueError, RecursionError) as error:  # no UTF-8, no TOML, very deep nesting
        raise ConfigError(
            "the tour is not a TOML file in UTF-8.",
            got=str(error)[:200],
            do="correct that line",
            place=place,
        ) from error
    reader = _TourReader(file, text)
    reader.keys(values, ("title", "text", "needs", "steps"), "the tour")
    steps = values.get("steps")
    if not isinstance(steps, list) or not steps:
        raise reader.fault("the tour has no steps.", expected="[[steps]], at least one")
    name = re.sub(r"[^\w-]+", "-", file.stem)
    title = reader.languages(values.get("title"), "the title")
    about = reader.languages(values.get("text"), "the text")
    needs = reader.needs(values.get("needs", {}))
    return Tour(name, title, about, needs, tuple(map(reader.step, steps, range(1, len(steps) + 1))))


class _TourReader:
    """Checks the values of one file; its errors have the file and the line of the step."""

    def __init__(self, file: Path, text: str) -> None:
        self.file, self.number = file, 0
        lines = enumerate(text.splitlines(), start=1)
        self.lines = [line for line, each in lines if each.split("#")[0].strip() == "[[steps]]"]

    def fault(
        self, what: str, expected: str | None = None, got: object = None, do: str | None = None
    ) -> ConfigError:
        at = self.number - 1
        line = self.lines[at] if 0 <= at < len(self.lines) else None
        step = f"step {self.number}: " if self.number else ""
        shown = None if got is None else str(got)[:200]
        return ConfigError(
            step + what, expected=expected, got=shown, do=do, place=Location(self.file, line)
        )

    def keys(self, values: object, known: tuple[str, ...], what: str) -> Mapping[str, object]:
        if not isinstance(values, dict):
            raise self.fault(f"{what} is not a table.", f"the keys {', '.join(known)}", values)
        for key in values:
            if key not in known:
                do = _suggestion(key, known, otherwise="leave it out")
                raise self.fault(f"{what} has an unknown key.", ", ".join(known), key, do)
        return values

    def languages(self, values: object, what: str) -> dict[str, str]:
        table = self.keys(values, LANGUAGES, what)
        texts: dict[str, str] = {}
        for language in LANGUAGES:
            text = table.get(language)
            if not isinstance(text, str) or not text.strip():
                raise self.fault(
                    f"{what} is missing in {'English' if language == 'en' else 'Korean'}.",
                    expected=f'{language} = "..."',
                    do="write it in both languages, because the page has both",
                )
            texts[language] = " ".join(text.split())
        return texts

    def needs(self, values: object) -> TourNeeds:
        table = self.keys(values, tuple(NEEDS), "[needs]")
        for name, value in table.items():
            expected, is_right = NEEDS[name]
            if not _safely(is_right, value):
                raise self.fault(f"[needs] has a wrong value for {name}.", expected, value)
        return table

    def step(self, values: object, number: int) -> TourStep:
        self.number = number
        table = self.keys(values, ("link", "text"), "the step")
        text = self.languages(table.get("text"), "the text")
        for in_language in text.values():
            self.placeholders(in_language, "TEXT_PLACES", "the text")
        link = table.get("link")
        if not isinstance(link, str):
            raise self.fault("the step has no link.", 'link = "view=overview"', link)
        return TourStep(self.link(link.rpartition("#")[2]), text)

    def link(self, link: str) -> str:
        try:
            pairs = parse_qsl(link, keep_blank_values=True, strict_parsing=bool(link))
        except ValueError as error:
            raise self.fault(
                "the link cannot be read.",
                expected="NAME=VALUE, joined by &",
                got=link,
                do=COPY,
            ) from error
        known = sorted(frozenset(state_names()) - READER_NAMES)
        for name, value in pairs:
            if name in READER_NAMES:
                raise self.fault(
                    f"{name}= does not belong in a link of a tour: it is the reader's own.",
                    got=f"{name}={value}",
                    do="leave it out",
                )
            if name not in known:
                raise self.fault(
                    "the link has a name that the page does not know.",
                    expected=", ".join(known),
                    got=f"{name}={value}",
                    do=_suggestion(name, known, "{}=", COPY),
                )
            if name == "view" and value not in view_names():
                raise self.fault(
                    "the link opens a view that the page does not have.",
                    expected=", ".join(view_names()),
                    got=f"view={value}",
                    do=_suggestion(value, view_names(), "view={}", COPY),
                )
            self.placeholders(value, "LINK_PLACES", "the link")
            if TOUR_PLACEHOLDER.search(value) and not TOUR_PLACEHOLDER.fullmatch(value):
                raise self.fault(
                    "a placeholder is the whole value of a name in a link.",
                    expected=f"{name}={{...}}",
                    got=f"{name}={value}",
                )
        return link

    def placeholders(self, text: str, table: str, what: str) -> None:
        known = place_names(table)
        for name in TOUR_PLACEHOLDER.findall(text):
            if name not in known:
                raise self.fault(
                    f"{what} has an unknown placeholder.",
                    expected=", ".join(f"{{{each}}}" for each in known),
                    got=f"{{{name}}}",
                    do=_suggestion(name, known, "{{{}}}", "docs/look.md lists them"),
                )


def _suggestion(given: str, known: Iterable[str], shape: str = "{}", otherwise: str = "") -> str:
    near = difflib.get_close_matches(given, list(known), n=1)
    return f"did you mean {shape.format(near[0])}?" if near else otherwise


def _safely(is_right: Callable[[object], bool], value: object) -> bool:
    try:
        return is_right(value)
    except TypeError:  # a list of lists
        return False


@cache
def state_names() -> tuple[str, ...]:
    """The names that a link of the page may have."""
    return tuple(re.findall(r"^  (\w+):", _source_table("state.js", "FIELDS"), re.MULTILINE))


@cache
def view_names() -> tuple[str, ...]:
    """The names of the page's views."""
    return tuple(re.findall(r"\b(\w+): \w+View\b", _source_table("views/catalog.js", "QUESTIONS")))


@cache
def place_names(table: str) -> tuple[str, ...]:
    """The placeholders of links ("LINK_PLACES") or of texts ("TEXT_PLACES")."""
    block = _source_table("tours/places.js", table)
    return tuple(re.findall(r'^  "([\w.]+)":', block, re.MULTILINE))


def _source_table(module: str, name: str) -> str:
    """The lines of a table in the page's source."""
    text = (source_folder() / module).read_text("utf-8")
    return text.partition(f"const {name} = {{\n")[2].partition("\n};")[0]


def unmet(tour: Tour, trace: Trace) -> str | None:
    """What of the tour's needs a trace does not have, in words; None: it has all.

    The page decides in the same way (`web/tours/fit.js`), and leaves out what it has no views for.
    """
    facts = page_facts(trace.task, pictures=trace.picture is not None)
    parts = {site.part for site in trace.sites}
    parts_needed = tour.needs.get("parts")
    counted = parts_needed if isinstance(parts_needed, list) else parts
    sites = [site for site in trace.sites if site.part in counted]
    layers = trace.findings.layers
    stacks = [] if layers is None else layers.stacks.values()
    masked = any(
        site.allowed is not None and not site.allowed.all()
        for site in trace.sites
        if site.part == "decoder"
    )
    has: dict[str, Callable[[object], bool]] = {
        "reads": lambda value: facts["reads"] in _as_list(value),
        "writes": lambda value: facts["writes"] in _as_list(value),
        "parts": lambda value: parts.issuperset(_as_list(value)),
        "heads": lambda value: (
            isinstance(value, int) and sum(len(site.weights) for site in sites) >= value
        ),
        "output": lambda _: bool(trace.steps),
        "mask": lambda _: masked,
        "scores": lambda _: all(
            site.scale is not None and site.kind != "linear" and site.query is not None
            for site in sites
        ),
        "recurrent": lambda _: any(stack.read == "recurrent" for stack in stacks),
    }
    for name, value in tour.needs.items():
        if not has[name](value):
            shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value).lower()
            return f"{name} = {shown}"
    return None


def _as_list(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]
