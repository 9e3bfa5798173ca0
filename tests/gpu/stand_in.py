"""A card on the processor: tensors of the device "gpu" that refuse what a GPU refuses.

A tensor of this device has its numbers in an ordinary tensor. Every operation of torch goes to
`_run`, which computes it there, and so gives real losses and real translations. Before that it
checks what a card would:

- tensors of both devices in one operation are an error (but for numbers without axes, and copies);
- what makes the host wait for the card is noted: numbers that are read, sizes that depend on
  numbers, copies that are not `non_blocking`.

Both are reported with the file and the line of jumok's code. What it cannot find: wrong numbers of
kernels that only a card has, races, and how long something takes.

The name of the device is registered for the whole process: it is used in a process of its own
(`drive.py`).
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import patch

import torch
import torch.nn.functional as F
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

_setup_privateuseone_for_python_backend("gpu")  # before the first backward pass of the process

ROOT = Path(__file__).parents[2]
OWN = tuple(str(ROOT / name) for name in ("src/jumok", "tests/gpu/planted.py"))

_aten = torch.ops.aten
COPIES = {_aten._to_copy, _aten.copy_, _aten._copy_from}
INDEXED = {_aten.index, _aten.index_put_, _aten.index_put, _aten._index_put_impl_}
READS = {
    _aten._local_scalar_dense, _aten.equal, _aten.nonzero, _aten.masked_select, _aten._unique2,
    _aten.unique_dim, _aten.unique_consecutive, _aten.bincount, _aten.is_nonzero,
}  # fmt: skip
"""Whose result, or its size, the host needs before it can go on."""


class MixedDevicesError(RuntimeError):
    """An operation on tensors of the card and of the host."""


@dataclass(frozen=True)
class Wait:
    """A place where the host waits for the card."""

    operation: str
    place: str

    def __str__(self) -> str:
        return f"{self.operation} at {self.place}"


@dataclass
class Meter:
    """What was seen so far."""

    waits: list[Wait] = field(default_factory=list)


class OnCard(torch.Tensor):
    """A tensor of the device "gpu", with its numbers in `held`."""

    held: torch.Tensor

    @staticmethod
    def __new__(cls, held: torch.Tensor) -> "OnCard":
        made = torch.Tensor._make_wrapper_subclass(
            cls,
            held.shape,
            strides=held.stride(),
            storage_offset=held.storage_offset(),
            dtype=held.dtype,
            device=torch.device("gpu", 0),
        )
        made.held = held
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(func, args, kwargs or {}, None)


class _Dispatch(TorchDispatchMode):
    def __init__(self, meter: Meter) -> None:
        super().__init__()
        self._meter = meter

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(func, args, kwargs or {}, self._meter)


class _Functions(TorchFunctionMode):
    """What is no operation of torch's dispatcher."""

    def __init__(self, meter: Meter) -> None:
        super().__init__()
        self._meter = meter

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        named = kwargs or {}
        if func == torch.Tensor.data.__set__ and isinstance(args[0], OnCard):
            args[0].held = args[1].held
        if func is torch.Tensor.tolist and isinstance(args[0], OnCard):
            self._meter.waits.append(Wait("tolist", place()))
            return args[0].held.tolist()
        if func in RECURRENT and isinstance(args[0], OnCard):
            return recurrent(RECURRENT[func], *args[:3])
        wanted = named.get("device")
        if func is torch.tensor and wanted is not None and torch.device(wanted).type == "gpu":
            self._meter.waits.append(Wait("tensor", place()))
            return OnCard(func(*args, **named | {"device": "cpu"}))
        return func(*args, **named)


class _NoGrad:
    """Takes the place of torch._C._InferenceMode."""

    def __init__(self, mode: bool) -> None:
        self._mode = torch.no_grad() if mode else nullcontext()

    def __enter__(self) -> None:
        self._mode.__enter__()

    def __exit__(self, *error: Any) -> None:
        self._mode.__exit__(*error)


@contextmanager
def card() -> Iterator[Meter]:
    """While entered, torch has the device "gpu"."""
    meter = Meter()
    with ExitStack() as entered:
        # Views of what inference_mode makes cannot be wrapped; no_grad computes the same.
        entered.enter_context(patch.object(torch._C, "_InferenceMode", _NoGrad))
        entered.enter_context(_Functions(meter))
        entered.enter_context(_Dispatch(meter))
        yield meter


def _run(func: Any, args: Any, kwargs: Any, meter: Meter | None) -> Any:
    """Computes an operation on the processor, as a card would be asked to."""
    tensors: list[torch.Tensor] = []
    _each((*args, *kwargs.values()), tensors.append)
    there = [each for each in tensors if isinstance(each, OnCard)]
    here = [each for each in tensors if not isinstance(each, OnCard)]
    wanted = kwargs.get("device")
    result_there = bool(there) if wanted is None else torch.device(wanted).type == "gpu"
    packet = func.overloadpacket
    if there:
        _check_devices(packet, there, here)
    wait = _waits(func, packet, args, kwargs, there, result_there)
    if wait and meter is not None:
        meter.waits.append(Wait(str(packet), place()))
    if wanted is not None:
        kwargs = kwargs | {"device": torch.device("cpu")}
    given = _each(args, _held)
    found = func(*given, **{name: _each(value, _held) for name, value in kwargs.items()})
    if packet is _aten.copy_:
        result_there = isinstance(args[0], OnCard)

    def as_it_was(result: torch.Tensor) -> torch.Tensor:
        for each in there:
            if each.held is result:  # changed in place
                return each
        return OnCard(result) if result_there and not isinstance(result, OnCard) else result

    return _each(found, as_it_was)


def _held(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.held if isinstance(tensor, OnCard) else tensor


def _each(value: Any, change: Callable[[torch.Tensor], Any]) -> Any:
    """The same with every tensor in it changed."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, tuple | list):
        return type(value)([_each(one, change) for one in value])
    return value


def _check_devices(packet: Any, there: list[OnCard], here: list[torch.Tensor]) -> None:
    strangers = [each for each in here if each.ndim > 0]
    if strangers and packet not in COPIES and packet not in INDEXED:
        shapes = ", ".join(str(list(each.shape)) for each in strangers)
        raise MixedDevicesError(f"{packet} has tensors of the host ({shapes}) at {place()}")


def _waits(
    func: Any, packet: Any, args: Any, kwargs: Any, there: list[OnCard], result_there: bool
) -> bool:
    """Whether the host waits for the card in this operation."""
    if packet is _aten.copy_:
        apart = isinstance(args[0], OnCard) != isinstance(args[1], OnCard)
        return apart and args[1].ndim > 0 and not (len(args) > 2 and args[2])
    if packet is _aten._to_copy:
        return bool(there) != result_there and not kwargs.get("non_blocking")
    if not there:
        return False
    if packet in INDEXED:
        indices = [each for each in args[1] if each is not None]
        masks = any(each.dtype in (torch.bool, torch.uint8) for each in indices)
        return masks or not all(isinstance(each, OnCard) for each in indices)
    if packet is _aten.repeat_interleave:
        return func is _aten.repeat_interleave.Tensor and kwargs.get("output_size") is None
    return packet in READS


def recurrent(
    advance: Callable[..., tuple[torch.Tensor, ...]],
    inputs: torch.Tensor,
    first: torch.Tensor | Sequence[torch.Tensor],
    weights: Sequence[torch.Tensor],
) -> tuple[torch.Tensor, ...]:
    """What cuDNN computes in one call: all steps of a layer, the batch first."""
    state = tuple(each[0] for each in (first if isinstance(first, list | tuple) else [first]))
    by_input, by_state, *biases = weights
    shown = []
    for step in inputs.unbind(1):
        parts = F.linear(step, by_input, biases[0]), F.linear(state[0], by_state, biases[1])
        state = advance(*parts, *state)
        shown.append(state[0])
    return torch.stack(shown, dim=1), *(each[None] for each in state)


def _lstm(
    by_input: torch.Tensor, by_state: torch.Tensor, _: torch.Tensor, kept: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    write, forget, new, show = (by_input + by_state).chunk(4, dim=-1)
    kept = forget.sigmoid() * kept + write.sigmoid() * new.tanh()
    return show.sigmoid() * kept.tanh(), kept


def _gru(
    by_input: torch.Tensor, by_state: torch.Tensor, seen: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    inputs, states = by_input.chunk(3, dim=-1), by_state.chunk(3, dim=-1)
    reset, keep = (torch.sigmoid(inputs[gate] + states[gate]) for gate in (0, 1))
    return (torch.lerp(torch.tanh(inputs[2] + reset * states[2]), seen, keep),)


RECURRENT: dict[Any, Callable[..., tuple[torch.Tensor, ...]]] = {
    torch.lstm: _lstm,
    torch.gru: _gru,
    torch.rnn_tanh: lambda by_input, by_state, _: (torch.tanh(by_input + by_state),),
}


def to_card(model: nn.Module) -> nn.Module:
    """The model on the card, in place; tied parameters stay tied, as in `model.to("cuda")`."""
    copies: dict[int, nn.Parameter] = {}
    for module in model.modules():
        for name, own in module.named_parameters(recurse=False):
            there = nn.Parameter(OnCard(own.detach().clone()), own.requires_grad)
            setattr(module, name, copies.setdefault(id(own), there))
        for name, buffer in module.named_buffers(recurse=False):
            setattr(module, name, OnCard(buffer.clone()))
    return model


def place() -> str:
    """The innermost line of jumok's own code that is being executed, as "file:line"."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(OWN):
            return f"{Path(file).relative_to(ROOT).as_posix()}:{frame.f_lineno}"
        frame = frame.f_back
    return "somewhere outside of jumok"
