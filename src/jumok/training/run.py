"""A run: from a config to a folder with a log, checkpoints and the best model."""

import math
from dataclasses import dataclass
from pathlib import Path

import torch

from jumok.config import Config, TrainingConfig
from jumok.data.files.atomic import sweep
from jumok.data.files.run_log import LOG
from jumok.errors import Place, TrainingError
from jumok.systems.device import choose_device, dtype_of
from jumok.training import checkpoint, folder
from jumok.training.folder import Decisions
from jumok.training.further import FurtherTask, sized
from jumok.training.further import prepare as prepare_further
from jumok.training.learner import Learner
from jumok.training.lock import held
from jumok.training.log import JsonLog, Log, TensorBoardLog
from jumok.training.loop import Loop, Outcome, Progress
from jumok.training.precision import choose
from jumok.training.start import StartModel
from jumok.training.task import Reporter, Task
from jumok.training.tasks.catalog import prepare


@dataclass(frozen=True)
class Result:
    """The result of a run: its folder, and the best model's scores.

    Attributes:
        model: the best model's bundle; None before the first validation.
        start: the model that was trained further, with its scores before; None: from scratch.
    """

    folder: Path
    model: Path | None
    outcome: Outcome
    progress: Progress
    config: Config
    start: StartModel | None = None


def train(config: Config, runs: Path, screen: Log, *, resume: bool = False) -> Result:
    """Trains what `config` describes, in the folder runs/NAME.

    Args:
        screen: is called after every step.
        resume: continue from the folder's last checkpoint.

    Raises:
        ConfigError: the name is taken, another process is training there, the recipe has changed,
            or a setting is impossible.
        DataError: a corpus that cannot be read.
        BundleError: there is no complete checkpoint to resume from, or a bundle cannot be written.
        TrainingError: divergence, or a disk that refuses.
    """
    home = runs / config.name
    try:
        if not resume:
            folder.make(home)
        elif not home.is_dir():
            folder.read(home, config)  # raises that there is no such run
        with held(home):
            return _train(config, home, screen, resume)
    except OSError as error:
        raise TrainingError(
            "a file of the run could not be read or written.",
            got=str(error),
            do="free some space or correct the permissions, then run again; "
            "with --resume if there is a checkpoint",
            place=Place(home),
        ) from error


def _train(config: Config, home: Path, screen: Log, resume: bool) -> Result:
    device = choose_device(config.training.device)
    if resume:
        decisions = folder.read(home, config)
    else:
        folder.start(home)
        decisions = decide(config.training, device, screen.say)
    folder.write(home, config, decisions)  # a resumed run may have become longer
    folder.tidy(home)
    sweep(home.parent / ".cache")
    task, config = _prepare(config, home, screen.say)
    if config.start is not None:
        folder.write(home, config, decisions)  # with the number of steps, which the data decides
    loop = assemble(config, home, task, decisions, screen)
    if resume:
        _go_on(loop, home, screen.say)
    # Without a checkpoint, even a validation before the first step is made again.
    kept = JsonLog(home / LOG, loop.progress.step if checkpoint.exists(home) else -1)
    if kept.damage is not None:
        screen.say(kept.damage)
    files: list[Log] = [kept]
    if config.training.tensorboard:
        files.append(TensorBoardLog(home / "tensorboard", loop.progress.step))
    try:
        outcome = loop.run(files)
    finally:
        for log in files:
            log.close()
    model = home / folder.MODEL
    start = task.start if isinstance(task, FurtherTask) else None
    return Result(home, model if model.is_dir() else None, outcome, loop.progress, config, start)


def _prepare(config: Config, home: Path, say: Reporter) -> tuple[Task, Config]:
    """The task of the recipe, and the recipe with every number that depends on the data."""
    cache = home.parent / ".cache"
    if config.start is None:
        return prepare(config, home, cache, say), config
    task = prepare_further(config, home, cache, say)
    return task, sized(config, task)


def _go_on(loop: Loop, home: Path, say: Reporter) -> None:
    """Restores the last checkpoint, if there is one, and closes its file."""
    if checkpoint.exists(home):
        saved, damage = checkpoint.load(home)
        if damage:
            say(damage)
        loop.resume(saved)
    say(f"continuing after step {loop.progress.step:,}")


def decide(training: TrainingConfig, device: torch.device, say: Reporter) -> Decisions:
    """Resolves "auto" on this machine, and reports it."""
    precision = choose(training.precision, device)
    cores = training.threads or torch.get_num_threads()
    micro_batches = math.ceil(training.tokens_per_batch / training.tokens_per_micro_batch)
    threads = min(cores, micro_batches) if device.type == "cpu" else 1
    workers = "1 worker thread" if threads == 1 else f"{threads} worker threads"
    say(f"device: {device.type}, {workers}, {precision.reason}")
    return Decisions("bf16" if precision.dtype == torch.bfloat16 else "fp32", threads)


def assemble(config: Config, home: Path, task: Task, decisions: Decisions, screen: Log) -> Loop:
    """The loop of a new run."""
    device = choose_device(config.training.device)
    torch.set_num_threads(decisions.threads)
    torch.manual_seed(config.seed)
    model = task.build().to(device)
    learner = Learner(
        model,
        task.objective,
        config.training,
        config.seed,
        dtype_of(decisions.precision),
        decisions.threads,
    )
    for line in task.describe(model):
        screen.say(line)
    return Loop(config, home, learner, task, dtype_of(decisions.precision), screen)
