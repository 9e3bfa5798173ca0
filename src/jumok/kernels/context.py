"""What a kernel keeps from its forward pass for its backward pass."""

from typing import TYPE_CHECKING

from torch import autograd

from jumok.kernels.noise import DropoutMask
from jumok.shapes import Tensor

if TYPE_CHECKING:

    class Context(autograd.function.FunctionCtx):
        """The object that torch passes to both passes of an `autograd.Function`.

        Attributes:
            saved_tensors: what the forward pass gave to `save_for_backward`.
            drop: the dropout mask of the call; None drops nothing.
            scale: the factor of the products, or of the elements that dropout keeps.
            parameters: weights and biases, None where there is no bias.
            table: rows that are embeddings, or give logits.
            bent: whether ReLU follows.
            adding: whether the gradients of parameters or table are added up in place.
        """

        saved_tensors: tuple[Tensor, ...]
        needs_input_grad: tuple[bool, ...]
        drop: DropoutMask | None
        scale: float
        biased: bool
        parameters: tuple[Tensor | None, ...]
        table: Tensor
        bent: bool
        adding: bool

        def save_for_backward(self, *tensors: Tensor | None) -> None: ...

        def set_materialize_grads(self, value: bool) -> None: ...
else:
    # torch makes a subclass for each function, which accepts any attribute
    Context = autograd.function.FunctionCtx
