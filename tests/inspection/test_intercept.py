"""Hooks read or replace what a module gets and returns, in one context, and leave with it."""

import threading

import pytest
import torch

from jumok.attention.overrides import hooked, replaced

ONES = torch.ones(1, 2)


@pytest.fixture
def module() -> torch.nn.Linear:
    torch.manual_seed(1)
    return torch.nn.Linear(2, 3)


def test_reading_changes_nothing_even_if_the_listener_returns_something(module):
    plain, given, made = module(ONES), [], []
    with hooked(
        module,
        before=lambda args: given.append(args) or (ONES * 9,),
        after=lambda out: made.append(out) or out * 9,
    ):
        assert torch.equal(module(ONES), plain)
    assert torch.equal(given[0][0], ONES)
    assert torch.equal(made[0], plain)
    assert not module._forward_hooks
    assert not module._forward_pre_hooks


def test_what_is_replaced_is_computed_with(module):
    twice = module(2 * ONES)
    with replaced(module, before=lambda args: (2 * args[0],)):
        assert torch.equal(module(ONES), twice)
        with replaced(module, after=lambda out: out - 1):
            assert torch.equal(module(ONES), twice - 1)
        assert torch.equal(module(ONES), twice)
    assert torch.equal(module(ONES), module(ONES * 1))


def test_calls_in_other_threads_are_as_they_were(module):
    plain, elsewhere = module(ONES), []
    with replaced(module, after=lambda out: out * 0), hooked(module, elsewhere.append):
        thread = threading.Thread(target=lambda: elsewhere.append(module(ONES)))
        thread.start()
        thread.join()
    assert len(elsewhere) == 1
    assert torch.equal(elsewhere[0], plain)


def test_hooks_leave_when_the_block_fails(module):
    with pytest.raises(ZeroDivisionError), hooked(module, after=lambda _: 1 / 0):
        module(ONES)
    module(ONES)
    assert not module._forward_hooks
