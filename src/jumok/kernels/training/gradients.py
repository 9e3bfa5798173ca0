"""Whether layers add up the gradients of their parameters by themselves, in training."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from jumok.shapes import Tensor

_ADDING: ContextVar[bool] = ContextVar("jumok_adding", default=False)


@contextmanager
def gradients_added_up() -> Iterator[None]:
    """While entered, layers are computed whose backward pass adds the gradients of their parameters
    to what `grad` holds by itself, and gives none to autograd, which would make a tensor of each
    one before it adds it.

    Only for whoever calls `backward()`, and reads `grad` then: hooks on other tensors, and
    `torch.autograd.grad`, would not see these gradients.
    """
    token = _ADDING.set(True)
    try:
        yield
    finally:
        _ADDING.reset(token)


def adds_up(*parameters: Tensor | None) -> bool:
    """Whether the gradients of all of these, None left out, are to be added to their `grad`: that
    was asked for, they learn and have one, and no hook waits for them.
    """
    return _ADDING.get() and all(_ready(each) for each in parameters if each is not None)


def _ready(parameter: Tensor) -> bool:
    listened = parameter._backward_hooks or parameter._post_accumulate_grad_hooks
    learns = parameter.requires_grad and parameter.is_leaf
    gradient = parameter.grad
    return learns and gradient is not None and gradient.is_contiguous() and not listened
