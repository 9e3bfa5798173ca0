"""`jumok demo`: a whole run in a few minutes, on the built-in corpus."""

import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jumok.cli.screen import console, has_browser, heatmap, open_page, warn_without_compiler
from jumok.cli.verbs.ship import export
from jumok.errors import ConfigError, Location

if TYPE_CHECKING:
    from jumok.bundle.card import Score
    from jumok.inspection.page.run_report import UnseenExample
    from jumok.systems.translation.result import WordAttention
    from jumok.systems.translation.translator import Translator

REPORT = "report.html"
"""The interactive page of one translation, with the run's curves."""
TRANSLATOR = "translator.html"
"""The page that translates by itself, next to the report."""
DEMO_RECIPE = "smallworld-en-ko"
SENTENCES, LISTED = 300, 12


def demo(
    folder: Annotated[Path, typer.Option(help="Output folder.")] = Path("demo"),
    minutes: Annotated[
        float, typer.Option(min=0.05, max=10_000, help="Training time in minutes.")
    ] = 3.0,
    open_: Annotated[
        bool, typer.Option("--open", help="Open the interactive page at the end.")
    ] = False,
) -> None:
    """Train a small English-Korean Transformer from scratch and inspect it.

    Writes the built-in corpus, trains a model, translates unseen sentences
    and draws a word alignment. FOLDER/report.html is the interactive page of
    one translation, with the learning curves. FOLDER/translator.html
    translates in the browser without a server; it needs the wheel for this
    system, or the package ziglang.
    """
    from jumok.training.lock import refuse_several_processes

    refuse_several_processes(os.environ)
    from jumok.config import load_config
    from jumok.shipped import shipped_recipe

    length = [f"training.minutes={minutes}", "training.steps=1000000"]
    config = load_config(shipped_recipe(DEMO_RECIPE), length)
    home = folder / config.name
    _clear(home)
    warn_without_compiler()
    from jumok.training.screen import screen

    with closing(screen()) as live:
        from jumok.training.run import train

        result = train(config, folder, live)
    if result.outcome.signal is not None:
        raise typer.Exit(128 + result.outcome.signal)
    assert result.model is not None  # a run that ends has validated
    from jumok.systems.translation.translator import Translator

    translator = Translator.load(result.model)
    test = home / "smallworld" / "test"
    from jumok.training.precision import one_thread

    with one_thread():
        examples, scores = _try_out(translator, test)
        shown = example_to_show(examples, _moved(examples, translator))
        attention = translator.attention(shown.source, shown.output) if shown.output else None
    from jumok.cli import way_in

    commands = way_in.commands(result.model, shown.source, _jumok_here())
    report = _save_report(result.model, shown.source, examples, scores, commands, folder / REPORT)
    missing = save_translator(result.model, folder / TRANSLATOR)
    _show_results(examples, scores, attention)
    show_what_to_open(
        report, result.model, [*commands.values(), *check_commands(result.model, test)], missing
    )
    if open_:
        open_page(report)


def _clear(home: Path) -> None:
    """Removes the run of an earlier demo: every demo trains from scratch."""
    if home.exists() and not (home / "config.json").exists():
        raise ConfigError(
            "this folder exists and is not a run, so the demo does not replace it.",
            place=Location(home),
            do="choose another folder: jumok demo --folder OTHER",
        )
    if home.exists():
        from jumok.training.lock import held

        with held(home):  # not while another demo trains there
            shutil.rmtree(home, ignore_errors=True)


def _try_out(translator: "Translator", test: Path) -> tuple[list["UnseenExample"], list["Score"]]:
    """Translates and scores sentences of the test split; returns the first few, and the scores."""
    sources, references = (
        test.with_suffix(f".{kind}").read_text("utf-8").splitlines()[:SENTENCES]
        for kind in ("en", "ko")
    )
    from jumok.systems.translation.segments import MODEL_ALONE

    translations = translator.translate(sources, beam=1, alignments=False, **MODEL_ALONE)
    texts = [one.text for one in translations]
    from jumok.evaluation.text import score_text

    scores = score_text(
        texts, references, target_language="ko", metrics=("bleu", "chrf"), resamples=0
    )
    rows = zip(sources[:LISTED], texts, references, strict=False)
    from jumok.inspection.page.run_report import UnseenExample

    return [UnseenExample(*row) for row in rows], scores


def _moved(examples: Sequence["UnseenExample"], translator: "Translator") -> list[int]:
    from jumok.cli.examples import words_moved
    from jumok.systems.translation.segments import MODEL_ALONE

    sources = [each.source for each in examples]
    return [words_moved(each) for each in translator.translate(sources, beam=1, **MODEL_ALONE)]


def example_to_show(examples: Sequence["UnseenExample"], moved: Sequence[int]) -> "UnseenExample":
    """The right example, or any if none is right, whose words move farthest."""
    right = [at for at, each in enumerate(examples) if each.output == each.reference]
    return examples[max(right or range(len(examples)), key=moved.__getitem__)]


def _save_report(
    model: Path,
    given: str,
    examples: Sequence["UnseenExample"],
    scores: Sequence["Score"],
    commands: Mapping[str, str],
    file: Path,
) -> Path:
    from jumok.tracing.catalog import load_family

    family = load_family(model, device="cpu")
    from jumok.tracing.request import EVERYTHING

    trace = family.trace(given, None, family.options, extras=EVERYTHING, name=family.name)
    from jumok.cli.way_in import report_of

    run_report = report_of(family.opened.parts[0])
    assert run_report is not None  # the demo has just trained it
    report = replace(
        run_report,
        commands=commands,
        examples=tuple(examples),
        scores=tuple(replace(score, on=str(SENTENCES)) for score in scores),
    )
    from jumok.data.files.atomic import atomic_file

    with atomic_file(file) as partial:
        from jumok.inspection.page import document
        from jumok.inspection.page.document import PageOrigin

        page = document.page(trace, run=report, origin=PageOrigin([str(model)]))
        partial.write_text(page, encoding="utf-8")
    return file


def save_translator(model: Path, file: Path) -> ConfigError | None:
    """The page that translates by itself; returns why there is none."""
    file.unlink(missing_ok=True)  # of an earlier demo
    try:
        from jumok.bundle.reading import read_bundle

        export.write_export(read_bundle(model), "web", file)
    except ConfigError as error:
        return error
    return None


def _jumok_here() -> str:
    """The program as it was called, from this folder, quoted for a shell."""
    program = Path(sys.argv[0])
    if program.name == "__main__.py":
        return shlex.join([sys.executable, "-m", "jumok"])
    here = program.relative_to(Path.cwd()) if program.is_relative_to(Path.cwd()) else program
    return shlex.quote(str(here))


def check_commands(model: Path, test: Path) -> list[str]:
    """The commands that score the model and describe it."""
    jumok, place = _jumok_here(), shlex.quote(str(model))
    source, reference = (shlex.quote(f"{test}.{language}") for language in ("en", "ko"))
    return [
        f"{jumok} evaluate {place} --source {source} --reference {reference}",
        f"{jumok} info {place}",
    ]


def _show_results(
    examples: Sequence["UnseenExample"],
    scores: Sequence["Score"],
    attention: "WordAttention | None",
) -> None:
    screen = console()
    screen.print("\nUnseen sentences:\n")
    for example in examples[:8]:
        same = example.output == example.reference
        screen.print(f"  {example.source}", soft_wrap=True)
        screen.print(f"  {example.output}  {'✓' if same else ''}", style="bold", soft_wrap=True)
        screen.print("" if same else f"  {example.reference}  (reference)\n", soft_wrap=True)
    screen.print(
        f"{scores[0].name} {scores[0].value:.1f}, {scores[1].name} {scores[1].value:.1f} "
        f"on {SENTENCES} unseen sentences\n{scores[0].signature}",
        soft_wrap=True,
    )
    if attention is not None:
        screen.print("\nWhich English words each Korean word attended to:\n")
        words = attention.source_words, attention.target_words
        screen.print(heatmap(attention.weights, *words, screen.width), soft_wrap=True)


def show_what_to_open(
    report: Path, model: Path, commands: Sequence[str], missing: ConfigError | None
) -> None:
    """Prints the next commands, and last the files to open in a browser.

    Args:
        missing: why there is no page that translates by itself.
    """
    translator = "the model itself: type a sentence, offline"
    if missing is not None:
        translator = f"was not written: {missing.what} {missing.do}"
    lines = [
        "\nTry next:\n",
        *(f"  {command}" for command in commands),
        "\nOpen in a browser:\n",
        f"  {report}  one translation, every layer and head, and the learning curves",
        f"  {report.parent / TRANSLATOR}  {translator}",
        "\nThe page, live, with sentences of your own:\n",
        f"  {_jumok_here()} look {shlex.quote(str(model))}",
    ]
    if sys.stdout.isatty() and has_browser():
        lines += [f"\n{_jumok_here()} demo --open opens the page by itself."]
    console().print("\n".join(lines), soft_wrap=True)
