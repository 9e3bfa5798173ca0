"""A sweep as an optuna study; each trial is a `jumok train` of its own."""

import hashlib
import itertools
import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from jumok.config.writing import recipe_text
from jumok.data.files.atomic import write_durably
from jumok.data.files.run_log import number_in, run_log
from jumok.environment import with_variables
from jumok.errors import ConfigError, Location, optional_import
from jumok.shipped import find_recipe
from jumok.training.interrupt import Interrupt

if TYPE_CHECKING:
    from optuna import Study, Trial

    from jumok.config import Config

STUDY, LONGEST_NAME, MOST_RUNS, PAUSE = "study.jsonl", 80, 10_000, 0.1
NUMBER = r"-?\d[\d.]*?(?:e-?\d+)?"
RANGE = re.compile(rf"(log:)?({NUMBER})\.\.({NUMBER})")
CLOSES = {"[": "]", "{": "}", '"': '"', "'": "'"}

KeyValues = Mapping[str, str]
"""What the keys have in a run, as it is written after --set."""


@dataclass(frozen=True)
class SearchSpace:
    """The values of each key, and the changes of the recipe in all runs."""

    recipe: Path
    changes: Sequence[str]
    keys: Mapping[str, Sequence[str]]

    def combinations(self) -> list[KeyValues]:
        """Every combination, the last key changing fastest."""
        count = math.prod(map(len, self.keys.values()))
        if count > MOST_RUNS or any(map(_range_of, self.keys.values())):
            what = f"there are too many combinations: {count:,}, or numbers between two ends."
            raise ConfigError(what, do="add --trials N")
        chosen = itertools.product(*self.keys.values())
        return [dict(zip(self.keys, values, strict=True)) for values in chosen]

    def ends(self) -> list[KeyValues]:
        """The first and the last value of every key."""
        lists = {key: (_range_of(each) or ["", *each])[1:] for key, each in self.keys.items()}
        return [{key: each[end] for key, each in lists.items()} for end in (0, -1)]

    def suggest(self, trial: "Trial") -> KeyValues:
        """The values of a run, as the sampler of the study chooses."""
        values: dict[str, str] = {}
        for key, choices in self.keys.items():
            log, low, high = _range_of(choices) or ("", "", "")
            if not low:
                values[key] = str(trial.suggest_categorical(key, choices))
            elif (low + high).isdigit():
                values[key] = str(trial.suggest_int(key, int(low), int(high), log=bool(log)))
            else:
                number = trial.suggest_float(key, float(low), float(high), log=bool(log))
                values[key] = f"{number:.4g}"
        return values

    def config(self, values: KeyValues) -> "Config":
        """The recipe of a run; one that trains a model further is completed from its bundle."""
        from jumok.training.start import load

        overrides = [*self.changes, *(f"{key}={value}" for key, value in values.items())]
        return load(self.recipe, [*overrides, f'name="{run_name(values)}"'], dict(os.environ))


def _range_of(values: Sequence[str]) -> tuple[str, ...] | None:
    """("log:" or "", low, high) if the values are a range; None: they are a list."""
    match = RANGE.fullmatch(values[0]) if len(values) == 1 else None
    return match and match.groups("")


def _split_values(text: str) -> list[str]:
    """The texts between commas outside of brackets and quotes; "" is the last if one is open."""
    starts, closing = [0], [""]
    for place, sign in enumerate(text):
        if sign == closing[-1]:
            closing.pop()
        elif closing[-1] not in ('"', "'") and sign in CLOSES:
            closing.append(CLOSES[sign])
        elif sign == "," and closing == [""]:
            starts.append(place + 1)
    ends = [*(start - 1 for start in starts[1:]), len(text)]
    values = [text[start:end].strip() for start, end in zip(starts, ends, strict=True)]
    return values if closing == [""] else [*values, ""]


def parse_grid(texts: Sequence[str]) -> dict[str, list[str]]:
    """The values of each key: "seed=1,2,3" has three, "model.dropout=0.1..0.3" is a range.

    Raises:
        ConfigError: no key, no value, a key or a value twice, or a wrong range.
    """
    keys: dict[str, list[str]] = {}
    for text in texts or [""]:
        key, equals, joined = (part.strip() for part in text.partition("="))
        values = _split_values(joined)
        log, low, high = _range_of(values) or ("", "1", "2")
        faults = {
            "the grid is empty, or a key has no values.": not (key and equals),
            f"the grid has the key {key} twice.": key in keys,
            "a sweep names its runs itself.": key == "name",
            "scores of several metrics cannot be compared.": key == "validation.metric",
            f"a value of {key} is empty, or a bracket or quote is not closed.": "" in values,
            f"{key} has a value twice.": len(set(values)) < len(values),
            "a range ends above its beginning.": float(low) >= float(high),
            "a range with log: begins above 0.": log and float(low) <= 0,
        }
        if fault := next((what for what, true in faults.items() if true), None):
            expected = "KEY=VALUE,VALUE,... or KEY=LOW..HIGH or KEY=log:LOW..HIGH"
            do = "for example jumok sweep RECIPE --grid model.dropout=0.1,0.2 seed=1,2,3"
            raise ConfigError(fault, expected=expected, got=text, do=do)
        keys[key] = values
    return keys


def run_name(values: KeyValues) -> str:
    """A name for a folder: dropout-0.1-seed-3 of model.dropout=0.1 and seed=3.

    A name that is too long, or lost letters that folders may not have, ends with a digest.
    """
    last = {key: key.rpartition(".")[2] for key in values}
    words = {key: word if [*last.values()].count(word) == 1 else key for key, word in last.items()}
    plain = "-".join(f"{words[key]}-{value}" for key, value in values.items())
    name = re.sub(r"[^\w.]+", "-", plain, flags=re.ASCII).strip("-.")[:LONGEST_NAME]
    digest = hashlib.sha256(json.dumps(dict(values)).encode()).hexdigest()[:8]
    return name if name == plain else f"{name}-{digest}"


def open_study(folder: Path, space: SearchSpace, metric: str, resume: bool) -> "Study":
    """Creates the study of a new sweep in a folder, or opens the one to resume.

    Raises:
        ConfigError: the folder holds something else, or a sweep to resume is not there.
    """
    with optional_import("jumok sweep", extra="sweep"):
        import optuna
    from optuna.storages.journal import JournalFileBackend

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    place, other = Location(folder), "choose another folder: --output FOLDER"
    if resume and not (folder / STUDY).is_file():
        raise ConfigError("there is no sweep to resume.", do="leave out --resume", place=place)
    if not resume and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        do = f"continue its sweep: --resume; or {other}"
        raise ConfigError("the folder is not empty.", do=do, place=place)
    for part in ("recipes", "runs", "logs"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    try:
        study = optuna.create_study(
            storage=optuna.storages.JournalStorage(JournalFileBackend(str(folder / STUDY))),
            direction="minimize" if metric == "loss" else "maximize",
            study_name="sweep", load_if_exists=True,
        )  # fmt: skip
    except (AssertionError, ValueError, LookupError, TypeError) as error:
        what, got = f"the study of the sweep, {STUDY}, is damaged.", str(error)[:200]
        raise ConfigError(what, got=got, do=other, place=place) from error
    digest = hashlib.sha256(find_recipe(space.recipe).read_bytes()).hexdigest()[:8]
    known = f"{space.recipe} ({digest}), --set {[*space.changes]}, keys {[*space.keys]}"
    if (before := study.user_attrs.get("known", known)) != known:
        what, do = "the folder holds another sweep.", f"undo the changes, or {other}"
        raise ConfigError(what, expected=before, got=known, do=do, place=place)
    study.set_user_attr("known", known)
    # The seed: a continued sweep draws other values.
    study.sampler = optuna.samplers.TPESampler(seed=len(study.trials), constant_liar=True)
    return study


def enqueue(study: "Study", wanted: Sequence[KeyValues], count: int) -> int:
    """Has the study try these values, or `count` in all; returns how many trials are left."""
    trials = [(each.state.name, each.user_attrs.get("values")) for each in study.trials]
    done = [values for state, values in trials if state == "COMPLETE"]
    waiting = [values for state, values in trials if state == "WAITING"]
    for values in wanted or [values for _, values in trials if values]:
        if values not in done + waiting:
            waiting.append(values)
            study.enqueue_trial({}, user_attrs={"values": dict(values)})
    return max(len(waiting), 0 if wanted else count - len(done))


@dataclass
class StudyRuns:
    """Trains the runs of a study, each in a process, with one of the GPUs."""

    folder: Path
    space: SearchSpace
    metric: str
    threads: int
    cards: Sequence[str]
    failed: list[str] = field(default_factory=list)
    interrupt: Interrupt = field(default_factory=Interrupt)

    def run(self, study: "Study", count: int, jobs: int) -> None:
        """Runs trials, some at once; one that fails does not end the others.

        SIGINT and SIGTERM are passed on to the runs, which stop with their checkpoints.
        """
        left = iter(range(count))  # by all workers together
        with self.interrupt, ThreadPoolExecutor(jobs) as pool:
            list(pool.map(lambda slot: self._work(study, left, slot), range(jobs)))

    def _work(self, study: "Study", left: Iterator[int], slot: int) -> None:
        from optuna.trial import TrialState

        for _ in left:
            if self.interrupt.signal is not None:
                return
            trial = study.ask()
            try:
                values = trial.user_attrs.get("values") or self.space.suggest(trial)
            except ValueError as error:  # optuna has no study of lists that change
                what, do = "a list, or its key, was another one before.", "give the same --grid"
                raise ConfigError(
                    what, got=str(error), do=do, place=Location(self.folder)
                ) from error
            trial.set_user_attr("values", values)
            others = study.trials[: trial.number]
            known = [it.user_attrs.get("values") for it in others if it.state != TrialState.FAIL]
            score = None if values in known else self._score(trial, values, slot)
            study.tell(trial, score, TrialState.FAIL if score is None else TrialState.COMPLETE)

    def _score(self, trial: "Trial", values: KeyValues, slot: int) -> float | None:
        """The score of a run's best validation; None: it failed, was stopped, or has none."""
        name = run_name(values)
        log = self.folder / "logs" / f"{name}.txt"
        code = self._train(name, values, slot, log)
        if code:
            if self.interrupt.signal is None:
                self.failed.append(name)
                ended = signal.Signals(-code).name if code < 0 else f"exit code {code}"
                lines = log.read_text("utf-8", errors="replace").splitlines() or [""]
                error = next((line for line in lines if line.startswith("error: ")), lines[-1])
                typer.echo(f"FAILED: {name} ({ended}): {error}\n  {log}", err=True)
            return None
        written = run_log(self.folder / "runs" / name)
        best = next((each for each in reversed(written.validations) if each.get("best")), None)
        if best is None or (score := number_in(best, self.metric)) is None:
            return None
        seconds = max(each["seconds"] for each in written.steps + written.validations)
        trial.set_user_attr("measured", {"step": best["step"], "minutes": seconds / 60})
        typer.echo(f"finished: {name}  {self.metric} {score:.3f}", err=True)
        return score

    def _train(self, name: str, values: KeyValues, slot: int, log: Path) -> int:
        """Trains a run in a session of its own: Ctrl-C would reach it twice otherwise."""
        recipe, runs = self.folder / "recipes" / f"{name}.toml", self.folder / "runs"
        write_durably(recipe, recipe_text(self.space.config(values)).encode())
        words = [sys.executable, "-m", "jumok", "train", str(recipe)]
        words += ["--runs", str(runs), "--json"]
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
        while self.interrupt.signal is None and process.poll() is None:
            time.sleep(PAUSE)
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        return process.wait()
