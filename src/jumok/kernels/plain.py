"""Whether calling a module is no more than its own forward: not hooked, replaced or trained.

A kernel that does the work of several modules at once reads their weights and never calls them. It
may replace them only as long as the difference cannot be noticed.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from operator import is_

from torch import nn
from torch.utils.hooks import RemovableHandle

from jumok.kernels.packed import GLOBAL, Look, Stamp
from jumok.shapes import Tensor

HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def plain(module: nn.Module, kind: type[nn.Module]) -> bool:
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
    says so (`inspection/hooks/intercept.py`); all others do.
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
    return [hooks for hooks in (*GLOBAL, *_hooks(model.modules()), *parameters) if hooks]


def _always() -> bool:
    return True


class Untouched:
    """The modules inside another one, in their present state.

    Args:
        outer: everything below it is checked; hooks on the module itself are not.
    """

    def __init__(self, outer: nn.Module) -> None:
        self._outer = outer
        self._modules = list(_inside(outer))
        self._kinds = [type(module) for module in self._modules]
        self._names = [set(module.__dict__) for module in self._modules]
        self._children = [list(_children(module)) for module in (outer, *self._modules)]
        self._stamps = [
            [Stamp.of(tensor) for tensor in _own(module)] for module in (outer, *self._modules)
        ]
        self._hooks: list[Mapping[int, object]] = [*GLOBAL, *_hooks(self._modules)]
        self._quiet_at = -1
        self._own_methods = any(map(_replaces_a_method, self._kinds, self._names))

    @property
    def unhooked(self) -> bool:
        """Whether no module inside has a hook: fast enough for every step."""
        count = RemovableHandle.next_id  # of all hooks that were ever registered in this process
        if count == self._quiet_at:
            return True
        quiet = not any(self._hooks)
        self._quiet_at = count if quiet else -1
        return quiet or not any(map(acting, self._hooks))

    def is_true(self, look: Look | None) -> bool:
        """Whether the modules, their parameters and their hooks and methods are the same.

        Args:
            look: returns the digest of a parameter's bytes; None: the bytes are not checked.
        """
        outer, modules = self._outer, self._modules
        self._quiet_at = -1
        return (
            not self._own_methods
            and not any(module.training for module in (outer, *modules))
            and self._kinds == [type(module) for module in modules]
            and self._names == [module.__dict__.keys() for module in modules]
            and all(map(_same, self._children, map(_children, (outer, *modules))))
            and _same(self._hooks[len(GLOBAL) :], _hooks(modules))
            and all(
                _unwritten(stamps, _own(module), look)
                for stamps, module in zip(self._stamps, (outer, *modules), strict=True)
            )
        )


def _inside(outer: nn.Module) -> Iterator[nn.Module]:
    modules = outer.modules()
    next(modules)  # itself
    return modules


def _replaces_a_method(kind: type[nn.Module], names: set[str]) -> bool:
    """Whether an object has a method of its own instead of its class's."""
    return any(callable(getattr(kind, name, None)) for name in names)


def _children(module: nn.Module) -> Iterable[nn.Module | None]:
    return module._modules.values()


def _own(module: nn.Module) -> list[Tensor]:
    return [tensor for tensor in module._parameters.values() if tensor is not None]


def _hooks(modules: Iterable[nn.Module]) -> list[dict[int, object]]:
    return [module.__dict__[name] for module in modules for name in HOOKS]


def _same(before: Collection[object], now: Iterable[object]) -> bool:
    """Whether these are the same objects: two empty dictionaries of hooks are equal, not the
    same."""
    found = list(now)
    return len(before) == len(found) and all(map(is_, before, found))


def _unwritten(stamps: list[Stamp], tensors: list[Tensor], look: Look | None) -> bool:
    return len(stamps) == len(tensors) and all(
        stamp.is_true(tensor, look) for stamp, tensor in zip(stamps, tensors, strict=True)
    )
