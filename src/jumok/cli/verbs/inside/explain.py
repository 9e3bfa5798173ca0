"""`jumok explain`: one row of attention, step by step, in the terminal."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.table import Table

from jumok.cli import options as option
from jumok.cli.saved_trace import saved_trace
from jumok.cli.screen import console
from jumok.cli.verbs.inside.lecture import list_examples, show_lecture
from jumok.cli.verbs.inside.look import Beams
from jumok.errors import ConfigError
from jumok.late import late_imports

with late_imports():
    from jumok.inspection import explain as inspection_explain
    from jumok.tracing import catalog, request

if TYPE_CHECKING:
    from jumok.inspection.explain import ExplainedRow
    from jumok.inspection.trace import Site, Trace
    from jumok.tracing.catalog import Family

BAR = 24
MOST_CELLS = 10
"""For an image, only the cells with the largest weights are printed."""


def explain(
    model: Annotated[
        str | None,
        typer.Argument(
            help="A bundle: the folder that training wrote. With --lecture the number of a note, "
            "002, or its number and a line, 002:11."
        ),
    ] = None,
    given: Annotated[
        str | None,
        typer.Argument(
            metavar="TEXT|IMAGE|TRACE",
            help="A sentence, an image file, or a saved trace (.npz).",
        ),
    ] = None,
    row: Annotated[
        str | None,
        typer.Option(help="The query: a word or token, or the number of its row, counted from 1."),
    ] = None,
    part: Annotated[
        Literal["encoder", "decoder", "cross", "image"] | None,
        typer.Option(
            help="Attention kind: encoder self-attention, decoder self-attention, cross-attention "
            "(target to source), or image self-attention."
        ),
    ] = None,
    layer: Annotated[
        int | None,
        typer.Option(
            min=1, help="Layer, counted from 1 (default: the one used for alignments, or the last)."
        ),
    ] = None,
    head: Annotated[
        int | None,
        typer.Option(
            min=1, help="Head, counted from 1 (default: the one with the highest weight)."
        ),
    ] = None,
    read_at: Annotated[
        Literal["writes", "reads"] | None,
        typer.Option(
            help="Which row of an output word: that of the step that writes it, or of the step "
            "that reads it (default: the bundle's alignment setting)."
        ),
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="Use this translation instead of the model's own.")
    ] = None,
    beam: Beams = None,
    device: option.Device = "auto",
    lecture: Annotated[
        bool,
        typer.Option(
            "--lecture",
            help="Show the worked numbers of a lecture note, computed again, in place of a model; "
            "without a number, list them.",
        ),
    ] = False,
    save: Annotated[
        Path | None,
        typer.Option(help="With --lecture: save its attention as pages (.html)."),
    ] = None,
    lang: Annotated[
        Literal["en", "ko"],
        typer.Option(help="With --lecture: language of the output.", envvar="JUMOK_LANG"),
    ] = "en",
) -> None:
    """Recompute one row of attention from its vectors: q·k, scale, softmax, values.

    Every number is recomputed and compared with what the model computed.
    For a word of the output, the row is that of the bundle's alignment
    setting; the first line names the step.

      jumok explain MODEL "The cat saw a dog because it barked." --row it

      jumok explain --lecture 002 --save page.html
    """
    if lecture:
        _check_lecture({"TEXT": given, "--row": row, "--part": part, "--layer": layer,
            "--head": head, "--read-at": read_at, "--target": target, "--beam": beam})  # fmt: skip
        if model is None:
            list_examples(lang)
        else:
            show_lecture(model, lang, save)
        return
    if save is not None:
        raise ConfigError(
            "--save belongs to --lecture here.",
            got=f"--save {save}",
            do="jumok look MODEL TEXT --save FILE.html saves a page of a model",
        )
    if model is None or given is None or row is None:
        raise _incomplete(model, given)
    family, name = option.load_family(model, device, "fp32", 0)
    trace = saved_trace(family, given, {"--target": target, "--beam": beam})
    trace = trace or _traced(family, name, given, target, beam)
    at_input = None if read_at is None else read_at == "reads"
    wanted = None if head is None else head - 1
    at_layer = None if layer is None else layer - 1
    site, number = inspection_explain.choose(
        trace, row, part, at_layer, head=wanted, at_input=at_input
    )
    if wanted is None:
        wanted = _read_head(trace, site)
    found = inspection_explain.explain(trace, site, number, wanted)
    console().print(f"{trace.text}\n{trace.output}\n")
    _print_name(trace, found, number, row, at_input)
    _print_row(found, cells=trace.axes[site.keys].grid is not None)


def _check_lecture(asked: dict[str, object]) -> None:
    """Checks that nothing is given with --lecture that only a model has.

    Raises:
        ConfigError: something is.
    """
    strange = [name for name, value in asked.items() if value is not None]
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
    trace: "Trace", found: "ExplainedRow", number: int, word: str, at_input: bool | None
) -> None:
    """Prints the row, its layer and head, and the other rows of the word."""
    screen, site = console(), found.site
    screen.print(inspection_explain.row_name(trace, site, number), soft_wrap=True)
    screen.print(f"{site.part}, layer {site.layer + 1}, head {found.head + 1} ({site.kind})")
    for line in _others(trace, site, word, number, at_input):
        screen.print(line)


def _read_head(trace: "Trace", site: "Site") -> int | None:
    """The head that alignments are extracted from, if it is at this site."""
    setting = trace.findings.setting if site.part == "cross" else None
    return setting.head if setting is not None and setting.layer == site.layer else None


def _others(
    trace: "Trace", site: "Site", word: str, row: int, at_input: bool | None
) -> Iterator[str]:
    """Lines that name the other rows of a word with several."""
    rows = inspection_explain.rows_of(trace, site, word, at_input=at_input)
    if len(rows) > 1:
        yield f"{word!r} has {len(rows)} rows; this is the one with the largest weight. The others:"
        for other in rows:
            if other != row:
                name = inspection_explain.row_name(trace, site, other)
                yield f"  --row {other + 1:<3} {name.split(': ', 1)[1]}"


def _print_row(found: "ExplainedRow", *, cells: bool) -> None:
    site, looks = found.site, list(found.looks)
    if cells:
        looks = sorted(looks, key=lambda look: -look.weight)[:MOST_CELLS]
    product = "q·k" if site.energy is None else "v·tanh(q+k)"
    score = "score" if site.scale == 1 else f"x {site.scale:.4f}"
    table = Table(box=None)
    for heading in ("attends to", product, score, "softmax", "", "|weight x v|"):
        text = heading in ("attends to", "")
        table.add_column(heading, justify="left" if text else "right", overflow="fold")
    for look in looks:
        hidden = look.score == float("-inf")
        table.add_row(
            look.key,
            f"{look.product:.4f}",
            "masked" if hidden else f"{look.score:.4f}",
            f"{look.weight:.4f}",
            "█" * round(BAR * look.weight) or "▏",
            f"{look.given:.4f}",
        )
    screen = console()
    screen.print(table)
    others = len(found.looks) - len(looks)
    if others:
        rest = 1 - sum(look.weight for look in looks)
        screen.print(
            f"The {len(looks)} cells with the largest weights; the other {others} share {rest:.4f}."
        )
    total = sum(look.weight for look in found.looks)
    if found.sink is not None:
        screen.print(f"\nthe head's sink: {found.sink:.4f}")
    if found.factor != 1:
        screen.print(f"\nThis map is a factor of {found.factor:.4f} in the output of its pair.")
    screen.print(f"\nsum of the weights {total:.4f}; recomputed - recorded: {found.recorded:.1e}")


def _traced(
    family: "Family", name: str, given: str, target: str | None, beam: int | None
) -> "Trace":
    catalog.check_given(family, given)
    options = family.options if beam is None else replace(family.options, beam=beam)
    return family.trace(given, target, options, extras=request.NOTHING, name=name)
