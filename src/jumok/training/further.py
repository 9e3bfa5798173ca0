"""Training a trained model further: its weights are the initial ones, its data may be mixed in.

The run has two tasks of the same kind: that of the recipe, and that of the recipe that the model
was trained with. Both score every validation; the new one decides which model is the best. With
`start.mix`, a batch is a smaller update of each.
"""

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol, TypeVar, runtime_checkable

import torch
from torch import nn

from jumok.bundle.reading import TOKENIZER, read_bundle
from jumok.bundle.weights import load_model
from jumok.config import Config, TrainingConfig
from jumok.config.families import LanguageModelConfig
from jumok.config.section import Section
from jumok.config.writing import recipe_text
from jumok.data.files.atomic import write_durably
from jumok.data.planned import Planned
from jumok.errors import BundleError, ConfigError, DataError, Location
from jumok.shapes import Tensor
from jumok.training import checkpoint
from jumok.training.folder import EARLIER, RECIPE, START
from jumok.training.start import PretrainedModel, earlier_recipe, refuse_other_sizes
from jumok.training.task import (
    MicroBatch,
    Reporter,
    RunStats,
    Scores,
    Task,
    UpdateSource,
    prepare_task,
)

AnySection = TypeVar("AnySection", bound=Section)

EPOCHS = 10
LEAST_STEPS = 50
VALIDATIONS = 10
WARMUP_SHARE = 0.1
CHECKED_UPDATES = 20


@runtime_checkable
class Labelled(Protocol):
    """A task with labels, in the order of the model's outputs."""

    @property
    def labels(self) -> tuple[str, ...]: ...


class MixedUpdates:
    """Updates of two sources as one: each has its share of every batch."""

    def __init__(self, new: UpdateSource, earlier: UpdateSource) -> None:
        self._new, self._earlier = new, earlier

    def __iter__(self) -> Iterator[list[MicroBatch]]:
        return self

    def __next__(self) -> list[MicroBatch]:
        return [*next(self._new), *next(self._earlier)]

    def planned(self) -> Sequence[Planned[MicroBatch]]:
        return [*self._new.planned(), *self._earlier.planned()]

    @property
    def cursor(self) -> dict[str, object]:
        return {"new": self._new.cursor, "earlier": self._earlier.cursor}

    def restore(self, cursor: Mapping[str, object]) -> None:
        if cursor.keys() != {"new", "earlier"}:
            raise DataError(
                "the data has changed since training stopped.",
                expected="a position in the new and in the earlier data",
                got=", ".join(cursor),
            )
        self._new.restore(cursor["new"])
        self._earlier.restore(cursor["earlier"])

    @property
    def epoch_steps(self) -> float:
        return self._new.epoch_steps

    def share(self) -> float:
        """The share of the earlier data in the targets of the next updates; nothing moves."""
        counts = []
        for source in (self._earlier, self._new):
            cursor = source.cursor
            counts.append(
                sum(batch.targets for _ in range(CHECKED_UPDATES) for batch in next(source))
            )
            source.restore(cursor)
        return counts[0] / sum(counts)


class FineTuning:
    """A task whose model starts from a trained one.

    Args:
        earlier: the task of the recipe that the model was trained with; None: it is not known.
        home: the run's folder.

    Attributes:
        start: the trained model, and its scores once they are computed.
        mixed: the updates of both tasks; None: those of the new one alone.
    """

    def __init__(
        self, config: Config, home: Path, start: PretrainedModel, task: Task, earlier: Task | None
    ) -> None:
        self._config, self._home, self.start = config, home, start
        self._task, self._earlier = task, earlier
        self.objective, self.unit = task.objective, task.unit
        mixes = earlier is not None and _mix(config) > 0.0
        self.mixed = MixedUpdates(task.updates, earlier.updates) if earlier and mixes else None
        self.updates: UpdateSource = self.mixed or task.updates

    def build(self) -> nn.Module:
        """The model with the weights of the trained one; a checkpoint replaces them anyway."""
        model = self._task.build()
        if not checkpoint.exists(self._home):
            self._fill(model)
        return model

    def _fill(self, model: nn.Module) -> None:
        bundle = read_bundle(_model_of(self._config))
        if PretrainedModel.of(bundle).fingerprint != self.start.fingerprint:
            raise BundleError(
                "the model to start from has changed since the run began.",
                expected=str(self.start),
                got=str(PretrainedModel.of(bundle)),
                do="start a new run under another name: --name OTHER",
                place=Location(bundle.folder),
            )
        with torch.random.fork_rng(devices=[]):  # the random state of training is not changed
            weights = load_model(bundle).state_dict()
        fill_matching(model, weights, bundle.config.labels, labels_of(self._task))

    def describe(self, model: nn.Module) -> Iterator[str]:
        yield from self._task.describe(model)
        yield f"trained further from {self.start}"
        before, labels = self.start.config.labels, labels_of(self._task)
        if before != labels:
            common = len(set(before) & set(labels))
            yield (
                f"a new output layer for the labels {', '.join(labels)}: {common} of them start "
                "with the model's weights, the others at random"
            )
        if self.mixed is not None:
            yield f"earlier data: {self.mixed.share():.1%} of a batch"

    def validate(self, model: nn.Module, dtype: torch.dtype) -> Scores:
        # Validation may change the model, for a faster decoding.
        copied = None if self._earlier is None else copy.deepcopy(model)
        scores = self._task.validate(model, dtype)
        if self._earlier is not None and copied is not None:
            scores = replace(scores, earlier=self._earlier.validate(copied, dtype))
        if self.start.scores is None:  # the first validation is before the first step
            self.start = self.start.scored(scores)
            self.start.store(self._home)
        return scores

    def write(
        self, folder: Path, weights: Mapping[str, Tensor], scores: Scores, facts: RunStats
    ) -> None:
        self._task.write(folder, weights, scores, replace(facts, started_from=str(self.start)))


def labels_of(task: Task) -> tuple[str, ...]:
    """The labels of a classifier; () of other tasks."""
    return task.labels if isinstance(task, Labelled) else ()


@torch.no_grad()
def fill_matching(
    model: nn.Module,
    weights: Mapping[str, Tensor],
    before: tuple[str, ...],
    labels: tuple[str, ...],
) -> None:
    """Copies the weights; of the output layer of other labels, the rows of the labels in both.

    Args:
        before, labels: the labels of the weights, and of the model.
    """
    rows = [(labels.index(label), row) for row, label in enumerate(before) if label in labels]
    for name, tensor in model.state_dict().items():
        if before != labels and name.split(".")[0] == "output":
            for to, row in rows:
                tensor[to] = weights[name][row]
        else:
            tensor.copy_(weights[name])


def prepare_further(config: Config, home: Path, cache: Path, say: Reporter) -> FineTuning:
    """Prepares the data of the recipe and that of the model's earlier training."""
    start = _start_model(config, home)
    earlier = _earlier_config(config, home, start, say)
    share = _mix(config) if earlier is not None else 0.0
    new_config, earlier_config = _batch_shares(config, earlier, share)
    task = prepare_task(new_config, home, cache, say)
    if earlier_config is None:
        return FineTuning(config, home, start, task, None)
    if labels_of(task) != start.config.labels:
        _refuse_mixing_labels(config, start, task)
        say("the earlier data has other labels, so it is not scored")
        return FineTuning(config, home, start, task, None)
    try:
        old = prepare_task(
            earlier_config, home / EARLIER, cache, lambda text: say(f"earlier data: {text}")
        )
    except (DataError, ConfigError) as error:
        if share:
            raise
        say(f"the earlier data cannot be read, so it is not scored: {error.what}")
        old = None
    if old is not None and labels_of(old) != start.config.labels:
        raise ConfigError(
            "the earlier data does not have the labels that the model was trained with.",
            expected=", ".join(start.config.labels),
            got=", ".join(labels_of(old)),
            do="name the recipe that it was trained with: --set start.recipe=FILE",
        )
    further = FineTuning(config, home, start, task, old)
    _refuse_other_share(further.mixed, share)
    return further


def _refuse_other_share(mixed: MixedUpdates | None, share: float) -> None:
    actual = share if mixed is None else mixed.share()
    if not share / 2 <= actual <= 2 * share:
        raise ConfigError(
            f"a batch is too small for a share of {share:.1%}.",
            got=f"{actual:.1%} of the earlier data, as a batch holds whole examples of each",
            do="set a larger training.tokens_per_batch, or another start.mix",
        )


def _refuse_mixing_labels(config: Config, start: PretrainedModel, task: Task) -> None:
    if _mix(config):
        raise ConfigError(
            "the earlier data has other labels than the new data, so it cannot be mixed in.",
            expected=", ".join(start.config.labels),
            got=", ".join(labels_of(task)),
            do="leave out --mix, or give data with the labels of the model",
        )


def sized(config: Config, task: FineTuning) -> Config:
    """The recipe with the numbers that fit the data, where it gives none.

    Where it gives minutes alone, they alone end the run.
    """
    start = task.start
    training, validation = config.training, config.validation
    fitting = max(round(EPOCHS * task.updates.epoch_steps), LEAST_STEPS)
    if start.steps:  # they are not known of an imported model
        fitting = min(fitting, max(start.steps, LEAST_STEPS))
    steps = training.steps if "steps" in training.model_fields_set else fitting
    every = max(1, steps // VALIDATIONS)
    schedule = _with_defaults(training.schedule, warmup=max(1, round(WARMUP_SHARE * steps)))
    fitted = {"log_every": max(1, every // 2), "checkpoint_every": max(every, 50)}
    if training.minutes is None:
        fitted["steps"] = steps
    training = _with_defaults(training, **fitted).model_copy(update={"schedule": schedule})
    changes = {"training": training, "validation": _with_defaults(validation, every=every)}
    return config.model_copy(update=changes)


def _with_defaults(section: AnySection, **values: object) -> AnySection:
    missing = {key: value for key, value in values.items() if key not in section.model_fields_set}
    return section.model_copy(update=missing)


def _model_of(config: Config) -> Path:
    assert config.start is not None
    return config.start.model


def _mix(config: Config) -> float:
    assert config.start is not None
    return config.start.mix


def _start_model(config: Config, home: Path) -> PretrainedModel:
    if (home / START).is_file():
        return PretrainedModel.stored(home)
    bundle = read_bundle(_model_of(config))
    refuse_other_sizes(config, bundle)
    if (bundle.folder / TOKENIZER).is_file():
        (home / EARLIER).mkdir(exist_ok=True)
        for folder in (home, home / EARLIER):
            write_durably(folder / TOKENIZER, (bundle.folder / TOKENIZER).read_bytes())
    start = PretrainedModel.of(bundle)
    start.store(home)
    return start


def _earlier_config(
    config: Config, home: Path, start: PretrainedModel, say: Reporter
) -> Config | None:
    """The recipe that the model was trained with, stored in the run's folder; None: not known."""
    assert config.start is not None
    file, stored = config.start.recipe, home / EARLIER / RECIPE
    if not stored.is_file():
        if file is None:
            if config.start.mix:
                raise ConfigError(
                    "the data that the model was trained on is not known, and cannot be mixed in.",
                    expected=f"{RECIPE} in the folder of the model's run",
                    do="name the recipe that it was trained with: --set start.recipe=FILE",
                    place=Location(config.start.model),
                )
            say(
                "the data that the model was trained on is not known, so it is not scored; "
                "--set start.recipe=FILE names its recipe"
            )
            return None
        stored.parent.mkdir(exist_ok=True)
        text = recipe_text(earlier_recipe(file, str(start.config.model["kind"])))
        write_durably(stored, text.encode())
    return earlier_recipe(stored, config.model.kind)


def _batch_shares(
    config: Config, earlier: Config | None, mix: float
) -> tuple[Config, Config | None]:
    """Both recipes with their share of a batch; the earlier one keeps its data and validation."""
    if earlier is None:
        return config, None
    training = config.training
    unit = config.model.max_length if isinstance(config, LanguageModelConfig) else 1
    whole = training.tokens_per_batch // unit * unit
    part = round(mix * whole / unit) * unit
    if mix and not unit <= part <= whole - unit:
        raise ConfigError(
            f"start.mix = {mix} of a batch of {whole} is less than one window or example.",
            do="set a larger training.tokens_per_batch, or another start.mix",
        )
    sections: dict[str, object] = {"model": config.model}
    if "vectors" in type(earlier).model_fields:
        sections["vectors"] = None  # the model's embeddings are trained already
    if part:
        sections["training"] = _batches_of(earlier, part)
        config = config.model_copy(update={"training": _batches_of(config, whole - part)})
    return config, earlier.model_copy(update=sections)


def _batches_of(config: Config, tokens: int) -> TrainingConfig:
    """[training] with smaller batches, which are not divided evenly: both together are a step."""
    return config.training.model_copy(update={"tokens_per_batch": tokens, "shares": 1})
