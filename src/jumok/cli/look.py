"""`jumok look`: what a model looked at, as a page."""

import webbrowser
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from jumok.cli import figure as drawn
from jumok.cli import options as option
from jumok.cli import second_model
from jumok.cli.saved_trace import saved_trace
from jumok.cli.streams import open_output
from jumok.errors import ConfigError

if TYPE_CHECKING:
    from jumok.inspection.trace import Trace
    from jumok.serving.pictures import ServedPictures
    from jumok.systems.comparison import Comparison
    from jumok.systems.tracers import Family

Save = Annotated[
    Path | None, typer.Option(help="A page (.html) that needs no network, or a trace (.npz).")
]


Given = Annotated[
    str,
    typer.Argument(
        metavar="TEXT|PICTURE|TRACE",
        help="A sentence, a picture's file, or a trace that was saved (.npz).",
    ),
]
PerhapsGiven = Annotated[
    str | None,
    typer.Argument(
        metavar="[TEXT|PICTURE|TRACE]",
        help="A sentence, a picture's file, or a trace that was saved (.npz); without one a page "
        "opens in which it is given.",
    ),
]
Beams = Annotated[
    int | None,
    typer.Option(
        "--beam",
        "-b",
        min=1,
        max=1000,
        help="Hypotheses kept; 1 is greedy. Else 5; language models 1.",
    ),
]
Instead = Annotated[
    str | None,
    typer.Option(help="This translation, caption or label instead of the model's own."),
]
Gold = Annotated[
    str | None,
    typer.Option(
        help="Links that are right, source word - target word from 0: '0-0 1-2'; 1p2 is possible.",
        metavar="LINKS",
    ),
]
Kept = Annotated[
    Literal["weights", "qk", "full"],
    typer.Option(
        help="qk also keeps queries, keys and values: larger, and it adds up; full also the "
        "residual streams."
    ),
]


Host = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Also answer under this name, with its port: behind a proxy, or at the other end of "
        "a tunnel with another port: localhost:9000.",
    ),
]
Threads = Annotated[
    int,
    typer.Option(
        min=0,
        help="0 takes all processor cores: for large models; one sentence keeps no two busy.",
        rich_help_panel=option.MACHINE,
    ),
]


def look(
    model: option.Model,
    given: PerhapsGiven = None,
    save: Save = None,
    target: Instead = None,
    gold: Gold = None,
    against: second_model.Against = None,
    with_: second_model.With = None,
    level: Kept = "qk",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 0,
    host: Host = None,
    browser: Annotated[bool, typer.Option(help="Open a browser window.")] = True,
    beam: Beams = None,
    figure: drawn.Kind = None,
    to: drawn.To = None,
    part: drawn.Who = None,
    layer: drawn.Layer = None,
    head: drawn.Head = None,
    row: drawn.RowOf = None,
    device: option.Device = "auto",
    precision: option.Precision = "fp32",
    threads: Threads = 1,
) -> None:
    """Show what every attention of a model looked at: in a sentence, or in a picture.

    For every kind of model: translation, captions, language models, fillers
    of gaps, classifiers. Without --save a page opens that only this machine
    can reach: type another sentence, or give another picture, and it is
    recomputed.

      jumok look runs/demo/model "The cat saw a dog."

      jumok look CAPTIONER photo.jpg --save page.html

      jumok look MODEL "The cat saw a dog." --figure alignment --to cat.pdf

      jumok look MODEL "I sat by the bank." --against "The bank lent me money."
    """
    from jumok.systems.comparison import Comparison

    _check_save(save, two=bool(against or with_))
    wanted = drawn.wanted_figure(figure, to, part, layer, head, row)
    family, name = option.load_family(model, device, precision, threads)
    asked = {"--target": target, "--against": against, "--with": with_, "--beam": beam}
    if given is None:
        _check_alone(asked | {"--save": save, "--figure": figure, "--gold": gold, "--beam": None})
    kept = None if given is None else saved_trace(family, given, asked)
    options = family.options if beam is None else replace(family.options, beam=beam)
    traced = partial(family.trace, options=options, level=level, name=name)
    text = against or given or ""
    second = second_model.load_beside(with_, text, options, level, device, precision)
    sides = Comparison(traced, second, level)
    trace, other = (kept, None) if kept else _looked(family, sides, given, against, target)
    trace = trace if gold is None else _linked(trace, gold)
    if wanted is not None:
        drawn.save_figure(trace, wanted)
    if save is not None:
        save_trace(trace, save, other)
    elif wanted is None:
        pictures = _pictures(family, None if kept else given)
        serve((trace, other), sides, port, browser, pictures, host)


def _looked(
    family: "Family",
    sides: "Comparison",
    given: str | None,
    against: str | None,
    target: str | None,
) -> "tuple[Trace, Trace | None]":
    """What is looked at first; without a text or a picture a trace with nothing in it."""
    from jumok.inspection.trace import Trace
    from jumok.systems.tracers import check_given
    from jumok.systems.tracing_parts import EVERYTHING

    if given is None:
        return Trace(family.name, "qk", "", "", {}, (), task=family.system.task), None
    check_given(family, given)
    return sides.look(given, against or "", target, extras=EVERYTHING)


def _pictures(family: "Family", first: str | None) -> "ServedPictures | None":
    """What the live page may look at; None: the model reads text."""
    from jumok.serving.pictures import ServedPictures
    from jumok.systems.tracers import check_given

    return (
        ServedPictures(first, partial(check_given, family)) if family.reads == "picture" else None
    )


def _linked(trace: "Trace", gold: str) -> "Trace":
    from jumok.evaluation.alignment import parse_gold, with_gold

    return with_gold(trace, parse_gold(gold))


def _check_alone(asked: dict[str, object]) -> None:
    """Without a text or a picture there is nothing that these options could be about.

    Raises:
        ConfigError: one of them is given.
    """
    options = [name for name, value in asked.items() if value is not None]
    if options:
        raise ConfigError(
            "there is nothing to look at.",
            expected='a text or a picture after the model: jumok look MODEL "..."',
            got=f"{', '.join(sorted(options))} without one",
        )


def _check_save(save: Path | None, two: bool) -> None:
    if save is not None and save.suffix not in (".html", ".npz"):
        raise ConfigError(
            "a page or a trace can be saved.",
            expected="--save FILE.html, or --save FILE.npz for the numbers alone",
            got=str(save),
        )
    if save is not None and two and save.suffix == ".npz":
        raise ConfigError(
            "a file of numbers holds one trace.",
            got="--save FILE.npz with --against or --with",
            do="save a page, or each trace for itself",
        )


def save_trace(trace: "Trace", file: Path, other: "Trace | None" = None) -> None:
    """Writes the page, or the numbers alone, by the file's suffix, and says where."""
    from jumok.inspection.page import page

    typer.echo(f"{trace.output}\n{file}", err=True)
    if file.suffix == ".npz":
        trace.save(file)
        return
    with open_output(file) as stream:
        stream.write(page(trace, other=other))


def serve(
    traces: "tuple[Trace, Trace | None]",
    sides: "Comparison",
    port: int,
    browser: bool,
    pictures: "ServedPictures | None" = None,
    host: str | None = None,
) -> None:
    """A page on 127.0.0.1 until Ctrl-C; what is typed or switched in it is traced anew.

    Args:
        traces: what the page shows first: A, and B where there is one.
        pictures: what the page may look at; None: a text.
        host: one more name that the page may be asked for under.
    """
    from jumok.inspection.page import page
    from jumok.serving.answers import answers
    from jumok.serving.local import LocalServer

    try:
        server = LocalServer(
            lambda token: page(traces[0], token, traces[1]),
            answers(sides, pictures),
            port,
            None if pictures is None else pictures.receive,
            host,
        )
    except OSError as error:
        raise ConfigError(
            "the page's port cannot be had.",
            got=f"{port}: {error.strerror}",
            do="leave --port out: a free one is taken",
        ) from error
    typer.echo(f"{server.link}\nCtrl-C ends it.", err=True)
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
