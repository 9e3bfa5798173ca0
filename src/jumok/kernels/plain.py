"""Whether calling a module is no more than its own forward: not hooked, replaced or trained.

A kernel that does the work of several modules at once reads their weights and never calls them. It
may replace them only as long as the difference cannot be noticed.
"""

from collections.abc import Mapping

from torch import nn
from torch.nn.modules import module as of_torch

GLOBAL = (
    of_torch._global_forward_hooks,
    of_torch._global_forward_pre_hooks,
    of_torch._global_backward_hooks,
    of_torch._global_backward_pre_hooks,
)
"""torch's own hooks on every module: such a hook receives all modules."""

HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def is_unpatched(module: nn.Module, kind: type[nn.Module]) -> bool:
    """Whether calling this module is the forward of `kind`, and nothing else."""
    own = module.__dict__
    return (
        type(module) is kind
        and not (acting(own["_forward_hooks"]) or acting(own["_forward_pre_hooks"]))
        and not (own["_backward_hooks"] or own["_backward_pre_hooks"])
        and "forward" not in own
        and not any(GLOBAL)
    )


def acting(hooks: Mapping[int, object]) -> bool:
    """Whether one of these hooks does something in this context.

    A hook that belongs to another one, such as a thread that records, has a function `acts` which
    says so (`attention/overrides.py`); all others do.
    """
    return bool(hooks) and any(getattr(hook, "acts", _always)() for hook in [*hooks.values()])


def hooks_of(model: nn.Module) -> list[Mapping[int, object]]:
    """The hooks on the model, its modules and its parameters, and on all modules, if there are
    any.
    """
    parameters = (
        hooks
        for each in model.parameters()
        for hooks in (each._backward_hooks, each._post_accumulate_grad_hooks)
    )
    own = (module.__dict__[name] for module in model.modules() for name in HOOKS)
    return [hooks for hooks in (*GLOBAL, *own, *parameters) if hooks]


def _always() -> bool:
    return True
