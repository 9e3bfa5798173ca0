"""Events reach the listeners of their context, and of no other, and change nothing."""

import copy
import threading

import pytest
import torch

from jumok.attention.events import (
    Listener,
    ReentrancyGuard,
    emit,
    has_listeners,
    listening_to,
    observable,
)


class Counter:
    """Counts; `twice` is made of two calls of `add`."""

    def __init__(self) -> None:
        self.total = 0

    @observable
    def add(self, number: int) -> int:
        self.total += number
        return self.total

    @observable
    def twice(self, number: int) -> int:
        self.add(number)
        return self.add(number)


def test_a_method_reports_its_arguments_and_its_result() -> None:
    counter, seen = Counter(), []
    with listening_to(counter, {"add": Listener(seen.append, seen.append)}):
        assert counter.add(3) == 3
        assert counter.add(4) == 7
        assert Counter().add(5) == 5  # another object
    assert counter.add(1) == 8
    assert seen == [3, 3, 4, 7]


def test_calls_among_the_methods_of_one_owner_are_one_call() -> None:
    counter, seen, working = Counter(), [], ReentrancyGuard()
    ears = {name: Listener(seen.append, None, working) for name in ("add", "twice")}
    with listening_to(counter, ears):
        counter.twice(2)
    assert seen == [2]


def test_listeners_of_nested_blocks_hear_in_order_and_leave() -> None:
    owner, seen = object(), []
    with listening_to(owner, {"found": Listener(lambda fact: seen.append(("outer", fact)))}):
        with listening_to(owner, {"found": Listener(lambda fact: seen.append(("inner", fact)))}):
            emit(owner, "found", 1)
        emit(owner, "found", 2)
        assert not has_listeners(owner, "lost")
    assert not has_listeners(owner, "found")
    emit(owner, "found", 3)
    assert seen == [("outer", 1), ("inner", 1), ("outer", 2)]


def test_a_listener_leaves_when_the_block_fails() -> None:
    owner = object()
    with (
        pytest.raises(ZeroDivisionError),
        listening_to(owner, {"found": Listener(lambda _: 1 / 0)}),
    ):
        emit(owner, "found", 1)
    emit(owner, "found", 1)


def test_other_threads_are_not_heard() -> None:
    counter, seen = Counter(), []
    with listening_to(counter, {"add": Listener(seen.append)}):
        thread = threading.Thread(target=counter.add, args=(7,))
        thread.start()
        thread.join()
        counter.add(1)
    assert seen == [1]


def test_what_a_copy_of_the_owner_does_is_not_heard() -> None:
    module, seen = torch.nn.Linear(2, 2), []
    with listening_to(module, {"found": Listener(seen.append)}):
        emit(copy.deepcopy(module), "found", 1)
        emit(module, "found", 2)
    assert seen == [2]
