"""`jumok look`: the attention of a model as a page."""

import webbrowser
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from jumok.cli import figure as drawn
from jumok.cli import options as option
from jumok.cli import screen, second_model
from jumok.cli import tour as tour_options
from jumok.cli.output.streams import open_output
from jumok.cli.saved_trace import saved_trace
from jumok.errors import ConfigError
from jumok.late import late_imports

with late_imports():
    from jumok.cli import examples as cli_examples
    from jumok.cli import way_in
    from jumok.evaluation import alignment
    from jumok.inspection import trace as inspection_trace
    from jumok.inspection.page import document
    from jumok.inspection.page import origin as page_origin
    from jumok.serving import answers as serving_answers
    from jumok.serving import local
    from jumok.serving import pictures as serving_pictures
    from jumok.tracing import catalog, comparison, request, translation

if TYPE_CHECKING:
    from jumok.decoding import DecodingOptions
    from jumok.inspection.page.origin import PageOrigin
    from jumok.inspection.trace import Trace
    from jumok.serving.pictures import ServedPictures
    from jumok.tracing.catalog import Family
    from jumok.tracing.comparison import Comparison

Save = Annotated[
    Path | None,
    typer.Option(help="Save a page (.html) that works offline, or a trace (.npz)."),
]


Given = Annotated[
    str,
    typer.Argument(
        metavar="TEXT|IMAGE|TRACE",
        help="A sentence, an image file, or a saved trace (.npz).",
    ),
]
PerhapsGiven = Annotated[
    str | None,
    typer.Argument(
        metavar="[TEXT|IMAGE|TRACE]",
        help="A sentence, an image file, or a saved trace (.npz) (default: examples in the page).",
    ),
]
Beams = Annotated[
    int | None,
    typer.Option(
        "--beam",
        "-b",
        min=1,
        max=1000,
        help="Beam size; 1 = greedy (default: 5, for language models 1).",
    ),
]
Instead = Annotated[
    str | None,
    typer.Option(help="Use this translation, caption or label instead of the model's own."),
]
Gold = Annotated[
    str | None,
    typer.Option(
        help="Gold alignment to show, as SOURCE-TARGET word indices from 0: '0-0 1-2'; 1p2 = "
        "possible.",
        metavar="LINKS",
    ),
]
Kept = Annotated[
    Literal["weights", "qk", "full"],
    typer.Option(
        help="What the trace keeps. qk adds queries, keys and values, so weights can be "
        "recomputed, but the file is larger; full also adds the residual streams."
    ),
]


Host = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Also accept requests for this host name and port, for a proxy or a tunnel: "
        "localhost:9000.",
    ),
]
Threads = Annotated[
    int,
    typer.Option(
        min=0,
        max=1024,
        help="CPU threads; 0 = all cores; a single sentence does not benefit from more than one.",
        rich_help_panel=option.MACHINE,
    ),
]


LEVEL: Literal["qk"] = "qk"


def look(
    model: option.Model,
    given: PerhapsGiven = None,
    save: Save = None,
    target: Instead = None,
    gold: Gold = None,
    against: second_model.Against = None,
    with_: second_model.With = None,
    before: second_model.Before = None,
    level: Kept = LEVEL,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 = any free one.")] = 0,
    host: Host = None,
    browser: Annotated[bool, typer.Option(help="Open a browser window.")] = True,
    beam: Beams = None,
    figure: drawn.Kind = None,
    to: drawn.To = None,
    part: drawn.Who = None,
    layer: drawn.Layer = None,
    head: drawn.Head = None,
    row: drawn.RowOf = None,
    tour: tour_options.Wanted = None,
    tours: tour_options.Listed = False,  # noqa: ARG001 (answered when it is read)
    device: option.Device = "auto",
    precision: option.Precision = "fp32",
    threads: Threads = 1,
) -> None:
    """Show the attention of a model in every layer and head, for a sentence or an image.

    For every kind of model: translation, captioning, language models, masked
    language models, classifiers. Without --save a live page opens that only
    this machine can reach: type another sentence, or choose another image,
    and it is recomputed.

      jumok look runs/demo/model "The cat saw a dog."

      jumok look CAPTIONER photo.jpg --save page.html

      jumok look MODEL "The cat saw a dog." --figure alignment --to cat.pdf

      jumok look MODEL "I sat by the bank." --against "The bank lent me money."

      jumok look TUNED "I sat by the bank." --before MODEL

      jumok look MODEL "The cat saw a dog." --tour translating-head

    Without a text the page opens with examples: validation data of the model,
    or sentences of the built-in corpus if it has the model's language.

      jumok look runs/demo/model
    """
    _check_save(save, two=bool(against or with_ or before))
    wanted = drawn.wanted_figure(figure, to, part, layer, head, row)
    _check_live(save is None and wanted is None, port, host)
    guide = tour_options.wanted_tour(tour, save, figure)
    family, name = option.load_family(model, device, precision, threads)
    asked = {"--target": target, "--against": against, "--with": with_, "--before": before}
    asked |= {"--beam": None if beam is None else str(beam)}
    if given is None:
        _check_alone({**asked, "--save": save, "--figure": figure, "--gold": gold, "--beam": None})
    anew = {**asked, "--level": None if level == LEVEL else level}
    kept = None if given is None else saved_trace(family, given, anew)
    options = family.options if beam is None else replace(family.options, beam=beam)
    traced = partial(family.trace, options=options, level=level, name=name)
    beside = second_model.second_of(model, with_, before, against)
    text = against or given or ""
    second = second_model.load_beside(beside, text, options, level, device, precision)
    sides = comparison.Comparison(traced, second, level, before is not None)
    examples = _examples(model, family) if given is None else []
    first = given if given is not None or not examples else examples[0]
    trace, other = (kept, None) if kept else _looked(family, sides, first, against, target)
    trace = trace if gold is None else _linked(trace, gold)
    if wanted is not None:
        drawn.save_figure(trace, wanted)
    named = given if kept or family.reads == "picture" else None
    searched = None if beam is None else options
    origin = _origin(model, named, target, searched, with_ or before, kept is not None)
    page = partial(
        document.page, trace, other=other, examples=examples, before=sides.before,
        run=way_in.report_of(model, given if kept is None else None), origin=origin,
        tour=tour_options.fitting(guide, trace),
    )  # fmt: skip
    if save is not None:
        save_trace(trace, save, page, other)
    elif wanted is None:
        live = replace(sides, traced=_searching(traced, model, device, precision))
        serve(page, live, port, browser, _pictures(family, None if kept else given), host)


def _searching(
    traced: "Callable[..., Trace]", model: str, device: str, precision: str
) -> "Callable[..., Trace]":
    """Traces with the native engine's search, where it gives the same output."""
    if precision != "fp32":
        return traced
    searcher = translation.load_searcher(*option.model_folders(model), device=device)
    return partial(traced, searcher=searcher)


def _origin(
    model: str,
    given: str | None,
    target: str | None,
    options: "DecodingOptions | None",
    beside: str | None,
    saved: bool,
) -> "PageOrigin":
    folders = [str(folder) for folder in option.model_folders(model)]
    return page_origin.PageOrigin(folders, given, saved, target, options, beside)


def _examples(model: str, family: "Family") -> list[str]:
    """Texts that the page offers; none for a model that reads images."""
    return (
        []
        if family.reads == "picture"
        else cli_examples.examples_for(option.model_folders(model)[0])
    )


def _looked(
    family: "Family",
    sides: "Comparison",
    given: str | None,
    against: str | None,
    target: str | None,
) -> "tuple[Trace, Trace | None]":
    """The traces to show first; without a text or an image, an empty trace."""
    if given is None:
        return inspection_trace.Trace(
            family.name, "qk", "", "", {}, (), task=family.system.task
        ), None
    catalog.check_given(family, given)
    with screen.waiting("Search, ablation, attribution:") as count:
        extras = replace(request.EVERYTHING, check_cancelled=count)
        return sides.look(given, against or "", target, extras=extras)


def _pictures(family: "Family", first: str | None) -> "ServedPictures | None":
    """The images that the live page may read; None: the model reads text."""
    return (
        serving_pictures.ServedPictures(first, partial(catalog.check_given, family))
        if family.reads == "picture"
        else None
    )


def _linked(trace: "Trace", gold: str) -> "Trace":
    return alignment.with_gold(trace, alignment.parse_gold(gold))


def _check_alone(asked: dict[str, object]) -> None:
    """Checks the options that need a text or an image when there is none.

    Raises:
        ConfigError: one of them is given.
    """
    options = [name for name, value in asked.items() if value is not None]
    if options:
        raise ConfigError(
            "these options need a text or an image.",
            expected='a text or an image after the model: jumok look MODEL "..."',
            got=f"{', '.join(sorted(options))} without one",
        )


def _check_live(live: bool, port: int, host: str | None) -> None:
    if not live and (port or host is not None):
        raise ConfigError(
            "--port and --host are for the live page.", do="leave them out, or --save and --figure"
        )


def _check_save(save: Path | None, two: bool) -> None:
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


def save_trace(
    trace: "Trace", file: Path, page: Callable[..., str], other: "Trace | None" = None
) -> None:
    """Saves the page or the trace, by the file's suffix, and reports outputs and file on stderr."""
    second = "" if other is None else f"\n{other.findings.own_output or other.output}"
    typer.echo(f"{trace.output}{second}\n{file}", err=True)
    if file.suffix == ".npz":
        trace.save(file)
        return
    with open_output(file) as stream:
        stream.write(page())


def serve(
    page: Callable[[str], str],
    sides: "Comparison",
    port: int,
    browser: bool,
    pictures: "ServedPictures | None" = None,
    host: str | None = None,
) -> None:
    """Serves the page on 127.0.0.1 until Ctrl-C; a changed input or setting is traced again.

    Args:
        page: makes the page's HTML, given the token of its requests.
        pictures: the images that the page may read; None: the model reads text.
        host: a further host name, with its port, to accept requests for.
    """
    try:
        server = local.LocalServer(
            page,
            serving_answers.answers(sides, pictures),
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
    typer.echo(f"{server.link}\nPress Ctrl-C to stop.", err=True)
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
