"""The worked numbers of the lecture notes: `jumok explain --lecture`."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.table import Table

from jumok.cli.output.streams import open_output
from jumok.cli.screen import console
from jumok.environment import Language
from jumok.errors import ConfigError
from jumok_lectures.texts import Texts

T = Texts("lecture")

if TYPE_CHECKING:
    from jumok.inspection.explain import ExplainedRow
    from jumok_lectures.worked.example import WorkedExample, WorkedStep

BAR, LARGE = 24, 1e6

GIVERS = T.named("givers")
COMPUTED = T("computed")
AGREES, DIFFERS = T("agrees"), T("differs")
ROW = T("row")
HEADINGS = (T("attends_to"), T("q_k"), T("score"), T("softmax"))
SUMMARY = T("summary")
USE = T("use")


def explain_lecture(wanted: str | None, lang: Language, save: Path | None) -> None:
    """Prints the examples of a note, or without a note lists all of them."""
    if wanted is None:
        list_examples(lang)
    else:
        show_lecture(wanted, lang, save)


def list_examples(lang: Language) -> None:
    """Prints every worked example: where it begins, and its title."""
    screen = console()
    from jumok_lectures.worked.catalog import WORKED, worked

    for number in WORKED:
        for example in worked(number):
            screen.print(f"{example.quote.place:<8} {example.title.of(lang)}", soft_wrap=True)
    screen.print(f"\n{USE.of(lang)}", soft_wrap=True)


def show_lecture(wanted: str, lang: Language, save: Path | None) -> None:
    """Prints the examples of a note, and saves their pages.

    Raises:
        ConfigError: there is no such note or example, or it has no page.
    """
    if save is not None and save.suffix != ".html":
        raise ConfigError("--save writes a page.", expected="--save FILE.html", got=str(save))
    from jumok_lectures.worked.catalog import worked

    examples = worked(wanted)
    shown = [example for example in examples if example.trace is not None]
    if save is not None and not shown:
        raise ConfigError(
            "this example has no attention to show in a page.",
            expected=", ".join(_with_pages()),
            got=wanted,
            do="leave --save out, or choose one of these",
        )
    for example in examples:
        _print_example(example, lang)
    _print_summary(examples, lang)
    if save is not None:
        _save(shown, save)


def _with_pages() -> Iterator[str]:
    """The places of the examples that have a page."""
    from jumok_lectures.worked.catalog import WORKED, worked

    for number in WORKED:
        for example in worked(number):
            if example.trace is not None:
                yield example.quote.place


def _save(examples: "Sequence[WorkedExample]", save: Path) -> None:
    """Writes a page for each: FILE.html, FILE-2.html and so on; prints the links of their rows."""
    from jumok.inspection.page.document import page

    for number, example in enumerate(examples, start=1):
        assert example.trace is not None
        file = save if number == 1 else save.with_stem(f"{save.stem}-{number}")
        with open_output(file) as stream:
            stream.write(page(example.trace))
        link = f"{file.resolve().as_uri()}#view=row&query={example.row}"
        typer.echo(f"{example.quote.place}  {link}", err=True)


def _print_example(example: "WorkedExample", lang: Language) -> None:
    screen = console()
    screen.print(f"{example.quote.place}  {example.title.of(lang)}", style="bold", soft_wrap=True)
    screen.print(f"{example.given.of(lang)}", soft_wrap=True)
    quoted = None
    for step in example.steps:
        if step.quote != quoted:
            words = " ".join(step.quote.words.split())
            screen.print(f"\n{step.quote.place}  {words}", style="dim", soft_wrap=True)
            quoted = step.quote
        screen.print(f"  {step.said.of(lang)}", soft_wrap=True)
        for line in _compared(step, lang):
            screen.print(f"    {line}", soft_wrap=True)
    row = example.explained
    if row is not None:
        screen.print(f"\n{ROW.of(lang).format(row.query)}")
        screen.print(_table(row, lang))
    screen.print()


def _compared(step: "WorkedStep", lang: Language) -> Iterator[str]:
    """The number from elsewhere and the computed one, whether they agree, and if not, why."""
    if step.noted is None or step.computed is None:
        return
    giver = GIVERS[step.noted.where].of(lang).format(step.noted.giver)
    verdict = AGREES if step.agrees else DIFFERS
    yield (
        f"{giver}: {step.noted.written}   {COMPUTED.of(lang)}: "
        f"{_written(step.computed)}   {verdict.of(lang)}"
    )
    if step.why is not None and not step.agrees:
        yield step.why.of(lang)


def _written(number: float) -> str:
    """A whole number without a point, a large one in full, any other with four digits."""
    if abs(number) > LARGE:
        return repr(number)
    return f"{number:g}" if number.is_integer() else f"{number:.4f}"


def _table(row: "ExplainedRow", lang: Language) -> Table:
    table = Table(box=None)
    additive = row.site.energy is not None
    for heading in HEADINGS:
        name = "v·tanh(q+k)" if additive and heading.en == "q·k" else heading.of(lang)
        table.add_column(name, justify="left" if heading is HEADINGS[0] else "right")
    table.add_column("")
    for look in row.looks:
        hidden = look.score == float("-inf")
        score = "-∞" if hidden else f"{look.score:.4f}"
        weight = f"{look.weight:.4f}"
        bar = "█" * round(BAR * look.weight) or "▏"
        table.add_row(look.key, f"{look.product:.4f}", score, weight, bar)
    return table


def _print_summary(examples: "Sequence[WorkedExample]", lang: Language) -> None:
    agree = [step.agrees for example in examples for step in example.steps]
    same, other = agree.count(True), agree.count(False)
    if same + other:
        text = SUMMARY.of(lang).format(numbers=same + other, same=same, other=other)
        console().print(text, style="bold", soft_wrap=True)
