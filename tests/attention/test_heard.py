"""Events reach the listeners of their context, and of no other, and change nothing."""

import copy
import threading

import pytest
import torch

from jumok.attention.heard import Ear, Working, heard, is_heard, listening_to, tell


class Counter:
    """Counts; `twice` is made of two calls of `add`."""

    def __init__(self) -> None:
        self.total = 0

    @heard
    def add(self, number: int) -> int:
        self.total += number
        return self.total

    @heard
    def twice(self, number: int) -> int:
        self.add(number)
        return self.add(number)


def test_a_method_reports_its_arguments_and_its_result() -> None:
    counter, seen = Counter(), []
    with listening_to(counter, {"add": Ear(seen.append, seen.append)}):
        assert counter.add(3) == 3
        assert counter.add(4) == 7
        assert Counter().add(5) == 5  # another object
    assert counter.add(1) == 8
    assert seen == [3, 3, 4, 7]


def test_calls_among_the_methods_of_one_owner_are_one_call() -> None:
    counter, seen, working = Counter(), [], Working()
    ears = {name: Ear(seen.append, None, working) for name in ("add", "twice")}
    with listening_to(counter, ears):
        counter.twice(2)
    assert seen == [2]


def test_listeners_of_nested_blocks_hear_in_order_and_leave() -> None:
    owner, seen = object(), []
    with listening_to(owner, {"found": Ear(lambda fact: seen.append(("outer", fact)))}):
        with listening_to(owner, {"found": Ear(lambda fact: seen.append(("inner", fact)))}):
            tell(owner, "found", 1)
        tell(owner, "found", 2)
        assert not is_heard(owner, "lost")
    assert not is_heard(owner, "found")
    tell(owner, "found", 3)
    assert seen == [("outer", 1), ("inner", 1), ("outer", 2)]


def test_a_listener_leaves_when_the_block_fails() -> None:
    owner = object()
    with (
        pytest.raises(ZeroDivisionError),
        listening_to(owner, {"found": Ear(lambda _: 1 / 0)}),
    ):
        tell(owner, "found", 1)
    tell(owner, "found", 1)


def test_other_threads_are_not_heard() -> None:
    counter, seen = Counter(), []
    with listening_to(counter, {"add": Ear(seen.append)}):
        thread = threading.Thread(target=counter.add, args=(7,))
        thread.start()
        thread.join()
        counter.add(1)
    assert seen == [1]


def test_what_a_copy_of_the_owner_does_is_not_heard() -> None:
    module, seen = torch.nn.Linear(2, 2), []
    with listening_to(module, {"found": Ear(seen.append)}):
        tell(copy.deepcopy(module), "found", 1)
        tell(module, "found", 2)
    assert seen == [2]
