"""Next commands shown after training, and the report of a run."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from jumok.errors import JumokError

if TYPE_CHECKING:
    from jumok.bundle.reading import Bundle
    from jumok.inspection.page.run_report import RunReport
    from jumok.systems.catalog import OpenedModel


def report_of(model: "Bundle | Path | str", given: str | None = None) -> "RunReport | None":
    """The report of the run that the bundle is in; None: no run, or no log.

    Args:
        given: a text for the commands.
    """
    from jumok.training.folder import run_of

    run = run_of(Path(model if isinstance(model, Path | str) else model.folder))
    if run is None:
        return None
    try:
        from jumok.data.files import run_log

        log = run_log.run_log(run)
        from jumok.systems.loading import opened

        bundle = opened(model)
    except JumokError:  # a run whose log was deleted; the folder of a model of transformers
        return None
    from jumok.inspection.page.run_report import RunReport

    return RunReport(log, commands(bundle, given), parameters=bundle.parameters)


def commands(
    model: "Bundle | Path | str", given: str | None = None, program: str = "jumok"
) -> dict[str, str]:
    """The commands to look inside a bundle ("look"), to use it ("use") and to serve it ("serve").

    Args:
        given: the text, or the path of an image; None: dots.
        program: quoted for a shell.
    """
    place = shlex.quote(str(model if isinstance(model, Path | str) else model.folder))
    from jumok.systems.catalog import open_model

    opened = open_model(model)
    kind = opened.kind
    lines = {"look": f"{program} look {place}"}  # of texts, the page has examples
    if kind.reads == "picture":
        lines["look"] = look_of(model, place, given, program)
    if opened.parts[0].config.model.get("head", True):  # an encoder alone fills no gaps
        lines["use"] = use_of(model, place, given, program)
    return lines | {"serve": f"{program} serve {place}"}


def look_of(
    model: "Bundle | Path | str", place: str, given: str | None = None, program: str = "jumok"
) -> str:
    """The command that looks inside a bundle."""
    from jumok.systems.catalog import open_model

    opened = open_model(model)
    dots = "IMAGE" if opened.kind.reads == "picture" else '"..."'
    text = dots if given is None else shlex.quote(given)
    return f"{program} look {place} {text}{_first_pair(opened, '--into')}"


def _first_pair(opened: "OpenedModel", target: str) -> str:
    """The options that choose the first pair of languages, where there are several."""
    pairs = opened.parts[0].config.every_pair
    if len(pairs) < 2:
        return ""
    source = f" --from {shlex.quote(pairs[0][0])}" if pairs[0][0] else ""
    return f"{source} {target} {shlex.quote(pairs[0][1])}"


def use_of(
    model: "Bundle | Path | str", place: str, given: str | None = None, program: str = "jumok"
) -> str:
    """The command that uses a bundle."""
    from jumok.systems.catalog import open_model

    opened = open_model(model)
    kind = opened.kind
    if kind.verb == "look":
        return look_of(model, place, given, program)
    command = f"{program} {kind.verb} {place}{_first_pair(opened, '--to')}"
    dots = '"... ___ ..."' if kind.verb == "fill" else '"..."'
    text = dots if given is None else shlex.quote(given)
    if kind.verb in ("translate", "fill") or (kind.verb == "classify" and kind.reads == "text"):
        return f"echo {text} | {command}"
    return f"{command} {text}" if kind.reads == "text" or given is not None else f"{command} ..."
