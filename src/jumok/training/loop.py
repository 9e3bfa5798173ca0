"""The training loop: steps, validations, checkpoints, and the reasons to stop.

until the budget is spent:
    one optimizer step            learner.update
    now and then a record         log
    now and then a validation     the averaged weights; the best so far become the bundle
    now and then a checkpoint     all that an exact resume needs
"""

import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import torch

from jumok.config import Config, TrainingConfig
from jumok.errors import TrainingError
from jumok.training import checkpoint
from jumok.training.checkpoint import Checkpoint
from jumok.training.folder import MODEL, STEPS
from jumok.training.interrupt import Interrupt
from jumok.training.learner import Learner
from jumok.training.log import Log, StepRecord, ValidationRecord, peak_memory
from jumok.training.precision import one_thread
from jumok.training.schedule import learning_rate
from jumok.training.task import CALMER, Facts, Scores, Task, finite, label

PATIENCE_WITH_NONFINITE = 5


@dataclass
class Progress:
    """Where a run stands. All of it is in the checkpoint.

    Attributes:
        step: optimizer steps made.
        tokens, source_tokens: real tokens of them.
        seconds: wall time of the run, validation and saving included.
        step_seconds, cpu_seconds: wall and processor time of the steps alone.
        best: the best validation so far by the recipe's metric, and where; None before the first.
        worse: validations since the best one.
        skipped, skipped_in_a_row: steps left out because something was not finite.
    """

    step: int = 0
    tokens: int = 0
    source_tokens: int = 0
    seconds: float = 0.0
    step_seconds: float = 0.0
    cpu_seconds: float = 0.0
    best: float | None = None
    best_step: int = 0
    worse: int = 0
    skipped: int = 0
    skipped_in_a_row: int = 0

    def share(self, training: TrainingConfig) -> float:
        """How much of the run is over, 0 to 1: of the minutes where they are given."""
        if training.minutes is not None:
            return min(self.seconds / (60.0 * training.minutes), 1.0)
        return min(self.step / training.steps, 1.0)


@dataclass(frozen=True)
class Outcome:
    """Why a run stopped, and the signal that stopped it if it was one."""

    reason: Literal["finished", "no longer improving", "interrupted"]
    signal: int | None = None


class Loop:
    """One run from where `progress` stands to its end.

    Args:
        folder: where checkpoints go.
        task: hands out the batches, scores the averaged weights, and writes the best of them.
        dtype: what validation decodes in, the fastest one here.
        screen: is told of every step.
    """

    def __init__(
        self,
        config: Config,
        folder: Path,
        learner: Learner,
        task: Task,
        dtype: torch.dtype,
        screen: Log,
    ) -> None:
        self.config, self.folder = config, folder
        self.learner, self.task, self.dtype, self.screen = learner, task, dtype, screen
        self.files: Sequence[Log] = ()
        self.progress = Progress()
        self._loss_sum, self._loss_tokens = 0.0, 0
        self._saved = 0
        self._began = 0.0

    def resume(self, saved: Checkpoint) -> None:
        """Goes to where `saved` was taken."""
        self.learner.load_state(saved.tensors)
        self.task.updates.restore(saved.run["cursor"])
        self.progress = Progress(**saved.run["progress"])
        self._saved = self.progress.step

    def run(self, files: Sequence[Log] = ()) -> Outcome:
        """Trains until the budget is spent, a signal comes, or nothing improves any more.

        Args:
            files: are told every `log_every` steps, and of validations.

        Raises:
            TrainingError: losses that are not finite, or a disk that refuses.
        """
        self.files = files
        self._began = time.monotonic() - self.progress.seconds
        progress, validation = self.progress, self.config.validation
        with Interrupt() as interrupt:
            while not self._over:
                self._step()
                if progress.step % validation.every == 0 or self._over:
                    self._validate()
                due = progress.step - self._saved >= self.config.training.checkpoint_every
                if due or self._over or interrupt.signal is not None:
                    self._save()
                if interrupt.signal is not None and not self._over:
                    return Outcome("interrupted", interrupt.signal)
        return Outcome("no longer improving" if self._out_of_patience else "finished")

    @property
    def _over(self) -> bool:
        return self.progress.share(self.config.training) >= 1.0 or self._out_of_patience

    @property
    def _out_of_patience(self) -> bool:
        patience = self.config.validation.patience
        return bool(patience) and self.progress.worse >= patience

    def _step(self) -> None:
        training, progress = self.config.training, self.progress
        wall, cpu = time.perf_counter(), time.process_time()
        step = progress.step + 1
        rate = learning_rate(
            training.schedule, training.learning_rate, step, progress.share(training)
        )
        update = self.learner.update(next(self.task.updates), step, rate)
        progress.step = step
        progress.step_seconds += time.perf_counter() - wall
        progress.cpu_seconds += time.process_time() - cpu
        progress.seconds = time.monotonic() - self._began
        progress.tokens += update.tokens
        progress.source_tokens += update.source_tokens
        if update.skipped:
            progress.skipped += 1
            progress.skipped_in_a_row += 1
            self._stop_if_hopeless(rate)
        else:
            progress.skipped_in_a_row = 0
            self._loss_sum += update.loss * update.tokens
            self._loss_tokens += update.tokens
        self._record(rate, update.gradient_norm)

    def _stop_if_hopeless(self, rate: float) -> None:
        progress = self.progress
        if progress.skipped_in_a_row < PATIENCE_WITH_NONFINITE:
            return
        raise TrainingError(
            f"the loss or its gradient was not finite in {progress.skipped_in_a_row} steps in a "
            f"row (up to step {progress.step}); training has diverged.",
            got=f"a learning rate of {rate:.3g} at that step",
            do=CALMER,
        )

    def _record(self, rate: float, gradient_norm: float) -> None:
        progress = self.progress
        record = StepRecord(
            step=progress.step,
            share=progress.share(self.config.training),
            loss=self._loss_sum / self._loss_tokens if self._loss_tokens else math.nan,
            learning_rate=rate,
            gradient_norm=gradient_norm,
            tokens=progress.tokens,
            source_tokens=progress.source_tokens,
            seconds=progress.seconds,
            step_seconds=progress.step_seconds,
            cpu_seconds=progress.cpu_seconds,
            skipped=progress.skipped,
            unit=self.task.unit,
            memory=peak_memory(),
        )
        self.screen.step(record)
        if progress.step % self.config.training.log_every == 0:
            for log in self.files:
                log.step(record)
            self._loss_sum, self._loss_tokens = 0.0, 0

    def _validate(self) -> None:
        progress, metric = self.progress, self.config.validation.metric
        start = time.perf_counter()
        self.learner.snapshot()
        # Products this small, cut among threads, take longer: 11 s for 1 s on two busy cores.
        with one_thread():
            scores = self.task.validate(self.learner.averaged(), self.dtype)
            finite(scores.loss)
            value = scores.value(metric)
            best = progress.best is None or value > progress.best
            if best:
                progress.best, progress.best_step, progress.worse = value, progress.step, 0
            else:
                progress.worse += 1
            self._write(scores, best)
        progress.seconds = time.monotonic() - self._began
        record = ValidationRecord(
            step=progress.step,
            loss=scores.loss,
            figures={label(score): score.value for score in scores.figures},
            best=best,
            seconds=progress.seconds,
            took=time.perf_counter() - start,
        )
        for log in (self.screen, *self.files):
            log.validation(record)

    def _write(self, scores: Scores, best: bool) -> None:
        """The bundles of a validation: where the best one stands, and where each does."""
        progress = self.progress
        facts = Facts(progress.step, progress.seconds / 60.0)
        kept = self.config.validation.keep == "all"
        for wanted, name in ((best, MODEL), (kept, f"{STEPS}/{progress.step:06}")):
            if wanted:
                self.task.write(self.folder / name, self.learner.weights(), scores, facts)

    def _save(self) -> None:
        run: dict[str, Any] = {
            "progress": asdict(self.progress),
            "cursor": self.task.updates.cursor,
        }
        checkpoint.save(self.folder, Checkpoint(self.learner.state(), run))
        self._saved = self.progress.step
