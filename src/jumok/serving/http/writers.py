"""Continuous batching of generated texts.

In each round every text gets its next token, in one pass over the weights; texts join and leave
between rounds. A round reads a limited number of the prompts' tokens, those that waited longest
first, so that the other texts go on. A text on torch takes its turn in each round.
"""

import itertools
import time
from collections.abc import Callable, Sequence

from jumok.engine.language import LONGEST_PASS, PassReader, TextPass
from jumok.engine.packing import Array
from jumok.errors import JumokError
from jumok.serving.http.monitoring import Metrics
from jumok.serving.http.queue import OVER, Queue, WritingJob, deadline_passed, engine_failed
from jumok.serving.http.refusals import RequestRefused, refusal_of


class Writers:
    """The texts that one thread writes.

    Args:
        name: the model's.
        failed: notes an error that is no refusal.
        worked: notes that the model has computed something.
    """

    def __init__(
        self,
        name: str,
        queue: Queue,
        metrics: Metrics,
        failed: Callable[[Exception], None],
        worked: Callable[[], None],
    ) -> None:
        self._name, self._queue, self._meters = name, queue, metrics
        self._failed, self._worked = failed, worked
        self._reader: PassReader | None = None
        self._running: list[WritingJob] = []
        self._numbers = itertools.count()

    def round(self, jobs: Sequence[WritingJob]) -> None:
        """One more token of each text whose prompt is read.

        Args:
            jobs: all texts that are written now.
        """
        begun, read = time.monotonic(), -sum(job.writing.tokens for job in jobs)
        self._leave([job for job in self._running if job not in jobs])
        self._join([job for job in jobs if job.started is None])
        for job in jobs:
            if job.deadline < begun:
                self._end(job, deadline_passed())
            elif job.wanted is None:
                self._resume(job)
        chosen = self._chosen(jobs)
        read += sum(len(each.tokens) for job, each in chosen if not job.writing.tokens)
        read_values = self._read([each for _, each in chosen])
        for (job, _), values in zip(chosen, read_values, strict=True):
            self._resume(job, values)
        self._leave([job for job in self._running if job.over])
        read += sum(job.writing.tokens for job in jobs)
        self._queue.measured(read, time.monotonic() - begun)

    def _join(self, jobs: Sequence[WritingJob]) -> None:
        now = time.monotonic()
        for job in jobs:
            job.started = now
            self._meters.queued.labels(self._name).observe(now - job.arrived)
            self._running.append(job)
        if jobs:
            self._meters.batch_rows.labels(self._name).observe(len(self._running))
            self._meters.running.labels(self._name).set(len(self._running))

    def _leave(self, jobs: Sequence[WritingJob]) -> None:
        for job in jobs:
            job.reading = job.wanted = None
            job.writing.close()
            self._running.remove(job)
        if jobs:
            self._meters.running.labels(self._name).set(len(self._running))

    def _chosen(self, jobs: Sequence[WritingJob]) -> list[tuple[WritingJob, TextPass]]:
        """All passes of single tokens, and of longer ones at least one."""
        waiting = [(job, job.wanted) for job in jobs if job.wanted is not None and not job.over]
        chosen = [each for each in waiting if len(each[1].tokens) == 1]
        left = LONGEST_PASS
        longer = [each for each in waiting if len(each[1].tokens) > 1]
        for each in sorted(longer, key=lambda each: each[0].asked):
            if left < len(each[1].tokens):
                break
            left -= len(each[1].tokens)
            chosen.append(each)
        return chosen

    def _read(self, passes: Sequence[TextPass]) -> Sequence[Array | Exception]:
        """What came of each pass; after an error of all together, of each by itself."""
        if not passes:
            return []
        try:
            if self._reader is None:
                self._reader = passes[0].text.model.pass_reader()
            return self._reader.read(passes)
        except Exception as error:  # it is thrown into the text that it belongs to
            if len(passes) == 1:
                return [error]
            return [value for each in passes for value in self._read([each])]

    def _resume(self, job: WritingJob, values: Array | Exception | None = None) -> None:
        """Gives a text what came of its pass."""
        part: str | RequestRefused | None
        if job.over:  # since this round began
            return
        try:
            if job.reading is None:
                job.reading = job.writing.next_part()
            if values is None:
                job.wanted = next(job.reading)
            elif isinstance(values, Exception):
                job.wanted = job.reading.throw(values)
            else:
                job.wanted = job.reading.send(values)
            job.asked = next(self._numbers)
            return
        except StopIteration as over:
            part = over.value
            self._worked()
            job.begun = job.begun or time.monotonic()
        except JumokError as error:
            part = refusal_of(error)
        except Exception as error:  # the other requests must be answered
            self._failed(error)
            part = engine_failed()
        job.reading = job.wanted = None
        if part is None or isinstance(part, RequestRefused):
            self._end(job, part)
        elif part:
            job.send(part)

    def _end(self, job: WritingJob, refused: RequestRefused | None) -> None:
        if not job.over:  # the engine may have given up all texts
            job.ended = time.monotonic()
            self._queue.written(job)
            job.send(OVER if refused is None else refused)
