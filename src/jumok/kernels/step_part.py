"""Modules whose work a kernel can do, because they say what weights it would need."""

from typing import ClassVar, TypeVar

Weights = TypeVar("Weights")


class StepPart:
    """A module that `kernels/step.py` may replace in single steps of decoding.

    Its class defines both `forward` and `step_weights`. A subclass with a `forward` of its own
    computes something else, and so does a class whose `forward` was replaced: the kernel does not
    serve these.
    """

    _forward_as_written: ClassVar[object] = None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._forward_as_written = vars(cls).get("forward")

    def step_weights(self) -> object:
        """The weights, in the type that the kernel wants from this kind of module; None: it cannot
        do this module's work."""
        return None


def weights_for_step(part: object, kind: type[Weights]) -> Weights | None:
    """What the module gives to the kernel for single steps; None: the kernel does not serve it.

    Args:
        kind: the type that the kernel wants from such a module.
    """
    own = vars(type(part))
    if not isinstance(part, StepPart) or "step_weights" not in own or "forward" not in own:
        return None
    written = type(part)._forward_as_written
    weights = part.step_weights() if own["forward"] is written else None
    return weights if isinstance(weights, kind) else None
