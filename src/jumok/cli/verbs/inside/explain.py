"""`jumok explain`: one row of attention, step by step, in the terminal."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.table import Table

from jumok.cli.late_verbs import load_attached
from jumok.cli.options import Beams, ChosenLanguages, Machine, Without
from jumok.cli.screen import console
from jumok.environment import Language, language
from jumok.errors import ConfigError
from jumok.options import option

if TYPE_CHECKING:
    from jumok.inspection.explain import ExplainedRow
    from jumok.inspection.trace import Site, Trace
    from jumok.tracing.catalog import Family

Lang = Annotated[
    Language,
    typer.Option(
        help="With --lecture: language of the output (default: the system's language).",
        envvar="JUMOK_LANG",
        show_default=False,
    ),
]
USUAL = language()
BAR = 24
MOST_CELLS = 10
"""For an image, only the cells with the largest weights are printed."""


@dataclass(frozen=True)
class RowArgs:
    """The row to explain."""

    row: str | None = option(
        None, "Query: a word or token, or the number of its row, counted from 1."
    )
    part: Literal["encoder", "decoder", "cross", "image"] | None = option(
        None,
        "Attention kind: encoder self-attention, decoder self-attention, cross-attention (target "
        "to source), or image self-attention.",
    )
    layer: int | None = option(
        None,
        "Layer, counted from 1 (default: the layer of the alignment setting, or the last).",
        minimum=1,
    )
    head: int | None = option(
        None, "Head, counted from 1 (default: the head with the highest weight).", minimum=1
    )
    read_at: Literal["writes", "reads"] | None = option(
        None,
        "Row of an output word: the step that writes it, or the step that reads it (default: the "
        "bundle's alignment setting).",
    )
    target: str | None = option(None, "Use this translation instead of the model's output.")

    @property
    def at_input(self) -> bool | None:
        """Whether the step is the one that reads the word; None: not said."""
        return None if self.read_at is None else self.read_at == "reads"


@dataclass(frozen=True)
class LectureArgs:
    """The worked numbers of a lecture note in place of a model."""

    lecture: bool = option(
        False,
        "Show the worked example of a lecture note, recomputed, instead of a model; without a "
        "number, list all examples.",
    )
    save: Path | None = option(
        None, "With --lecture: save the attention of the example as pages (.html)."
    )


def explain(
    model: Annotated[
        str | None,
        typer.Argument(
            help="Bundle: the folder of a trained model. With --lecture: the number of a note, "
            "002, or of a note and a line, 002:11."
        ),
    ] = None,
    given: Annotated[
        str | None,
        typer.Argument(
            metavar="TEXT|IMAGE|TRACE",
            help="Sentence, image file or saved trace (.npz).",
        ),
    ] = None,
    beam: Beams = None,
    lang: Lang = USUAL,
    *,
    asked: Annotated[RowArgs, RowArgs()],
    languages: Annotated[ChosenLanguages, ChosenLanguages()],
    note: Annotated[LectureArgs, LectureArgs()],
    machine: Annotated[Machine, Machine(), Without("batch", "precision", "threads")],
) -> None:
    """Recompute a row of attention from its vectors: q·k, scaling, softmax, values.

    Compares every recomputed number with the model's own. The row of an
    output word follows the bundle's alignment setting; the first line of the
    output names the step.

      jumok explain MODEL "The cat saw a dog because it barked." --row it

      jumok explain --lecture 002 --save page.html
    """
    if note.lecture:
        _check_lecture({"TEXT": given, "--beam": beam}, asked)
        load_attached("jumok.explain", "lecture")(model, lang, note.save)
        return
    if note.save is not None:
        raise ConfigError(
            "--save belongs to --lecture here.",
            got=f"--save {note.save}",
            do="jumok look MODEL TEXT --save FILE.html saves a page of a model",
        )
    if model is None or given is None or asked.row is None:
        raise _incomplete(model, given)
    from jumok.cli.looking import saved_trace

    family = machine.load_family(model, languages)
    trace = saved_trace(family, given, {"--target": asked.target, "--beam": beam})
    trace = trace or _traced(family, given, asked.target, beam)
    _explain(trace, asked, asked.row)


def _explain(trace: "Trace", asked: RowArgs, row: str) -> None:
    head = None if asked.head is None else asked.head - 1
    layer = None if asked.layer is None else asked.layer - 1
    from jumok.inspection import explain as inspection_explain

    site, number = inspection_explain.choose(
        trace, row, asked.part, layer, head=head, at_input=asked.at_input
    )
    head = _read_head(trace, site) if head is None else head
    explained = inspection_explain.explain(trace, site, number, head)
    console().print(f"{trace.text}\n{trace.output}\n")
    _print_name(trace, explained, number, row, asked.at_input)
    _print_row(explained, cells=trace.axes[site.keys].grid is not None)


def _check_lecture(given: dict[str, object], asked: RowArgs) -> None:
    given |= {f"--{name.replace('_', '-')}": value for name, value in asdict(asked).items()}
    strange = [name for name, value in given.items() if value is not None]
    if strange:
        raise ConfigError(
            "these have no effect on the worked numbers of a note.",
            expected="jumok explain --lecture NOTE, with --save and --lang",
            got=", ".join(strange),
            do="leave them out",
        )


def _incomplete(model: str | None, given: str | None) -> ConfigError:
    missing = "--row WORD" if given is not None else "TEXT" if model is not None else "MODEL"
    return ConfigError(
        "there is no row to explain.",
        expected='jumok explain MODEL "..." --row WORD, or jumok explain --lecture 002',
        got=f"nothing for {missing}",
    )


def _print_name(
    trace: "Trace", explained: "ExplainedRow", number: int, word: str, at_input: bool | None
) -> None:
    screen, site = console(), explained.site
    from jumok.inspection.explain import row_name

    screen.print(row_name(trace, site, number), soft_wrap=True)
    screen.print(f"{site.part}, layer {site.layer + 1}, head {explained.head + 1} ({site.kind})")
    for line in _others(trace, site, word, number, at_input):
        screen.print(line)


def _read_head(trace: "Trace", site: "Site") -> int | None:
    setting = trace.findings.setting if site.part == "cross" else None
    return setting.head if setting is not None and setting.layer == site.layer else None


def _others(
    trace: "Trace", site: "Site", word: str, row: int, at_input: bool | None
) -> Iterator[str]:
    """Lines that name the other rows of a word with several."""
    from jumok.inspection.explain import row_name, rows_of

    rows = rows_of(trace, site, word, at_input=at_input)
    if len(rows) > 1:
        yield f"{word!r} has {len(rows)} rows; this is the one with the largest weight. The others:"
        for other in rows:
            if other != row:
                name = row_name(trace, site, other)
                yield f"  --row {other + 1:<3} {name.split(': ', 1)[1]}"


def _print_row(explained: "ExplainedRow", *, cells: bool) -> None:
    site, looks = explained.site, list(explained.looks)
    if cells:
        looks = sorted(looks, key=lambda look: -look.weight)[:MOST_CELLS]
    recorded = site.scale is None
    product = "v·tanh(q+k)" if site.energy is not None else "" if recorded else "q·k"
    score = f"x {site.scale:.4f}" if site.scale not in (1, None) else "score"
    table = Table(box=None)
    for heading in ("attends to", product, score, "softmax", "", "|weight x v|"):
        text = heading in ("attends to", "")
        table.add_column(heading, justify="left" if text else "right", overflow="fold")
    for look in looks:
        hidden = look.score == float("-inf")
        table.add_row(
            look.key,
            "" if look.product is None else f"{look.product:.4f}",
            "masked" if hidden else f"{look.score:.4f}",
            f"{look.weight:.4f}",
            "█" * round(BAR * look.weight) or "▏",
            f"{look.given:.4f}",
        )
    screen = console()
    screen.print(table)
    others = len(explained.looks) - len(looks)
    if others:
        rest = 1 - sum(look.weight for look in looks)
        screen.print(
            f"The {len(looks)} cells with the largest weights; the other {others} share {rest:.4f}."
        )
    total = sum(look.weight for look in explained.looks)
    if explained.sink is not None:
        screen.print(f"\nthe head's sink: {explained.sink:.4f}")
    if explained.factor != 1:
        screen.print(f"\nThis map is a factor of {explained.factor:.4f} in the output of its pair.")
    if recorded:
        screen.print(f"\nThe scores are recorded: {site.kind!r} is not recomputed from q and k.")
    screen.print(
        f"\nsum of the weights {total:.4f}; recomputed - recorded: {explained.recorded:.1e}"
    )


def _traced(family: "Family", given: str, target: str | None, beam: int | None) -> "Trace":
    from jumok.tracing.catalog import check_given

    check_given(family, given)
    options = family.options if beam is None else replace(family.options, beam=beam)
    from jumok.tracing.request import NOTHING

    return family.trace(given, target, options, extras=NOTHING, name=family.name)
