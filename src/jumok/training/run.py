"""A run: from a config to a folder with a log, checkpoints and the best model."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import torch
from torch import nn

from jumok.bundle.card import BundleConfig, Card
from jumok.bundle.weights import fill
from jumok.bundle.writing import write_bundle
from jumok.config import Config, TrainingConfig
from jumok.errors import Place, TrainingError
from jumok.inspection.alignment import Reading
from jumok.inspection.calibration import choose_reading
from jumok.models.catalog import build
from jumok.models.encoder_decoder import Transformer
from jumok.shapes import Tensor
from jumok.systems.device import DTYPES, choose_device
from jumok.training import checkpoint, folder
from jumok.training.folder import Decisions
from jumok.training.learner import Learner
from jumok.training.log import JsonLog, Log, TensorBoardLog
from jumok.training.loop import Loop, Outcome, Progress
from jumok.training.objectives import translation
from jumok.training.precision import choose
from jumok.training.prepare import Prepared, Say, padding_share, prepare, update_stream
from jumok.training.validate import Scores, Validator

READING_PAIRS = 64


@dataclass(frozen=True)
class Result:
    """A run that stopped, where its things are, and the best model's scores.

    Attributes:
        model: the best model's bundle; None while there has been no validation.
    """

    folder: Path
    model: Path | None
    outcome: Outcome
    progress: Progress


def train(config: Config, runs: Path, screen: Log, *, resume: bool = False) -> Result:
    """Trains what `config` describes, in the folder runs/NAME.

    Args:
        screen: is told of every step.
        resume: go on from the folder's last checkpoint.

    Raises:
        ConfigError: the name is taken, the recipe changed since, a setting that cannot be.
        DataError: a corpus that cannot be read.
        BundleError: nothing whole to resume from, or a bundle that cannot be written.
        TrainingError: divergence, or a disk that refuses.
    """
    try:
        return _train(config, runs / config.name, screen, resume)
    except OSError as error:
        raise TrainingError(
            "a file of the run could not be read or written.",
            got=str(error),
            do="free some space or mend the permissions, then run again; "
            "with --resume if there is a checkpoint",
            place=Place(runs / config.name),
        ) from error


def _train(config: Config, home: Path, screen: Log, resume: bool) -> Result:
    device = choose_device(config.training.device)
    if resume:
        decisions = folder.read(home, config)
    else:
        folder.start(home)
        decisions = decide(config.training, device, screen.say)
        folder.write(home, config, decisions)
    prepared = prepare(config, home, home.parent / ".cache", screen.say)
    loop = assemble(config, home, prepared, decisions, screen)
    if resume and checkpoint.exists(home):
        saved, damage = checkpoint.load(home)
        if damage:
            screen.say(damage)
        loop.resume(saved)
    if resume:
        screen.say(f"going on after step {loop.progress.step:,}")
    files: list[Log] = [JsonLog(home / folder.LOG, loop.progress.step)]
    if config.training.tensorboard:
        files.append(TensorBoardLog(home / "tensorboard", loop.progress.step))
    try:
        outcome = loop.run(files)
    finally:
        for log in files:
            log.close()
    model = home / folder.MODEL
    return Result(home, model if model.is_dir() else None, outcome, loop.progress)


def decide(training: TrainingConfig, device: torch.device, say: Say) -> Decisions:
    """Finds out what "auto" means on this machine, and says so."""
    precision = choose(training.precision, device)
    cores = training.threads or torch.get_num_threads()
    micro_batches = math.ceil(training.tokens_per_batch / training.tokens_per_micro_batch)
    threads = min(cores, micro_batches) if device.type == "cpu" else 1
    say(f"{device.type}, {threads} at a time; {precision.reason}")
    return Decisions("bf16" if precision.dtype == torch.bfloat16 else "fp32", threads)


def assemble(
    config: Config, home: Path, prepared: Prepared, decisions: Decisions, screen: Log
) -> Loop:
    """The loop of a run that has made no step yet."""
    device = choose_device(config.training.device)
    torch.set_num_threads(decisions.threads)
    torch.manual_seed(config.seed)
    model = build(config.model, prepared.tokenizer.size).to(device)
    learner = Learner(
        model,
        translation,
        config.training,
        config.seed,
        DTYPES[decisions.precision],
        decisions.threads,
    )
    updates = update_stream(config, prepared.train, prepared.tokenizer)
    _say_sizes(config, model, prepared, screen.say)
    screen.say(f"padding: {padding_share(updates):.1%} of a batch")
    return Loop(
        config,
        home,
        learner,
        updates,
        Validator(config, prepared, translation, DTYPES[decisions.precision]),
        lambda weights, scores, progress: keep_best(
            config, home, prepared, weights, scores, progress
        ),
        screen,
    )


def keep_best(
    config: Config,
    home: Path,
    prepared: Prepared,
    weights: Mapping[str, Tensor],
    scores: Scores,
    progress: Progress,
) -> None:
    """Writes the bundle runs/NAME/model."""
    data = config.data
    reading = _alignment_reading(config, prepared, weights)
    bundle = BundleConfig(
        model=config.model.model_dump(),
        vocabulary_size=prepared.tokenizer.size,
        source_language=data.source_language,
        target_language=data.target_language,
        max_tokens=data.max_tokens,
        alignment_layer=reading.layer,
        alignment_at_input=reading.at_input,
    )
    card = Card(
        name=config.name,
        trained_on=tuple(f"{store.report.name}: {len(store):,} pairs" for store in prepared.train),
        pairs=sum(len(store) for store in prepared.train),
        steps=progress.step,
        minutes=progress.seconds / 60.0,
        scores=scores.text,
        date=datetime.now(UTC).date().isoformat(),
        notes=(f"validation loss {scores.loss:.4f} nats a target token",),
    )
    write_bundle(home / folder.MODEL, weights, bundle, prepared.tokenizer, card)


def _alignment_reading(
    config: Config, prepared: Prepared, weights: Mapping[str, Tensor]
) -> Reading:
    """Where the model's alignments are read best, by some validation pairs."""
    with torch.random.fork_rng(devices=[]):  # training draws on as if nothing had been built
        model = build(config.model, prepared.tokenizer.size).eval()
    assert isinstance(model, Transformer)
    fill(model, weights)
    sources, targets = (
        prepared.tokenizer.encode_batch(side[:READING_PAIRS])
        for side in (prepared.sources, prepared.references)
    )
    return choose_reading(model, sources, targets)


def _say_sizes(config: Config, model: nn.Module, prepared: Prepared, say: Say) -> None:
    parameters = sum(parameter.numel() for parameter in model.parameters())
    sizes = config.model
    say(
        f"model: {parameters / 1e6:.1f} M parameters; {sizes.encoder_layers}+"
        f"{sizes.decoder_layers} layers, width {sizes.dim}, {sizes.heads} heads"
    )
    stores = prepared.train
    targets = sum(int(store.target.lengths.sum()) + len(store) for store in stores)
    say(
        f"data: {sum(map(len, stores)):,} pairs, {targets:,} target tokens, in batches of "
        f"{config.training.tokens_per_batch:,}"
    )
