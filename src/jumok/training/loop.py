"""The training loop: steps, validations, checkpoints, and the reasons to stop.

until the budget is spent:
    one optimizer step            learner.update
    from time to time a record         log
    from time to time a validation     the averaged weights; the best so far become the bundle
    from time to time a checkpoint     the state for an exact resume
"""

import math
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Literal

import torch

from jumok.config import Config, TrainingConfig
from jumok.errors import Location, TrainingError
from jumok.plugins import digests_of
from jumok.shapes import Tensor
from jumok.training import checkpoint
from jumok.training.checkpoint import Checkpoint
from jumok.training.folder import MODEL, VALIDATED, fingerprint
from jumok.training.interrupt import Interrupt
from jumok.training.learner import Learner, Update
from jumok.training.log import Log, StepRecord, ValidationRecord, peak_memory
from jumok.training.optimization.schedule import learning_rate
from jumok.training.precision import one_thread
from jumok.training.ranks import SINGLE_PROCESS, Ranks
from jumok.training.task import DIVERGENCE_ADVICE, RunStats, Scores, Task, finite, label

PATIENCE_WITH_NONFINITE = 5
# With training.minutes: the share of them after which it validates and saves at the latest,
# and the share of the time that validations of that kind may take.
LATEST, MOST = 0.1, 0.1


NOTHING_LEARNT = 0.1
"""Scores from 0 to this, in points of BLEU or per cent, say only that nothing is learnt."""


@dataclass
class Progress:
    """The progress of a run, all of which is in the checkpoint.

    Attributes:
        tokens, source_tokens: without padding.
        seconds: wall time, validation and saving included.
        step_seconds, cpu_seconds: wall and processor time of the steps alone.
        best: the best validation so far by the recipe's metric; None before the first.
        best_loss: the validation loss of that model, which decides between equal scores.
        worse: validations since the best one.
        untrained: why the best model counts as untrained; None: it is trained.
        validated_seconds: `seconds` at the last validation.
        validation_seconds: wall time of all validations.
        skipped, skipped_in_a_row: steps that were not finite.
        loss_sum, loss_tokens: since the last record in the log.
    """

    step: int = 0
    tokens: int = 0
    source_tokens: int = 0
    seconds: float = 0.0
    step_seconds: float = 0.0
    cpu_seconds: float = 0.0
    best: float | None = None
    best_loss: float = math.inf
    best_step: int = 0
    worse: int = 0
    untrained: str | None = None
    validated_seconds: float = 0.0
    validation_seconds: float = 0.0
    skipped: int = 0
    skipped_in_a_row: int = 0
    loss_sum: float = 0.0
    loss_tokens: int = 0

    def improves(self, value: float, loss: float) -> bool:
        """Whether a validation is the best so far: by its score, then by its loss.

        Scores in which nothing is learnt yet are equal, so that a run whose loss falls continues.
        """
        if self.best is None:
            return True
        scores = (value, self.best)
        now, best = (0.0 if 0.0 <= score < NOTHING_LEARNT else score for score in scores)
        return (now, -loss) > (best, -self.best_loss)

    def share(self, training: TrainingConfig) -> float:
        """The finished share of the run, 0 to 1: of its steps or minutes, whichever end first."""
        return min(max(self._shares(training).values()), 1.0)

    def end(self, training: TrainingConfig) -> str:
        """The setting that ends the run, such as "training.steps"."""
        shares = self._shares(training)
        return max(shares, key=shares.__getitem__)

    def _shares(self, training: TrainingConfig) -> dict[str, float]:
        shares = {}
        if training.step_limit is not None:
            shares["training.steps"] = self.step / training.step_limit
        if training.minutes is not None:
            shares["training.minutes"] = self.seconds / (60.0 * training.minutes)
        return shares


@dataclass(frozen=True)
class Outcome:
    """Why a run stopped.

    Attributes:
        signal: that stopped it, if any.
        limit: the setting that ended it, "training.steps" or "training.minutes"; "": neither did.
    """

    reason: Literal["finished", "no longer improving", "interrupted"]
    signal: int | None = None
    limit: str = ""


class Loop:
    """One run, from `progress` to its end.

    Args:
        folder: of the checkpoints.
        dtype: of decoding in validation.
        ranks: the first one validates and writes files; its clock is that of all.
    """

    def __init__(
        self,
        config: Config,
        folder: Path,
        learner: Learner,
        task: Task,
        dtype: torch.dtype,
        screen: Log,
        ranks: Ranks = SINGLE_PROCESS,
    ) -> None:
        self.config, self.folder, self.ranks = config, folder, ranks
        self.learner, self.task, self.dtype, self.screen = learner, task, dtype, screen
        self.updates = learner.prefetch(task.updates)
        self.files: Sequence[Log] = ()
        self.progress = Progress()
        self._saved, self._saved_at = 0, 0.0
        self._began = 0.0

    def resume(self, saved: Checkpoint) -> None:
        """Restores the progress of `saved`.

        Raises:
            TrainingError: it belongs to another run, or a plugin has changed.
            DataError: the data has changed.
        """
        if saved.run.get("recipe") != fingerprint(self.config):
            raise _not_of_this_run(self.folder, "the checkpoint of a run with a different recipe")
        for name, digest in digests_of(self.config.plugins).items():
            if saved.run["plugins"].get(name) != digest:
                raise TrainingError(
                    f"the plugin {name} has changed since the run's last checkpoint.",
                    do="restore it, or start a new run under another name: --name OTHER",
                    place=Location(self.folder),
                )
        known = {field.name for field in fields(Progress)}
        if saved.run["progress"].keys() != known:
            differing = ", ".join(sorted(saved.run["progress"].keys() ^ known))
            raise _not_of_this_run(self.folder, f"a different run state: {differing}")
        if _shapes_of_state(self.learner.state()) != _shapes_of_state(saved.tensors):
            raise _not_of_this_run(self.folder, "weights of different sizes")
        self.updates.restore(saved.run["cursor"])
        self.learner.load_state(saved.tensors)
        self.progress = Progress(**saved.run["progress"])
        if self._out_of_patience:  # who resumes such a run wants it to go on
            self.progress.worse = 0
        self._saved, self._saved_at = self.progress.step, self.progress.seconds

    def run(self, files: Sequence[Log] = ()) -> Outcome:
        """Trains until the budget is spent, a signal arrives, or the score no longer improves.

        Args:
            files: receive a record every `log_every` steps, and every validation.

        Raises:
            TrainingError: losses that are not finite, or a disk that refuses.
        """
        self.files = files
        self._began = time.monotonic() - self.progress.seconds
        progress, validation = self.progress, self.config.validation
        with Interrupt() as interrupt:
            if self.config.start is not None and progress.best is None:
                self._validate()  # the model as it was
                self._save()
            while not self._over:
                self._step()
                # One that this process or another one has received.
                signals = self.ranks.all_gather(torch.tensor(interrupt.signal or 0))
                signal = max(map(int, signals)) or None
                if progress.step % validation.every == 0 or self._validation_late or self._over:
                    self._validate()
                due = progress.step - self._saved >= self.config.training.checkpoint_every
                if due or self._late(self._saved_at) or self._over or signal is not None:
                    self._save()
                if signal is not None and not self._over:
                    return Outcome("interrupted", signal)
        if self._out_of_patience:
            return Outcome("no longer improving")
        return Outcome("finished", limit=progress.end(self.config.training))

    @property
    def _over(self) -> bool:
        return self.progress.share(self.config.training) >= 1.0 or self._out_of_patience

    @property
    def _out_of_patience(self) -> bool:
        patience = self.config.validation.patience
        return bool(patience) and self.progress.worse >= patience

    @property
    def _validation_late(self) -> bool:
        progress = self.progress
        cheap = progress.validation_seconds <= MOST * progress.seconds
        return cheap and self._late(progress.validated_seconds)

    def _late(self, before: float) -> bool:
        """Whether, in a run of minutes, too many of them have passed since `before`."""
        minutes = self.config.training.minutes
        return minutes is not None and self.progress.seconds - before >= LATEST * 60.0 * minutes

    def _step(self) -> None:
        training, progress = self.config.training, self.progress
        wall, cpu = time.perf_counter(), time.process_time()
        step = progress.step + 1
        rate = learning_rate(
            training.schedule,
            training.learning_rate,
            step,
            progress.share(training),
            timed=training.minutes is not None,
        )
        update = self.learner.update(self.updates.planned(), step, rate)
        progress.step = step
        progress.step_seconds += time.perf_counter() - wall
        own = torch.tensor(
            [time.monotonic() - self._began, time.process_time() - cpu], dtype=torch.float64
        )
        times, cpus = torch.stack(list(self.ranks.all_gather(own))).T.tolist()
        progress.seconds = times[0]  # the clock is that of the first rank
        progress.cpu_seconds += math.fsum(cpus)
        progress.tokens += update.tokens
        progress.source_tokens += update.source_tokens
        if update.skipped:
            progress.skipped += 1
            progress.skipped_in_a_row += 1
            self._stop_if_hopeless(rate)
        else:
            progress.skipped_in_a_row = 0
            progress.loss_sum += update.loss * update.tokens
            progress.loss_tokens += update.tokens
        self._record(rate, update)

    def _stop_if_hopeless(self, rate: float) -> None:
        progress = self.progress
        if progress.skipped_in_a_row < PATIENCE_WITH_NONFINITE:
            return
        raise TrainingError(
            f"the loss or its gradient was not finite for {progress.skipped_in_a_row} steps in a "
            f"row (up to step {progress.step}); training has diverged.",
            got=f"a learning rate of {rate:.3g} at that step",
            do=DIVERGENCE_ADVICE,
        )

    def _record(self, rate: float, update: Update) -> None:
        progress = self.progress
        record = StepRecord(
            step=progress.step,
            share=progress.share(self.config.training),
            loss=progress.loss_sum / progress.loss_tokens if progress.loss_tokens else math.nan,
            learning_rate=rate,
            gradient_norm=update.gradient_norm,
            tokens=progress.tokens,
            source_tokens=progress.source_tokens,
            seconds=progress.seconds,
            step_seconds=progress.step_seconds,
            cpu_seconds=progress.cpu_seconds,
            skipped=progress.skipped,
            unit=self.task.unit,
            memory=peak_memory(),
            balance=update.balance,
        )
        self.screen.step(record)
        if progress.step % self.config.training.log_every == 0:
            for log in self.files:
                log.step(record)
            progress.loss_sum, progress.loss_tokens = 0.0, 0

    def _validate(self) -> None:
        self.learner.snapshot()
        if self.ranks.index:
            vars(self.progress).update(self.ranks.broadcast(None))
        else:
            self._validate_alone()
            self.ranks.broadcast(asdict(self.progress))

    def _validate_alone(self) -> None:
        progress, metric = self.progress, self.config.validation.metric
        start = time.perf_counter()
        # Small products are slower with several threads: 11 s instead of 1 s on two busy cores.
        with one_thread():
            scores = self.task.validate(self.learner.averaged(), self.dtype)
            finite(scores.loss)
            value = scores.value(metric)
            best = progress.improves(value, scores.loss)
            if best:
                progress.best, progress.best_loss = value, scores.loss
                progress.best_step, progress.worse = progress.step, 0
                progress.untrained = scores.untrained
            else:
                progress.worse += 1
            self._write(scores, best)
        took = time.perf_counter() - start
        progress.seconds = time.monotonic() - self._began
        progress.validated_seconds = progress.seconds
        progress.validation_seconds += took
        record = ValidationRecord(
            step=progress.step,
            loss=scores.loss,
            figures={label(score): score.value for score in scores.figures},
            best=best,
            seconds=progress.seconds,
            took=took,
            earlier=_figures(scores.earlier),
        )
        for log in (self.screen, *self.files):
            log.validation(record)

    def _write(self, scores: Scores, best: bool) -> None:
        progress = self.progress
        facts = RunStats(progress.step, progress.seconds / 60.0)
        kept = self.config.validation.keep == "all"
        for due, name in ((best, MODEL), (kept, f"{VALIDATED}/{progress.step:06}")):
            if due:
                self.task.write(self.folder / name, self.learner.weights(), scores, facts)

    def _save(self) -> None:
        run: dict[str, object] = {
            "recipe": fingerprint(self.config),
            "progress": asdict(self.progress),
            "cursor": self.updates.cursor,
            "plugins": digests_of(self.config.plugins),
        }
        for log in self.files:
            log.flush()  # records that the checkpoint counts as logged must survive with it
        state = self.learner.state()
        ranges = {name: held for name in state if (held := self.learner.ranges(name)) is not None}
        checkpoint.save(self.folder, Checkpoint(state, run, ranges), self.ranks)
        self._saved, self._saved_at = self.progress.step, self.progress.seconds


def _figures(earlier: Scores | None) -> dict[str, float]:
    if earlier is None:
        return {}
    return {"loss": earlier.loss} | {label(score): score.value for score in earlier.figures}


def _shapes_of_state(state: Mapping[str, Tensor]) -> dict[str, tuple[torch.Size, torch.dtype]]:
    """In what two states must agree; the number of snapshots of last-k may differ."""
    return {
        re.sub(r"^(average\.last)\.\d+$", "master", name): (tensor.shape, tensor.dtype)
        for name, tensor in sorted(state.items())
    }


def _not_of_this_run(folder: Path, got: str) -> TrainingError:
    return TrainingError(
        "the checkpoint does not belong to this run.",
        got=got,
        do="restore the run's own checkpoint, or start a new run under another name: --name OTHER",
        place=Location(folder / checkpoint.CURRENT),
    )
