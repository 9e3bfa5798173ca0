"""Jobs in processes of their own, and results that are used again."""

import os

import pytest

from jumok.errors import TrainingError
from jumok_lectures.workers import LabWorkers


def square(number: int) -> tuple[int, int]:
    return number * number, os.getpid()


def end(_: int) -> None:
    os._exit(3)


def test_one_process_does_the_work_itself() -> None:
    assert LabWorkers().map(square, [2, 3]) == [(4, os.getpid()), (9, os.getpid())]


def test_equal_jobs_are_done_once() -> None:
    seen = []

    def note(number: int) -> int:
        seen.append(number)
        return len(seen)

    workers = LabWorkers()
    assert workers.once(note, [7, 8, 7]) == [1, 2, 1]
    assert workers.once(note, [8, 9]) == [2, 3]
    assert seen == [7, 8, 9]


def test_processes_answer_in_order_and_one_that_ends_is_told() -> None:
    with LabWorkers(2) as workers:
        found = workers.map(square, list(range(5)))
        assert [value for value, _ in found] == [0, 1, 4, 9, 16]
        assert os.getpid() not in {process for _, process in found}
        assert workers.seconds >= 0.0
        with pytest.raises(TrainingError, match="ended from outside"):
            workers.map(end, [1, 2])
