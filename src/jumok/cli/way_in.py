"""What follows after training: the commands for a bundle, and the report of its run."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from jumok.errors import JumokError
from jumok.late import late_imports

with late_imports():
    from jumok.bundle import reading
    from jumok.data.files import run_log
    from jumok.inspection.page import run_report
    from jumok.systems import catalog
    from jumok.training import folder as training_folder

if TYPE_CHECKING:
    from jumok.inspection.page.run_report import RunReport


def run_of(model: Path) -> Path | None:
    """The folder of the run that a bundle belongs to: runs/NAME/model, or runs/NAME/steps/N."""
    folders = (model.absolute().parents[0], model.absolute().parents[1])
    return next((folder for folder in folders if (folder / training_folder.RECIPE).is_file()), None)


def report_of(model: Path | str, given: str | None = None) -> "RunReport | None":
    """The report of the run that the bundle is in; None: it is in none, or the log is not there.

    Args:
        model: the folder, as it is in the commands of the report.
        given: a text for those commands.
    """
    run = run_of(Path(model))
    if run is None:
        return None
    try:
        log = run_log.run_log(run)
        parameters = reading.read_bundle(Path(model)).parameters
    except JumokError:  # a run whose log was deleted; a folder in Hugging Face's format
        return None
    return run_report.RunReport(log, commands(model, given), parameters=parameters)


def commands(model: Path | str, given: str | None = None, program: str = "jumok") -> dict[str, str]:
    """The commands to look inside a bundle ("look"), to use it ("use") and to serve it ("serve").

    Args:
        given: the text, or the path of an image, in the commands; None: dots.
        program: how jumok is called, quoted for a shell.
    """
    place = shlex.quote(str(model))
    kind = catalog.open_model(Path(model)).kind
    found = {"look": f"{program} look {place}"}  # of texts, the page has examples
    if kind.reads == "picture":
        found["look"] = look_of(Path(model), place, given, program)
    if kind.verb != "look":
        found["use"] = use_of(Path(model), place, given, program)
    return found | {"serve": f"{program} serve {place}"}


def look_of(model: Path, place: str, given: str | None = None, program: str = "jumok") -> str:
    """The command that looks inside a bundle, with its folder as it is written there."""
    reads = catalog.open_model(model).kind.reads
    dots = "IMAGE" if reads == "picture" else '"..."'
    return f"{program} look {place} {dots if given is None else shlex.quote(given)}"


def use_of(model: Path, place: str, given: str | None = None, program: str = "jumok") -> str:
    """The command that uses a bundle, with its folder as it is written there."""
    kind = catalog.open_model(model).kind
    if kind.verb == "look":
        return look_of(model, place, given, program)
    command = f"{program} {kind.verb} {place}"
    dots = '"... ___ ..."' if kind.verb == "fill" else '"..."'
    text = dots if given is None else shlex.quote(given)
    if kind.verb in ("translate", "fill") or (kind.verb == "classify" and kind.reads == "text"):
        return f"echo {text} | {command}"
    return f"{command} {text}" if kind.reads == "text" or given is not None else f"{command} ..."
