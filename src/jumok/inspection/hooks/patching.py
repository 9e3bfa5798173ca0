"""Activation patching: the residual stream after a block, or the outputs of heads, replaced.

The stream is replaced where the block adds its last update: then the norm that the next block reads
is computed from the new stream. (A hook on the block itself would have to replace both of its
outputs.) The outputs of heads are replaced before the output projection, which mixes them.

Source: Vig et al. 2020, Causal mediation analysis for interpreting neural NLP; Meng et al. 2022,
section 2.1 (activation patching); Turner et al. 2023, Activation addition (steering).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

import numpy as np
import torch
from torch import nn

from jumok.attention.core import merge_heads, split_heads
from jumok.attention.multihead import MultiHeadAttention
from jumok.attention.overrides import hooked, replaced
from jumok.errors import ModelError
from jumok.inspection.trace import Array
from jumok.layers.block import Block, BlockState
from jumok.layers.residual import PostNorm, PreNorm
from jumok.shapes import Tensor

Patch = Callable[[Tensor], Tensor] | Tensor | Array
"""A function of the vectors, (batch new dim) of a stream or (batch heads new value_dim) of heads;
or vectors for the positions from the first, (positions dim) or (heads positions value_dim)."""


@contextmanager
def patched_model(
    model: nn.Module, patches: Mapping[str, Patch], positions: Sequence[int] | None
) -> Iterator[None]:
    """Replaces vectors of the model inside the block, in this context.

    Args:
        patches: by the path of a block or of a multi-head attention.
        positions: where they are replaced; None: everywhere.

    Raises:
        ModelError: there is no such path, or the vectors do not fit.
    """
    blocks = {path: each for path, each in model.named_modules() if isinstance(each, Block)}
    with ExitStack() as stack:
        for path, patch in patches.items():
            module = model.get_submodule(path) if path in dict(model.named_modules()) else None
            if isinstance(module, Block):
                of_block = path
            elif isinstance(module, MultiHeadAttention):
                of_block = path.rpartition(".")[0]
            else:
                raise _no_such_path(model, path)
            position = _Position()
            if of_block in blocks:
                stack.enter_context(hooked(blocks[of_block], position.read))
            change = _Change(path, patch, positions, position)
            if isinstance(module, Block):
                stack.enter_context(_stream_replaced(module, change))
            else:
                stack.enter_context(_heads_replaced(module, change))
        yield


class _Position:
    """The position of the first vector in a block's current call."""

    def __init__(self) -> None:
        self.first = 0

    def read(self, args: tuple[object, ...]) -> None:
        """Receives the arguments of `Block.forward`; its state has the length of the past."""
        state = args[5] if len(args) > 5 else None
        self.first = state.past.length if isinstance(state, BlockState) else 0


class _Change:
    """A patch with its place; called with (... new width), it returns the vectors to use."""

    def __init__(
        self, path: str, patch: Patch, positions: Sequence[int] | None, position: _Position
    ) -> None:
        self._path, self._patch, self._position = path, patch, position
        self._positions = None if positions is None else frozenset(positions)

    def __call__(self, vectors: Tensor) -> Tensor:
        first, new = self._position.first, vectors.shape[-2]
        places = range(first, first + new)
        if callable(self._patch):
            patched = self._patch(vectors)
            self._check(patched.shape, vectors.shape, "the shape that it was given")
            known = new
        else:
            patch = self._patch
            rows = torch.from_numpy(patch) if isinstance(patch, np.ndarray) else patch
            length = rows.shape[-2] if rows.ndim > 1 else 1
            wanted = (*vectors.shape[1:-2], length, vectors.shape[-1])
            self._check(rows.shape, wanted, "a vector for each position")
            known = max(0, min(new, rows.shape[-2] - first))
            patched = vectors.clone()
            patched[..., :known, :] = rows[..., first : first + known, :].to(vectors)
        chosen = [self._positions is None or place in self._positions for place in places]
        here = torch.tensor(chosen, device=vectors.device) & (
            torch.arange(new, device=vectors.device) < known
        )
        return torch.where(here[:, None], patched, vectors)

    def _check(self, actual: Sequence[int], shape: Sequence[int], expected: str) -> None:
        if tuple(actual) != tuple(shape):
            raise ModelError(
                f"the patch of {self._path} does not fit.",
                expected=f"{expected}: {' x '.join(map(str, shape))}",
                got=" x ".join(map(str, actual)),
            )


@contextmanager
def _stream_replaced(block: Block, change: _Change) -> Iterator[None]:
    last = block.after_feedforward
    assert isinstance(last, PreNorm)
    if isinstance(last, PostNorm):  # the stream is what the norm returns

        def after(made: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
            stream = change(made[0])
            return stream, stream

        with replaced(last, after=after):
            yield
        return

    def before(args: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        stream, update = args
        added = stream + last.dropout(update)
        return change(added), torch.zeros_like(update)

    with replaced(last, before):
        yield


@contextmanager
def _heads_replaced(attention: MultiHeadAttention, change: _Change) -> Iterator[None]:
    def before(args: tuple[Tensor]) -> tuple[Tensor]:
        return (merge_heads(change(split_heads(args[0], attention.outputs))),)

    with replaced(attention.output, before):
        yield


def _no_such_path(model: nn.Module, path: str) -> ModelError:
    known = [
        name for name, each in model.named_modules() if isinstance(each, Block | MultiHeadAttention)
    ]
    return ModelError(
        "the model has no block or multi-head attention at this path.",
        expected=", ".join(known) or "a model with blocks of a Transformer",
        got=path,
    )
