"""A sweep as an optuna study: what is tried, and the runs, each a `jumok train` of its own."""

import hashlib
import itertools
import json
import math
import os
import queue
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from jumok.config.writing import recipe_text
from jumok.data.files.atomic import write_durably
from jumok.data.files.run_log import number_in, run_log
from jumok.environment import with_variables
from jumok.errors import ConfigError, JumokError, Place, optional_import
from jumok.shipped import find_recipe
from jumok.training.interrupt import Interrupt

if TYPE_CHECKING:
    from optuna import Study, Trial

    from jumok.config import Config

STUDY, LONGEST_NAME, MOST_RUNS, PAUSE = "study.jsonl", 80, 10_000, 0.1
FAILED = 3  # optuna.trial.TrialState.FAIL, an IntEnum
RANGE = re.compile(r"(log:)?(-?\d[\d.]*?(?:e-?\d+)?)\.\.(-?\d[\d.]*?(?:e-?\d+)?)")
# A comma inside of brackets or quotes belongs to its value.
VALUE = re.compile(r"""(?:\[[^]]*\]|\{(?:\[[^]]*\]|[^]}])*\}|"[^"]*"|'[^']*'|[^,\[{"'])+""")

Values = Mapping[str, str]
"""What the keys have in a run, as it is written after --set."""


class RunStopped(JumokError):  # noqa: N818 - Ctrl-C is none
    """A run has ended without a score."""


@dataclass(frozen=True)
class SearchSpace:
    """What is tried.

    Attributes:
        keys: the values of each key, or the text of a range.
        changes: of the recipe, in all runs.
    """

    recipe: Path
    changes: Sequence[str]
    keys: Mapping[str, Sequence[str]]

    def combinations(self) -> list[Values]:
        """Every combination, the last key changing fastest."""
        count = math.prod(map(len, self.keys.values()))
        if count > MOST_RUNS or any(map(range_of, self.keys.values())):
            what = f"there are too many combinations: {count:,}, or numbers between two ends."
            raise ConfigError(what, do="add --trials N")
        chosen = itertools.product(*self.keys.values())
        return [dict(zip(self.keys, values, strict=True)) for values in chosen]

    def ends(self) -> list[Values]:
        """The first and the last value of every key."""
        pairs = {
            key: match.groups()[1:] if (match := range_of(each)) else (each[0], each[-1])
            for key, each in self.keys.items()
        }
        return [{key: pair[end] for key, pair in pairs.items()} for end in (0, 1)]

    def suggest(self, trial: "Trial") -> Values:
        """The values of a run, as the sampler of the study chooses."""
        found: dict[str, str] = {}
        for key, values in self.keys.items():
            if (match := range_of(values)) is None:
                found[key] = str(trial.suggest_categorical(key, values))
            else:
                log, low, high = match.groups()
                number = trial.suggest_float(key, float(low), float(high), log=log is not None)
                whole = low.isdigit() and high.isdigit()
                found[key] = f"{number:.0f}" if whole else f"{number:.4g}"
        return found

    def config(self, values: Values) -> "Config":
        """The recipe of a run; one that trains a model further is completed from its bundle.

        Raises:
            ConfigError: it cannot be followed.
        """
        from jumok.training.start import load

        overrides = [*self.changes, *(f"{key}={value}" for key, value in values.items())]
        return load(self.recipe, [*overrides, f'name="{run_name(values)}"'], dict(os.environ))


def range_of(values: Sequence[str]) -> "re.Match[str] | None":
    """The range that the values are; None: they are a list."""
    return RANGE.fullmatch(values[0]) if len(values) == 1 else None


def read_keys(given: Sequence[str]) -> dict[str, list[str]]:
    """The values of each key: "seed=1,2,3" has three, "model.dropout=0.1..0.3" is a range.

    Raises:
        ConfigError: no key, no value, a key or a value twice, or a range that is none.
    """
    keys: dict[str, list[str]] = {}
    for text in given or [""]:
        key, equals, values = (part.strip() for part in text.partition("="))
        parts = VALUE.findall(values)
        found = [value.strip() for value in parts]
        match = range_of(found or [""])
        low, high = map(float, match.groups()[1:]) if match else (1, 2)
        faults = {
            "the grid is empty, or a key has no values.": not equals or not key,
            f"the grid has the key {key} twice.": key in keys,
            "a sweep names its runs itself.": key == "name",
            "scores of several metrics cannot be compared.": key == "validation.metric",
            f"a value of {key} is empty.": not found or not all(found) or ",".join(parts) != values,
            f"{key} has a value twice.": len(set(found)) < len(found),
            "a range ends above its beginning, which with log: is above 0.": low >= high
            or (match is not None and match[1] is not None and low <= 0),
        }
        if fault := next((what for what, true in faults.items() if true), None):
            raise ConfigError(
                fault,
                expected="KEY=VALUE,VALUE,... or KEY=LOW..HIGH or KEY=log:LOW..HIGH",
                got=text,
                do="for example jumok sweep RECIPE --grid model.dropout=0.1,0.2 seed=1,2,3",
            )
        keys[key] = found
    return keys


def run_name(values: Values) -> str:
    """A name for a folder: dropout-0.1-seed-3 of model.dropout=0.1 and seed=3.

    A key is named by its last word unless another one ends alike. A long name, and one that lost
    letters which folders do not take, ends with a digest of the values.
    """
    lasts = [key.rpartition(".")[2] for key in values]
    words = (
        last if lasts.count(last) == 1 else key for last, key in zip(lasts, values, strict=True)
    )
    plain = "-".join(f"{word}-{value}" for word, value in zip(words, values.values(), strict=True))
    name = re.sub(r"[^\w.]+", "-", plain, flags=re.ASCII).strip("-.")[:LONGEST_NAME]
    digest = hashlib.sha256(json.dumps(dict(values)).encode()).hexdigest()[:8]
    return name if name == plain else f"{name}-{digest}"


def open_study(
    folder: Path, space: SearchSpace, metric: str, sampler: str, resume: bool
) -> "Study":
    """Creates the study of a new sweep in a folder, or opens that of the sweep to resume.

    Raises:
        ConfigError: the folder holds another sweep, or something else; a sweep that is there is
            not to be resumed, or one that is to be resumed is not there.
    """
    with optional_import("jumok sweep", extra="sweep"):
        import optuna
    from optuna.storages.journal import JournalFileBackend

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    place, other = Place(folder), "choose another folder: --output FOLDER"
    if resume and not (folder / STUDY).is_file():
        raise ConfigError("there is no sweep to resume.", do="leave out --resume", place=place)
    if not resume and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        do = f"continue its sweep: --resume; or {other}"
        raise ConfigError("the folder is not empty.", do=do, place=place)
    for part in ("recipes", "runs", "logs"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    try:
        storage = optuna.storages.JournalStorage(JournalFileBackend(str(folder / STUDY)))
        study = optuna.create_study(
            storage=storage,
            study_name="sweep",
            direction="minimize" if metric == "loss" else "maximize",
            load_if_exists=True,
        )
    except (AssertionError, ValueError, LookupError, TypeError) as error:
        what, got = f"the study of the sweep, {STUDY}, is damaged.", str(error)[:200]
        raise ConfigError(what, got=got, do=other, place=place) from error
    digest = hashlib.sha256(find_recipe(space.recipe).read_bytes()).hexdigest()[:8]
    known = f"{space.recipe} ({digest}), --set {[*space.changes]}, keys {[*space.keys]}"
    if (before := study.user_attrs.get("known", known)) != known:
        what, do = "the folder holds another sweep.", f"undo the changes, or {other}"
        raise ConfigError(what, expected=before, got=known, do=do, place=place)
    study.set_user_attr("known", known)
    seed = len(study.trials)  # a continued sweep draws other values
    study.sampler = optuna.samplers.RandomSampler(seed)
    if sampler == "tpe":
        study.sampler = optuna.samplers.TPESampler(seed=seed, constant_liar=True)
    return study


def enqueue(study: "Study", wanted: Sequence[Values], count: int) -> int:
    """Has the study try these values, and what did not end; how many trials are left.

    Args:
        count: of all trials, where there are no values and the sampler chooses.
    """
    from optuna.trial import TrialState

    tried = [each for each in study.trials if "values" in each.user_attrs]
    settled = (TrialState.COMPLETE, TrialState.WAITING)
    known = [each.user_attrs["values"] for each in tried if each.state in settled]
    for values in wanted or [each.user_attrs["values"] for each in tried]:
        if values not in known:
            known.append(values)
            study.enqueue_trial({}, user_attrs={"values": dict(values)})
    waiting = len(study.get_trials(states=(TrialState.WAITING,)))
    done = len(study.get_trials(states=(TrialState.COMPLETE,)))
    return max(waiting, 0 if wanted else count - done)


@dataclass
class Runs:
    """The objective of the study: trains a run in a process.

    Attributes:
        jobs, threads: runs at once, and the cores of each.
        cards: of which each run gets one.
        failed: the names of runs that ended with an error.
    """

    folder: Path
    space: SearchSpace
    metric: str
    jobs: int
    threads: int
    cards: Sequence[str]
    failed: list[str] = field(default_factory=list)
    interrupt: Interrupt = field(default_factory=Interrupt)
    slots: "queue.SimpleQueue[int]" = field(default_factory=queue.SimpleQueue)

    def run(self, study: "Study", count: int) -> None:
        """Runs so many trials, `jobs` at once; one that fails does not end the others.

        SIGINT and SIGTERM are passed on to the runs, which stop with their checkpoints.
        """
        for slot in range(self.jobs):
            self.slots.put(slot)
        with self.interrupt:
            study.optimize(self, count, n_jobs=self.jobs, catch=RunStopped)

    def __call__(self, trial: "Trial") -> float:
        """The score of the best validation of a run.

        Raises:
            RunStopped: it failed, was stopped or tried before, or its score is not finite.
        """
        values = trial.user_attrs.get("values") or self.space.suggest(trial)
        trial.set_user_attr("values", values)
        others = trial.study.trials[: trial.number]
        if any(each.user_attrs.get("values") == values and each.state != FAILED for each in others):
            raise RunStopped("these values were tried.")
        name, slot = run_name(values), self.slots.get()
        log = self.folder / "logs" / f"{name}.txt"
        try:
            code = self._trained(name, values, slot, log)
        finally:
            self.slots.put(slot)
        if self.interrupt.signal is not None:
            trial.study.stop()
        elif code:
            self.failed.append(name)
            ended = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            lines = log.read_text("utf-8", errors="replace").splitlines() or [""]
            error = next((line for line in lines if line.startswith("error: ")), lines[-1])
            typer.echo(f"FAILED: {name} ({ended}): {error}\n  {log}", err=True)
        if code:
            raise RunStopped("the run failed, or was stopped.")
        written = run_log(self.folder / "runs" / name)
        best = next((each for each in reversed(written.validations) if each.get("best")), None)
        score = None if best is None else number_in(best, self.metric)
        if best is None or score is None:
            raise RunStopped("the score is not finite.")
        seconds = max(each["seconds"] for each in written.steps + written.validations)
        trial.set_user_attr("measured", {"step": best["step"], "minutes": seconds / 60})
        typer.echo(f"finished: {name}  {self.metric} {score:.3f}", err=True)
        return score

    def _trained(self, name: str, values: Values, slot: int, log: Path) -> int:
        """The exit code of a run.

        It is in a session of its own: Ctrl-C would reach it twice otherwise. With JUMOK_LEASH it
        ends, with a checkpoint, when its input does: when the sweep is gone.
        """
        recipe, runs = self.folder / "recipes" / f"{name}.toml", self.folder / "runs"
        write_durably(recipe, recipe_text(self.space.config(values)).encode())
        words = [sys.executable, "-m", "jumok", "train", str(recipe.resolve())]
        words += ["--runs", str(runs.resolve()), "--json"]
        words += ["--resume"] if (runs / name / "config.json").is_file() else []
        variables = {"JUMOK_THREADS": str(self.threads), "JUMOK_LEASH": "1"}
        if self.cards:
            variables["CUDA_VISIBLE_DEVICES"] = self.cards[slot % len(self.cards)]
        typer.echo(f"started: {name}", err=True)
        with log.open("ab") as stream:
            process = subprocess.Popen(
                words, env=with_variables(variables), stdin=subprocess.PIPE, stdout=stream,
                stderr=stream, start_new_session=True,
            )  # fmt: skip
        stopped = False
        while process.poll() is None:
            if self.interrupt.signal is not None and not stopped:
                stopped = True
                process.send_signal(signal.SIGINT)
            time.sleep(PAUSE)
        return process.returncode
