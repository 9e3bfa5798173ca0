"""The folder of a sweep.

sweep.json      the recipe, its changes and the keys of the grid
recipes/        the recipe of each combination, with all its values
runs/NAME/      the run of each combination, as `jumok train` writes it
logs/NAME.txt   what it printed
done/NAME.json  its result, once it is finished
results.csv     every run
results.json    every run, and the groups of runs that differ in their seed alone
curves.svg      the learning curves; scores.svg: the scores of the groups
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jumok.data.files.atomic import write_durably
from jumok.errors import ConfigError, DataError, Place
from jumok.json_types import JsonObject
from jumok.shipped import find_recipe

SWEEP = "sweep.json"
RECIPES, RUNS, LOGS, DONE = "recipes", "runs", "logs", "done"
BEGUN = "config.json"


@dataclass(frozen=True)
class SweepFolder:
    """The folder of a sweep, with the places of each run by its name."""

    path: Path

    @property
    def runs(self) -> Path:
        """The folder of all runs."""
        return self.path / RUNS

    def run(self, name: str) -> Path:
        """The folder of a run."""
        return self.runs / name

    def recipe(self, name: str) -> Path:
        """The recipe of a run."""
        return self.path / RECIPES / f"{name}.toml"

    def log(self, name: str) -> Path:
        """What the run printed."""
        return self.path / LOGS / f"{name}.txt"

    def is_finished(self, name: str) -> bool:
        """Whether the run has ended by itself."""
        return (self.path / DONE / f"{name}.json").is_file()

    def has_begun(self, name: str) -> bool:
        """Whether the run can be resumed, from its last checkpoint or from its beginning."""
        return (self.run(name) / BEGUN).is_file()

    def finish(self, name: str, result: JsonObject) -> None:
        """Stores that the run has ended by itself."""
        text = json.dumps(result, ensure_ascii=False, indent=2) + "\n"
        write_durably(self.path / DONE / f"{name}.json", text.encode())

    def result(self, name: str) -> JsonObject:
        """What `finish` stored.

        Raises:
            DataError: the file is damaged.
        """
        file = self.path / DONE / f"{name}.json"
        try:
            found: JsonObject = json.loads(file.read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise DataError(
                "the result of a run is damaged.",
                got=str(error)[:200],
                place=Place(file),
                do="remove the file, and sweep again with --resume",
            ) from error
        return found


def open_folder(
    path: Path, recipe: Path, changes: Sequence[str], keys: Mapping[str, object], resume: bool
) -> SweepFolder:
    """Creates the folder of a new sweep, or opens that of the sweep to resume.

    The values of the grid may be others than before: runs that are finished are not repeated.

    Args:
        keys: of the grid.

    Raises:
        ConfigError: the folder holds another sweep, or something else; a sweep that is there is
            not to be resumed, or one that is to be resumed is not there.
    """
    place, file = Place(path), path / SWEEP
    text = find_recipe(recipe).read_bytes()
    known = {
        "recipe": str(recipe),
        "digest": hashlib.sha256(text).hexdigest(),
        "set": list(changes),
        "keys": list(keys),
    }
    if not file.is_file():
        if resume:
            raise ConfigError(
                "there is no sweep to resume.", do="start one without --resume", place=place
            )
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise ConfigError(
                "the folder is not that of a sweep, so nothing is written in it.",
                do="choose another one: --output FOLDER",
                place=place,
            )
    else:
        _check_same(path, known)
        if not resume:
            raise ConfigError(
                "the folder holds this sweep already.",
                do="continue it: --resume; or choose another folder: --output FOLDER",
                place=place,
            )
    try:
        for part in (RECIPES, RUNS, LOGS, DONE):
            (path / part).mkdir(parents=True, exist_ok=True)
        write_durably(file, (json.dumps(known, ensure_ascii=False, indent=2) + "\n").encode())
    except OSError as error:
        raise ConfigError(
            "the folder of the sweep cannot be created.",
            got=str(error.strerror),
            do="choose a writable folder: --output FOLDER",
            place=place,
        ) from error
    return SweepFolder(path)


def _check_same(path: Path, known: Mapping[str, object]) -> None:
    """Raises ConfigError if the folder is that of another sweep."""
    try:
        before = json.loads((path / SWEEP).read_text("utf-8"))
        differences = [
            f"{name} was {before[name]!r} and is now {known[name]!r}"
            for name in ("recipe", "set", "keys")
            if before[name] != known[name]
        ]
        if not differences and before["digest"] != known["digest"]:
            differences = [f"the recipe {known['recipe']} has changed"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            "the description of the sweep is damaged.",
            got=str(error)[:200],
            do="choose another folder: --output FOLDER",
            place=Place(path / SWEEP),
        ) from error
    if differences:
        lines = "\n  ".join(differences)
        raise ConfigError(
            f"the folder holds another sweep:\n  {lines}",
            do="undo the changes, or choose another folder: --output FOLDER",
            place=Place(path),
        )
