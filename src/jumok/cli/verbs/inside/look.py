"""`jumok look`: the attention of a model as a page."""

import webbrowser
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from jumok.cli.language import how_to_stop
from jumok.cli.looking import (
    Beside,
    FigureArgs,
    ListTours,
    TourName,
    fitting,
    load_beside,
    save_figure,
    saved_trace,
    say_odd,
    wanted_tour,
)
from jumok.cli.options import (
    Beams,
    ChosenLanguages,
    Machine,
    ModelOrEnsemble,
    Without,
    model_folders,
)
from jumok.cli.output.streams import open_output
from jumok.cli.screen import waiting
from jumok.environment import Language
from jumok.errors import ConfigError
from jumok.options import option

if TYPE_CHECKING:
    from jumok.decoding import DecodingOptions
    from jumok.inspection.trace import Trace
    from jumok.serving.pictures import ServedPictures
    from jumok.tracing.catalog import Family
    from jumok.tracing.comparison import Comparison

PerhapsGiven = Annotated[
    str | None,
    typer.Argument(
        metavar="[TEXT|IMAGE|TRACE]",
        help="Sentence, image file or saved trace (.npz) (default: examples in the page).",
    ),
]
DEFAULT_LEVEL: Literal["qk"] = "qk"


@dataclass(frozen=True)
class PageArgs:
    """What is shown of a text or an image, and where."""

    save: Path | None = option(None, "Save a page (.html) that works offline, or a trace (.npz).")
    target: str | None = option(
        None, "Use this translation, caption or label instead of the model's output."
    )
    from_: str | None = option(None, "Source language, if the model has several language pairs.")
    into: str | None = option(
        None,
        "Target language, if the model has several language pairs (--to is the file of a figure).",
    )
    gold: str | None = option(
        None,
        "Gold alignment to show: SOURCE-TARGET word indices from 0, such as '0-0 1-2'; 1p2 = "
        "possible.",
        metavar="LINKS",
    )
    level: Literal["weights", "qk", "full"] = option(
        DEFAULT_LEVEL,
        "Contents of the trace. qk adds queries, keys and values, from which the weights can be "
        "recomputed, but the file is larger; full also adds the residual streams.",
    )
    lang: Language | None = option(
        None,
        "Language of the page, which has a button to change it (default: the browser's language).",
    )
    port: int = option(0, "Port; 0 = any free port.", minimum=0, maximum=65535)
    host: str | None = option(
        None,
        "Also accept requests for this host name and port, such as localhost:9000 of a proxy or a"
        " tunnel.",
        metavar="NAME",
    )
    browser: bool = option(True, "Open a browser window.", "--browser/--no-browser")

    @property
    def languages(self) -> ChosenLanguages:
        return ChosenLanguages(self.from_, self.into)


def look(
    model: ModelOrEnsemble,
    given: PerhapsGiven = None,
    beam: Beams = None,
    tour: TourName = None,
    tours: ListTours = False,  # noqa: ARG001 (answered when it is read)
    *,
    shown: Annotated[PageArgs, PageArgs()],
    second: Annotated[Beside, Beside()],
    figure: Annotated[FigureArgs, FigureArgs()],
    machine: Annotated[Machine, Machine(threads=1), Without("batch")],
) -> None:
    """Show the attention of every layer and head for a sentence or an image.

    Works with every kind of model: translators, captioners, language models,
    masked language models and classifiers. Without --save, opens a live page
    that only this machine can reach; the page recomputes everything when you
    type another sentence or choose another image.

    Without a text, the page has examples: validation data of the model, or
    sentences of the built-in corpus if it has the language of the model.

      jumok look runs/first/model "The cat saw a dog."

      jumok look CAPTIONER photo.jpg --save page.html

      jumok look MODEL "The cat saw a dog." --figure alignment --to cat.pdf

      jumok look MODEL "I sat by the bank." --against "The bank lent me money."

      jumok look TUNED "I sat by the bank." --before MODEL

      jumok look MODEL "The cat saw a dog." --tour translating-head
    """
    from jumok.cli.way_in import report_of
    from jumok.inspection.page import document
    from jumok.inspection.page.document import PageOrigin

    save = shown.save
    _check_request(shown, figure, two=bool(second.against or second.model))
    guide = wanted_tour(tour, save, figure.figure)
    family = machine.load_family(model, shown.languages)
    kept = _saved(family, given, shown, second, figure, beam)
    options = family.options if beam is None else replace(family.options, beam=beam)
    traced = partial(family.trace, options=options, level=shown.level, name=family.name)
    sides = _comparison(model, traced, options, shown, second, given, machine)
    examples = _examples(family) if given is None else []
    first = given if given is not None or not examples else examples[0]
    against, target = second.against, shown.target
    trace, other = (kept, None) if kept else _first_traces(family, sides, first, against, target)
    if given is not None and kept is None:
        say_odd(family, given)
    if shown.gold is not None:
        from jumok.evaluation.alignment import parse_gold, with_gold

        trace = with_gold(trace, parse_gold(shown.gold))
    if figure.wanted:
        save_figure(trace, figure)
    named = given if kept or family.reads == "picture" else None
    searched = None if beam is None else options
    folders = [str(folder) for folder in model_folders(model)]
    origin = PageOrigin(folders, named, kept is not None, shown.target, searched, second.model)
    page = partial(
        document.page, trace, other=other, examples=examples, before=sides.before,
        run=report_of(family.opened.parts[0], given if kept is None else None), origin=origin,
        tour=fitting(guide, trace), lang=shown.lang,
    )  # fmt: skip
    if save is not None:
        _save_trace(trace, save, page, other)
    elif not figure.wanted:
        pictures = _served_pictures(family, None if kept else given)
        serve_page(page, sides, shown.port, shown.browser, pictures, shown.host, shown.lang)


def _examples(family: "Family") -> list[str]:
    """Texts that the page offers; none for a model that reads images."""
    from jumok.cli.examples import examples_for

    return [] if family.reads == "picture" else examples_for(family.opened.parts[0])


def _comparison(
    model: str,
    traced: "Callable[..., Trace]",
    options: "DecodingOptions",
    shown: PageArgs,
    second: Beside,
    given: str | None,
    machine: Machine,
) -> "Comparison":
    from jumok.tracing.comparison import Comparison

    second.check(model)
    text = second.against or given or ""
    beside = load_beside(second.model, text, options, shown.level, machine, shown.languages)
    return Comparison(traced, beside, shown.level, second.before is not None)


def _saved(
    family: "Family",
    given: str | None,
    shown: PageArgs,
    second: Beside,
    figure: FigureArgs,
    beam: int | None,
) -> "Trace | None":
    """The given saved trace, if it is one; ConfigError for options that need a text or an image."""
    asked: dict[str, object] = {"--target": shown.target, "--against": second.against}
    asked |= {"--with": second.with_, "--before": second.before}
    if given is None:
        alone = {"--save": shown.save, "--figure": figure.figure, "--gold": shown.gold}
        _check_alone({**asked, **alone})
        return None
    anew = {"--beam": beam, "--level": None if shown.level == DEFAULT_LEVEL else shown.level}
    return saved_trace(family, given, {**asked, **anew})


def _first_traces(
    family: "Family",
    sides: "Comparison",
    given: str | None,
    against: str | None,
    target: str | None,
) -> "tuple[Trace, Trace | None]":
    """The traces to show first; without a text or an image, an empty trace."""
    if given is None:
        from jumok.inspection.trace import Trace

        return Trace(family.name, "qk", "", "", {}, (), task=family.system.task), None
    from jumok.tracing.catalog import check_given

    check_given(family, given)
    with waiting("Search, ablation, attribution:") as count:
        from jumok.tracing.request import EVERYTHING

        extras = replace(EVERYTHING, check_cancelled=count)
        return sides.look(given, against or "", target, extras=extras)


def _served_pictures(family: "Family", first: str | None) -> "ServedPictures | None":
    from jumok.serving.pictures import ServedPictures
    from jumok.tracing.catalog import check_given

    return (
        ServedPictures(first, partial(check_given, family)) if family.reads == "picture" else None
    )


def _check_alone(asked: dict[str, object]) -> None:
    options = [name for name, value in asked.items() if value is not None]
    if options:
        raise ConfigError(
            "these options need a text or an image.",
            expected='a text or an image after the model: jumok look MODEL "..."',
            got=f"{', '.join(sorted(options))} without one",
        )


def _check_request(shown: PageArgs, figure: FigureArgs, *, two: bool) -> None:
    save = shown.save
    if save is not None and save.suffix not in (".html", ".npz"):
        raise ConfigError(
            "--save writes a page or a trace.",
            expected="--save FILE.html, or --save FILE.npz for the trace",
            got=str(save),
        )
    if save is not None and two and save.suffix == ".npz":
        raise ConfigError(
            "an .npz file holds one trace.",
            got="--save FILE.npz with --against or --with",
            do="save a page, or each trace by itself",
        )
    live = save is None and not figure.wanted
    if not live and (shown.port or shown.host is not None):
        raise ConfigError(
            "--port and --host are for the live page.", do="leave them out, or --save and --figure"
        )


def _save_trace(
    trace: "Trace", file: Path, page: Callable[..., str], other: "Trace | None" = None
) -> None:
    second = "" if other is None else f"\n{other.findings.own_output or other.output}"
    typer.echo(f"{trace.output}{second}\n{file}", err=True)
    if file.suffix == ".npz":
        trace.save(file)
        return
    with open_output(file) as stream:
        stream.write(page())


def serve_page(
    page: Callable[[str], str],
    sides: "Comparison",
    port: int,
    browser: bool,
    pictures: "ServedPictures | None" = None,
    host: str | None = None,
    lang: Language | None = None,
) -> None:
    """Serves the page on 127.0.0.1 until Ctrl-C; a changed input or setting is traced again.

    Args:
        page: (token of its requests) -> its HTML.
        host: a further host name, with its port, to accept requests for.
        lang: that of the messages; None: the reader's.
    """
    try:
        from jumok.serving.answers import answers
        from jumok.serving.local import LocalServer

        server = LocalServer(
            page,
            answers(sides, pictures),
            port,
            None if pictures is None else pictures.receive,
            host,
        )
    except OSError as error:
        raise ConfigError(
            "cannot listen on this port.",
            got=f"{port}: {error.strerror}",
            do="leave out --port to use a free one",
        ) from error
    typer.echo(f"{server.link}\n{how_to_stop(lang)}", err=True)
    if browser:
        webbrowser.open(server.link)
    with server:
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            typer.echo("", err=True)
        finally:
            if pictures is not None:
                pictures.close()
