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
from jumok.config import Config, StartConfig
from jumok.config.eye import EyeConfig
from jumok.config.section import Section
from jumok.config.writing import recipe_text
from jumok.data.files.atomic import write_durably
from jumok.data.planned import Planned
from jumok.errors import BundleError, ConfigError, DataError, Location
from jumok.shapes import Tensor
from jumok.training import checkpoint
from jumok.training.folder import EARLIER, RECIPE, START
from jumok.training.optimization.frozen import freeze
from jumok.training.optimization.partial import (
    LARGE,
    leave_out,
    merge_additions,
    merged_weights,
    part_line,
    trains_partly,
)
from jumok.training.preparing.batch_shares import batch_shares
from jumok.training.preparing.eye import store_eye
from jumok.training.preparing.forgetting import checked_config, gains
from jumok.training.preparing.growing import grown_rows, spelled, start_tokenizer
from jumok.training.start import PretrainedModel, earlier_recipe, refuse_other_sizes
from jumok.training.task import (
    MicroBatch,
    Reporter,
    RunStats,
    Scores,
    Task,
    UpdateSource,
    prepare_task,
    scores_on_card,
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
        mixes = earlier is not None and _start_of(config).mix > 0.0
        self.mixed = MixedUpdates(task.updates, earlier.updates) if earlier and mixes else None
        self.updates: UpdateSource = self.mixed or task.updates

    def build(self) -> nn.Module:
        """The model with the weights of the trained one; a checkpoint replaces what is trained."""
        model, start = self._task.build(), _start_of(self._config)
        if trains_partly(start) or not checkpoint.exists(self._home):
            self._fill(model)
        leave_out(model, start)
        freeze(model, self.start.frozen, bias=self.start.unbiased)
        return model

    def _fill(self, model: nn.Module) -> None:
        bundle = read_bundle(_start_of(self._config).model)
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
        if _start_of(self._config).grow:
            old = spelled(bundle.folder / TOKENIZER, self._home / TOKENIZER)
            size = bundle.config.vocabulary_size
            for name, tensor in model.state_dict().items():
                if len(weights[name]) == size < len(tensor):
                    weights[name] = grown_rows(weights[name], old)
        fill_matching(model, weights, bundle.config.labels, labels_of(self._task))

    def describe(self, model: nn.Module) -> Iterator[str]:
        yield from self._task.describe(model)
        yield f"trained further from {self.start}"
        start = _start_of(self._config)
        if trains_partly(start):
            yield part_line(model)
        elif sum(each.numel() for each in model.parameters()) >= LARGE:
            yield "all weights are trained: --lora 16 trains small additions"
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
        merge_additions(model)
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
        start = _start_of(self._config)
        part = f", frozen: {' '.join(start.freeze)}" if start.freeze else ""
        part += f", low-rank additions of rank {start.lora}, merged" if start.lora else ""
        notes: tuple[str, ...] = ()
        if self.start.scores is not None:
            found = gains(self.start.scores, scores_on_card(scores))
            notes = ("before and after: " + ", ".join(map(str, found)),) if found else ()
        facts = replace(
            facts,
            started_from=f"{self.start}{part}",
            provenance=self.start.provenance,
            notes=notes,
        )
        self._task.write(folder, merged_weights(weights, start), scores, facts)


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
    start = _start_model(config, home, say)
    earlier = _earlier_config(config, home, start, say)
    check, share = bool(_start_of(config).check), _start_of(config).mix if earlier else 0.0
    if check:
        (home / EARLIER).mkdir(exist_ok=True)
        earlier = checked_config(earlier if earlier and share else config, _start_of(config))
    new_config, earlier_config = batch_shares(config, earlier, share)
    task = prepare_task(new_config, home, cache, say)
    if earlier_config is None:
        return FineTuning(config, home, start, task, None)
    if labels_of(task) != start.config.labels:
        _refuse_other_labels(config, start, task)
        say("the earlier data has other labels, so it is not scored")
        return FineTuning(config, home, start, task, None)
    try:
        old = prepare_task(
            earlier_config, home / EARLIER, cache, lambda text: say(f"earlier data: {text}")
        )
    except (DataError, ConfigError) as error:
        if share or _start_of(config).check:
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


def _refuse_other_labels(config: Config, start: PretrainedModel, task: Task) -> None:
    asked = _start_of(config)
    if asked.mix or asked.check:
        how, option = ("mixed in", "--mix") if asked.mix else ("checked", "--check")
        raise ConfigError(
            f"the earlier data has other labels than the new data, so it cannot be {how}.",
            expected=", ".join(start.config.labels),
            got=", ".join(labels_of(task)),
            do=f"leave out {option}, or give data with the labels of the model",
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
    fitted: dict[str, float] = {"log_every": max(1, every // 2), "checkpoint_every": max(every, 50)}
    if training.minutes is None:
        fitted["steps"] = steps
    if not start.steps:  # an imported student's sharp probabilities would be smoothed away first
        fitted["label_smoothing"] = 0.0
    training = _with_defaults(training, **fitted).model_copy(update={"schedule": schedule})
    changes = {"training": training, "validation": _with_defaults(validation, every=every)}
    return config.model_copy(update=changes)


def _with_defaults(section: AnySection, **values: object) -> AnySection:
    missing = {key: value for key, value in values.items() if key not in section.model_fields_set}
    return section.model_copy(update=missing)


def _start_of(config: Config) -> StartConfig:
    assert config.start is not None
    return config.start


def _start_model(config: Config, home: Path, say: Reporter) -> PretrainedModel:
    if (home / START).is_file():
        return PretrainedModel.stored(home)
    bundle = read_bundle(_start_of(config).model)
    refuse_other_sizes(config, bundle)
    if (bundle.folder / TOKENIZER).is_file():
        (home / EARLIER).mkdir(exist_ok=True)
        tokenizer = start_tokenizer(config, bundle, home, say)
        for folder in (home, home / EARLIER):
            write_durably(folder / TOKENIZER, tokenizer)
    if isinstance(getattr(bundle.section, "encoder", None), EyeConfig):
        (home / EARLIER).mkdir(exist_ok=True)
        store_eye(bundle, (home, home / EARLIER))
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
            if not config.start.check:
                say(
                    "the data that the model was trained on is not known, so it is not scored; "
                    "--set start.recipe=FILE names its recipe, and --check FILE a text that should "
                    "not be forgotten"
                )
            return None
        stored.parent.mkdir(exist_ok=True)
        text = recipe_text(earlier_recipe(file, str(start.config.model["kind"])))
        write_durably(stored, text.encode())
    return earlier_recipe(stored, config.model.kind)
