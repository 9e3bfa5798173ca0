"""The engine of one model: the threads that compute what is in its queue.

A batch is what arrived while the others were computed, so a lone request never waits. Models that
can (`RunningBatch`) compute a few batches at a time, which share steps: a new one joins at the next
token. Generated texts are written between the batches, a token of each at a time (`writers.py`). A
search whose clients have all gone ends at its next step.
"""

import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from jumok.computation import cancel_scope, measured
from jumok.errors import JumokError
from jumok.serving.clients import ClientDisconnected
from jumok.serving.http.monitoring import Metrics, fault_of, log
from jumok.serving.http.queue import EngineBatch, Queue, engine_failed
from jumok.serving.http.refusals import RequestRefused, refusal_of
from jumok.serving.http.settings import ServeLimits
from jumok.serving.http.writers import Writers

MOST_FAULTS = 3
"""Faults in a row, after which the engine is broken."""

MOST_TOGETHER = 4
"""Batches that share a model's steps."""

NICER = 10
"""Added to the niceness of the threads that compute."""


class EngineBroken(Exception):  # noqa: N818 - a state, not an error
    """A model failed again and again. The message does not quote a request."""


class Engine:
    """The queue of one model and its threads.

    Args:
        name: the model's.
        load: loads the model; called in the engine's thread.
        fatal: called with the error when the model cannot be loaded, and with `EngineBroken` when
            it fails again and again.
    """

    def __init__(
        self,
        name: str,
        load: Callable[[], None],
        limits: ServeLimits,
        metrics: Metrics,
        fatal: Callable[[BaseException], None],
    ) -> None:
        self.name, self._load, self.metrics, self._fatal = name, load, metrics, fatal
        self.queue = Queue(name, limits, metrics)
        self._faults, self._running, self._together = 0, 0, 1
        self._ended = 0.0
        self._counting = threading.Lock()
        self._writers = Writers(name, self.queue, metrics, self._not_written, self._worked)

    @property
    def state(self) -> str:
        """loading, ready, broken, or ended."""
        return self.queue.state

    def start(self) -> None:
        """Starts the thread, which first loads the model."""
        self._thread(self._begin)

    def end(self) -> None:
        """Ends the threads: another model is in its place, and no request needs this one."""
        self.queue.close("ended")

    def search_together(self, look_again: Callable[[], None]) -> None:
        """From now on batches join what is being computed.

        Args:
            look_again: makes the model see that a batch is not wanted any more.
        """
        self._together, self.queue.left = MOST_TOGETHER, look_again

    def _thread(self, work: Callable[[], None]) -> None:
        def run() -> None:
            let_others_answer()
            try:
                work()
            except BaseException as error:  # otherwise requests would wait for a thread that ended
                self._fatal(error)
                self.queue.close()

        threading.Thread(target=run, name=f"engine {self.name}", daemon=True).start()

    def _begin(self) -> None:
        self._load()
        self.queue.state = "ready"
        for _ in range(self._together - 1):
            self._thread(self._work)
        self._work()

    def _work(self) -> None:
        while self.queue.state == "ready":
            batch, writing = self.queue.next()
            if batch:
                self._compute(batch, len(writing))
            if writing:
                self._writers.round(writing)
            del batch, writing  # nothing of them is kept while `next` waits

    def _compute(self, batch: EngineBatch, writing: int) -> None:
        cost = sum(job.costs[place] for job, place in batch)
        start = time.monotonic()
        self._count(len(batch), writing)
        self.metrics.batch_tokens.labels(self.name).observe(cost)
        try:
            self._run(batch)
        except ClientDisconnected:
            self.metrics.ended.labels(self.name).inc()
            cost, seconds = 0, 0.0
        else:
            seconds = self._since(start)
        self._count(-len(batch), writing)
        self.queue.ended(cost, seconds)

    def _count(self, more: int, writing: int) -> None:
        with self._counting:
            self._running += more
            self.metrics.running.labels(self.name).set(self._running + writing)
            if more > 0:
                self.metrics.batch_rows.labels(self.name).observe(self._running)

    def _since(self, start: float) -> float:
        """Seconds until now, without those of others that ended meanwhile."""
        with self._counting:
            now = time.monotonic()
            start, self._ended = max(start, self._ended), now
            return now - start

    def _run(self, batch: EngineBatch, again: bool = True) -> None:
        """Computes a batch; after an error its parts, so that it is only one request's error."""
        batch = [each for each in batch if not each[0].over]
        if not batch:
            return

        def check() -> None:
            if all(job.over for job, _ in batch):
                raise ClientDisconnected

        try:
            with cancel_scope(check), measured() as spent:
                answers = batch[0][0].handler.run([job.given[place] for job, place in batch])
        except ClientDisconnected:
            raise
        except (JumokError, RequestRefused) as error:
            if len(batch) == 1:
                refused = refusal_of(error) if isinstance(error, JumokError) else error
                self.queue.refuse(batch[0][0], refused)
                return
            for each in batch:
                self._run([each], again)
        except Exception as error:  # the other requests must be answered
            self._fault(error, batch, again)
        else:
            self._worked()
            for job in {id(job): job for job, _ in batch}.values():
                job.spent.append(spent)
            self.queue.answered(batch, answers)

    def _fault(self, error: Exception, batch: EngineBatch, again: bool) -> None:
        self._note_fault(error)
        if again:
            half = (len(batch) + 1) // 2
            self._run(batch[:half], again=False)
            self._run(batch[half:], again=False)
            return
        for job, _ in batch:
            self.queue.refuse(job, engine_failed())
        self._failed(error)

    def _note_fault(self, error: Exception) -> None:
        self.metrics.faults.labels(self.name).inc()
        log({"event": "fault", "model": self.name, "error": fault_of(error)})

    def _not_written(self, error: Exception) -> None:
        self._note_fault(error)
        self._failed(error)

    def _worked(self) -> None:
        self._faults = 0

    def _failed(self, error: Exception) -> None:
        self._faults += 1
        if self._faults >= MOST_FAULTS:
            self.queue.close()
            text = f"the model {self.name} failed {MOST_FAULTS} times in a row: {fault_of(error)}"
            self._fatal(EngineBroken(text))


def let_others_answer() -> None:
    """On Linux this thread, and those that it starts, leave a core to the thread that answers.

    Otherwise requests wait in sockets while small batches are computed.
    """
    if sys.platform == "linux":  # elsewhere a thread has no niceness of its own
        own = threading.get_native_id()
        with suppress(OSError):  # a sandbox may forbid it
            os.setpriority(os.PRIO_PROCESS, own, os.getpriority(os.PRIO_PROCESS, own) + NICER)
