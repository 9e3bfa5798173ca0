"""`jumok demo`: a whole run in a few minutes, on a corpus that comes with jumok."""

import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jumok.cli import browser
from jumok.cli.machine import say_what_is_missing
from jumok.cli.screen import console
from jumok.cli.verbs.ship import export
from jumok.errors import ConfigError, Place
from jumok.late import late_imports

with late_imports():
    from jumok import config as jumok_config
    from jumok import shipped
    from jumok.bundle import reading
    from jumok.cli.report import heatmap as report_heatmap
    from jumok.cli.report import page
    from jumok.data.files import run_log
    from jumok.evaluation import text
    from jumok.inspection.page import document
    from jumok.systems.translation import translator as translation_translator
    from jumok.tracing import catalog, request
    from jumok.training import lock, precision, run
    from jumok.training import screen as training_screen

if TYPE_CHECKING:
    from jumok.bundle.card import Score
    from jumok.cli.report.page import ReportExample
    from jumok.systems.translation.translator import Translator
    from jumok.training.loop import Progress

PAGE = "page.html"
"""The interactive page, next to the report."""
TRANSLATOR = "translator.html"
"""The page that translates by itself, next to the report."""
RECIPE = "smallworld-en-ko"
SENTENCES, LISTED, DRAWN = 300, 12, 4

Folder = Annotated[Path, typer.Option(help="Output folder.")]
Minutes = Annotated[float, typer.Option(min=0.05, max=10_000, help="Minutes of training.")]

Open = Annotated[bool, typer.Option("--open", help="Open the interactive page at the end.")]


def demo(folder: Folder = Path("demo"), minutes: Minutes = 3.0, open_: Open = False) -> None:
    """Train a small English-Korean Transformer from scratch and inspect it.

    Writes the built-in corpus, trains a model, translates unseen sentences,
    draws a word alignment, and writes FOLDER/report.html and the interactive
    page FOLDER/page.html; with ziglang installed, or from a wheel for this
    system, also FOLDER/translator.html, which translates by itself.
    """
    lock.refuse_several_processes(os.environ)
    config = jumok_config.load_config(
        shipped.shipped_recipe(RECIPE), [f"training.minutes={minutes}"]
    )
    home = folder / config.name
    _clear(home)
    say_what_is_missing()
    with closing(training_screen.screen()) as live:
        result = run.train(config, folder, live)
    if result.outcome.signal is not None:
        raise typer.Exit(128 + result.outcome.signal)
    assert result.model is not None  # a run that ends has validated
    translator = translation_translator.Translator.load(result.model)
    test = home / "smallworld" / "test"
    with precision.one_thread():
        examples, scores = try_out(translator, test)
    commands = next_commands(result.model, test)
    figures = key_figures(result.progress, scores, reading.read_bundle(result.model).parameters)
    records = list(run_log.read_log(home / run_log.LOG))
    save_page(result.model, examples, folder / PAGE)
    file = folder / "report.html"
    file.write_text(page.report(figures, records, examples, commands, PAGE), encoding="utf-8")
    missing = save_translator(result.model, folder / TRANSLATOR)
    show(examples, scores)
    show_what_to_open(file, result.model, commands, missing)
    if open_:
        browser.open_page(folder / PAGE)


def _clear(home: Path) -> None:
    """Removes the run of an earlier demo: every demo trains from scratch."""
    if home.exists() and not (home / "config.json").exists():
        raise ConfigError(
            "this folder exists and is not a run, so the demo does not replace it.",
            place=Place(home),
            do="choose another folder: jumok demo --folder OTHER",
        )
    if home.exists():
        with lock.held(home):  # not while another demo trains there
            shutil.rmtree(home, ignore_errors=True)


def try_out(translator: "Translator", test: Path) -> tuple[list["ReportExample"], list["Score"]]:
    """Translates and scores sentences of the test split.

    Returns the examples to list, the first few with the attention to draw, and the scores.
    """
    sources, references, links = (
        test.with_suffix(f".{kind}").read_text("utf-8").splitlines()[:SENTENCES]
        for kind in ("en", "ko", "align")
    )
    found = translator.translate(sources, beam=1, alignments=False, split="length", keep=False)
    texts = [one.text for one in found]
    scores = text.score_text(
        texts, references, target_language="ko", metrics=("bleu", "chrf"), resamples=0
    )
    examples = []
    for row in range(min(LISTED, len(sources))):
        drawable = row < DRAWN and texts[row] != ""
        attention = translator.attention(sources[row], texts[row]) if drawable else None
        same = texts[row] == references[row]
        gold = [tuple(map(int, link.split("-"))) for link in links[row].split()] if same else []
        examples.append(
            page.ReportExample(
                sources[row],
                texts[row],
                references[row],
                attention,
                tuple((source, target) for source, target in gold),
            )
        )
    return examples, scores


def key_figures(progress: "Progress", scores: Sequence["Score"], parameters: int) -> dict[str, str]:
    """The key figures at the top of the report."""
    return {
        f"BLEU on {SENTENCES} unseen sentences": f"{scores[0].value:.1f}",
        "chrF on the same": f"{scores[1].value:.1f}",
        "minutes of training": f"{progress.seconds / 60.0:.1f}",
        "million target tokens seen": f"{progress.tokens / 1e6:.1f}",
        "tokens per second": f"{progress.tokens / progress.step_seconds:,.0f}",
        "million parameters": f"{parameters / 1e6:.1f}",
    }


def save_page(model: Path, examples: Sequence["ReportExample"], file: Path) -> None:
    """The interactive page of the first sentence, as `jumok look --save` writes it."""
    family = catalog.load_family(model, device="cpu")
    first = examples[0].source
    trace = family.trace(first, None, family.options, extras=request.EVERYTHING, name=family.name)
    file.write_text(document.page(trace), encoding="utf-8")


def save_translator(model: Path, file: Path) -> ConfigError | None:
    """The page that translates by itself; returns why there is none."""
    file.unlink(missing_ok=True)  # of an earlier demo
    try:
        export.save_web_page(reading.read_bundle(model), file)
    except ConfigError as error:
        return error
    return None


def jumok_here() -> str:
    """The program as it was called, from this folder, quoted for a shell."""
    program = Path(sys.argv[0])
    here = program.relative_to(Path.cwd()) if program.is_relative_to(Path.cwd()) else program
    return shlex.quote(str(here))


def next_commands(model: Path, test: Path) -> list[str]:
    """Commands to try next, ready to be copied."""
    jumok = jumok_here()
    return [
        f'{jumok} look {model} "The cat saw a dog."',
        f'echo "The teacher read a book." | {jumok} translate {model} --alignments',
        f"{jumok} evaluate {model} --source {test}.en --reference {test}.ko",
        f"{jumok} info {model}",
    ]


def show(examples: Sequence["ReportExample"], scores: Sequence["Score"]) -> None:
    """Prints translations and one alignment to the terminal."""
    screen = console()
    screen.print("\nUnseen sentences:\n")
    for example in examples[:8]:
        same = example.translation == example.reference
        screen.print(f"  {example.source}", soft_wrap=True)
        screen.print(
            f"  {example.translation}  {'✓' if same else ''}", style="bold", soft_wrap=True
        )
        screen.print("" if same else f"  {example.reference}  (reference)\n", soft_wrap=True)
    screen.print(
        f"{scores[0].name} {scores[0].value:.1f}, {scores[1].name} {scores[1].value:.1f} "
        f"on {SENTENCES} unseen sentences\n{scores[0].signature}",
        soft_wrap=True,
    )
    drawn = next((example for example in examples if example.attention is not None), None)
    if drawn is not None and drawn.attention is not None:
        seen = drawn.attention
        screen.print("\nWhich English words each Korean word attended to:\n")
        screen.print(
            report_heatmap.heatmap(
                seen.weights, seen.source_words, seen.target_words, screen.width
            ),
            soft_wrap=True,
        )


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
        f"  {report.parent / PAGE}  one translation, every layer and head",
        f"  {report}  learning curves, translations and attention",
        f"  {report.parent / TRANSLATOR}  {translator}",
        "\nThe same page, live, with sentences of your own:\n",
        f"  {jumok_here()} look {model}",
    ]
    if browser.is_offered():
        lines += [f"\n{jumok_here()} demo --open opens the page by itself."]
    console().print("\n".join(lines), soft_wrap=True)
