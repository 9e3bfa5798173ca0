"""A run: from a config to a folder with a log, checkpoints and the best model."""

import hashlib
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Literal

import torch

from jumok.bundle.reading import read_bundle
from jumok.config import Config, TrainingConfig, TransformerConfig, TranslationConfig
from jumok.config.causal import CausalConfig
from jumok.config.families import LanguageModelConfig
from jumok.data.files.atomic import sweep
from jumok.data.files.run_log import LOG
from jumok.errors import ConfigError, Location, TrainingError
from jumok.systems.device import dtype_of
from jumok.training import checkpoint, folder
from jumok.training.folder import Decisions
from jumok.training.further import FineTuning, prepare_further, sized
from jumok.training.learner import Learner, is_sharded
from jumok.training.lock import held
from jumok.training.log import JsonLog, Log, Silent, TensorBoardLog
from jumok.training.loop import Loop, Outcome, Progress
from jumok.training.precision import choose_precision
from jumok.training.preparing.forgetting import Gain, gains, store
from jumok.training.ranks import SINGLE_PROCESS, Ranks, local_device
from jumok.training.start import PretrainedModel
from jumok.training.task import Reporter, Task, prepare_task

PACKABLE = TranslationConfig, LanguageModelConfig
"""Recipes with the key training.batches."""


@dataclass(frozen=True)
class Result:
    """The result of a run.

    Attributes:
        model: the best model's bundle; None before the first validation.
        start: the model that was trained further, with its scores before; None: from scratch.
        gains: its scores before and after.
    """

    folder: Path
    model: Path | None
    outcome: Outcome
    progress: Progress
    config: Config
    start: PretrainedModel | None = None
    gains: tuple[Gain, ...] = ()


def train(
    config: Config, runs: Path, screen: Log, *, resume: bool = False, ranks: Ranks = SINGLE_PROCESS
) -> Result:
    """Trains what `config` describes, in the folder runs/NAME; errors as of `jumok.train`.

    Args:
        screen: is called after every step.
        resume: continue from the folder's last checkpoint.
        ranks: all call this. The first one prepares the data, validates, and writes the files.
    """
    home = runs / config.name
    check_alike(config, ranks)
    try:
        if ranks.index:
            return _help(config, home, resume, ranks)
        if not resume:
            folder.make(home)
        elif not home.is_dir():
            folder.read(home, config)  # raises that there is no such run
        with held(home):
            return _train(config, home, screen, resume, ranks)
    except OSError as error:
        raise TrainingError(
            "a file of the run could not be read or written.",
            got=str(error),
            do="free some space or correct the permissions, then run again; "
            "with --resume if there is a checkpoint",
            place=Location(home),
        ) from error


def _train(config: Config, home: Path, screen: Log, resume: bool, ranks: Ranks) -> Result:
    device = local_device(config.training.device, ranks)
    if resume:
        decisions = folder.read(home, config)
    else:
        folder.start(home)
        decisions = decide(config.training, device, screen.say, ranks)
        decisions = replace(decisions, batches=batches_of(config, device))
    folder.write(home, config, decisions)  # a resumed run may have become longer
    folder.tidy(home)
    sweep(home.parent / ".cache")
    task, config = _prepare(config, decisions, home, screen.say)
    if config.start is not None:
        folder.write(home, config, decisions)  # with the number of steps, which the data decides
    ranks.broadcast(asdict(decisions))  # the others read what is prepared now
    loop = assemble(config, home, task, decisions, screen, ranks)
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
    start = task.start if isinstance(task, FineTuning) else None
    found: list[Gain] = []
    if start is not None and start.scores is not None and model.is_dir():
        found = gains(start.scores, read_bundle(model).card.scores)
        store(found, str(start), home)
    return Result(
        home, model if model.is_dir() else None, outcome, loop.progress, config, start, tuple(found)
    )


def _help(config: Config, home: Path, resume: bool, ranks: Ranks) -> Result:
    screen = Silent()
    decisions = Decisions(**ranks.broadcast(None))
    task, config = _prepare(config, decisions, home, screen.say)
    loop = assemble(config, home, task, decisions, screen, ranks)
    if resume:
        _go_on(loop, home, screen.say)
    outcome = loop.run()
    return Result(home, None, outcome, loop.progress, config)


def _prepare(
    config: Config, decisions: Decisions, home: Path, say: Reporter
) -> tuple[Task, Config]:
    """The task of the recipe, and the recipe with every number that depends on the data."""
    made: dict[str, object] = {"shares": decisions.shares}
    if isinstance(config, PACKABLE):
        made["batches"] = decisions.batches
    training = config.training.model_copy(update=made)
    decided, cache = config.model_copy(update={"training": training}), home.parent / ".cache"
    if config.start is None:
        return prepare_task(decided, home, cache, say), config
    task = prepare_further(decided, home, cache, say)
    return task, sized(config, task)


def _go_on(loop: Loop, home: Path, say: Reporter) -> None:
    if checkpoint.exists(home):
        saved, damage = checkpoint.load(home, loop.learner.ranges, loop.ranks)
        if damage:
            say(damage)
        loop.resume(saved)
    say(f"continuing after step {loop.progress.step:,}")


def decide(
    training: TrainingConfig, device: torch.device, say: Reporter, ranks: Ranks = SINGLE_PROCESS
) -> Decisions:
    """Resolves "auto" on this machine, and reports it."""
    precision = choose_precision(training.precision, device)
    shares = training.shares or usual_shares(training, device, ranks)
    threads = threads_of(training, device, shares, ranks)
    workers = "1 worker thread" if threads == 1 else f"{threads} worker threads"
    processes = f"{ranks.count} processes, each with " if ranks.count > 1 else ""
    say(f"device: {device.type}, {processes}{workers}, {precision.reason}")
    if not training.shares and shares != (alone := usual_shares(training, device, SINGLE_PROCESS)):
        say(
            f"a step has {shares} shares, one for each process, and not {alone} as in one process: "
            "the last bits differ from those of one (training.shares says how many)"
        )
    if training.sharding == "full" and not is_sharded(training, ranks):
        say(
            'training.sharding = "full": one process has nothing to divide, and trains as in slices'
        )
    return Decisions("bf16" if precision.dtype == torch.bfloat16 else "fp32", shares)


def batches_of(config: Config, device: torch.device) -> Literal["exact", "packed"]:
    """The batches that "auto" stands for: of one shape on GPUs, wherever rows can be shared.

    The sentences of a translator share a row only where no scores between them are kept, none
    depends on their place in the row, and the END of sources is read.
    """
    if not isinstance(config, PACKABLE) or config.training.batches == "exact":
        return "exact"
    if config.training.batches == "packed":
        return "packed"
    if isinstance(config.model, TransformerConfig):
        varies = isinstance(config, TranslationConfig) and config.varies
        apart = config.model.keeps_scores or config.model.knows_row or not config.model.source_end
        shares_rows = not (varies or apart)
    else:
        shares_rows = isinstance(config.model, CausalConfig)
    return "packed" if device.type != "cpu" and shares_rows else "exact"


def usual_shares(training: TrainingConfig, device: torch.device, ranks: Ranks) -> int:
    """The number of shares where the recipe gives none: on a CPU as its micro-batches allow, on a
    GPU one, and at least one for each process.
    """
    least = 1 << (ranks.count - 1).bit_length()
    return least if device.type != "cpu" else max(least, training.processor_shares)


def threads_of(training: TrainingConfig, device: torch.device, shares: int, ranks: Ranks) -> int:
    """The micro-batches that one process computes at the same time.

    Raises:
        ConfigError: the shares cannot be divided among the processes.
    """
    if shares % ranks.count or ranks.count & (ranks.count - 1):
        raise ConfigError(
            f"{shares} shares of a step cannot be divided among {ranks.count} processes.",
            expected=f"1, 2, 4, ... processes, at most {shares}",
            got=f"{ranks.count} processes",
            do="start another number of processes; a new run may have more shares: "
            "--set training.shares=16",
        )
    cores = training.threads or torch.get_num_threads()
    return min(cores, shares // ranks.count) if device.type == "cpu" else 1


def check_alike(config: Config, ranks: Ranks) -> None:
    """Raises a ConfigError if ranks differ in recipe, versions or kind of device."""
    if ranks.count == 1:
        return
    kind = local_device(config.training.device, ranks).type
    facts = "\n".join([config.model_dump_json(), version("jumok"), torch.__version__, kind])
    digest = torch.frombuffer(bytearray(hashlib.sha256(facts.encode()).digest()), dtype=torch.uint8)
    first, *others = ranks.all_gather(digest)
    different = [rank for rank, its in enumerate(others, 1) if not torch.equal(its, first)]
    if different:
        raise ConfigError(
            "the processes do not train the same.",
            expected="one recipe, with the same values, the same versions of jumok and torch, and "
            "processors alone or GPUs alone",
            got=f"rank {', '.join(map(str, different))} has others than rank 0",
            do="start all of them with the same command, from the same installation",
        )


def assemble(
    config: Config,
    home: Path,
    task: Task,
    decisions: Decisions,
    screen: Log,
    ranks: Ranks = SINGLE_PROCESS,
) -> Loop:
    """The loop of a new run."""
    device = local_device(config.training.device, ranks)
    threads = threads_of(config.training, device, decisions.shares, ranks)
    torch.set_num_threads(threads)
    torch.manual_seed(config.seed)
    model = task.build()
    learner = Learner(
        model,
        task.objective,
        config.training,
        config.seed,
        dtype_of(decisions.precision),
        decisions.shares,
        threads,
        ranks,
        device,
    )
    for line in task.describe(model):
        screen.say(line)
    return Loop(config, home, learner, task, dtype_of(decisions.precision), screen, ranks)
