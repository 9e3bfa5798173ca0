"""What a training step multiplies and keeps, counted while the model runs on the meta device.

The model is the real one, of shapes without numbers, so parts of plugins are counted as well. A
product of an (m k) and a (k n) matrix takes 2 m k n FLOP; sums, norms, activations and softmaxes
are not counted. What is kept is what autograd saves on the path without kernels of our own but for
attention (`attention/outline.py`). A kernel that recomputes instead of saving needs less, so a plan
is rather too high than too low.

Source: Chowdhery et al. 2022 (PaLM), appendix B, has the same definition for decoders; the idea of
counting what is kept: Korthikanti et al. 2022, "Reducing activation recomputation in large
Transformer models", section 4.1.
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import torch
from torch import nn
from torch.autograd.graph import saved_tensors_hooks
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry  # FlopCounterMode itself is not needed

from jumok.config import Config
from jumok.config.families import ImageClassificationConfig
from jumok.config.masked import TextClassifierConfig
from jumok.config.training import TrainingConfig, TranslationTrainingConfig
from jumok.errors import ConfigError
from jumok.layers.dropout import Dropout
from jumok.models.catalog import DataSizes, build
from jumok.planning.forward import Lengths, forward_pass
from jumok.shapes import Tensor
from jumok.training.devices.memory import stacks_of
from jumok.training.optimization.parameters import FlatParameters

LABELS = 10
"""Labels of a classifier, which only the data knows; their number hardly matters."""
ROWS = 1000
"""Rows of the batch that is counted: so many that shares of it are whole numbers."""
INSIDE = nn.Linear | Dropout | nn.LayerNorm | nn.RMSNorm
"""Modules that kernels compute together with others, unless they have hooks."""
WIDTH = 4
"""Bytes of a number in the counted model."""


@dataclass(frozen=True)
class Part:
    """A part of a model.

    Attributes:
        name: of its modules, without the numbers of layers.
        weights: its parameters; tables that several parts share are of the first one.
        forward: FLOP of its products for one target, forward.
    """

    name: str
    weights: int
    forward: float


@dataclass(frozen=True)
class ModelNumbers:
    """A model and its training step, counted.

    Attributes:
        parameters: all of them.
        inner: those that Muon updates: the matrices inside the model.
        logits: the vocabulary, and the width of what it is predicted from; (0, 0) without one.
        parts: with FLOP for one target.
        forward: FLOP for one target, all parts.
        backward: FLOP of their gradients.
        again: FLOP of the products that are computed a second time, for the backward pass.
        kept: the numbers kept for each target of a micro-batch, without the logits.
        unit: the name of a target: "tokens", "images".
    """

    parameters: int
    inner: int
    logits: tuple[int, int]
    parts: tuple[Part, ...]
    forward: float
    backward: float
    again: float
    kept: float
    unit: str

    @property
    def flop(self) -> float:
        """Forward and backward, for one target, all parts."""
        return self.forward + self.backward + self.again


def numbers_of(config: Config, vocabulary: int, lengths: Lengths) -> ModelNumbers:
    """The model of a recipe, and what it computes for one target.

    A target is what `training.tokens_per_batch` counts: a target token, of a masked language model
    and a text classifier a token, of an image classifier an image. R-Drop computes each twice.

    Raises:
        ConfigError: the kind of model is a plugin's, its sizes are in another model, it has no
            blocks that could be computed again, or its weights are not in slices.
    """
    _check(config)
    with torch.device("meta"):
        model = build(config.model, DataSizes(vocabulary, LABELS), most=sys.maxsize).train()
        again = {*chain.from_iterable(stacks_of(model))} if config.training.recompute else set()
        step = _Step(model, again)
        with step:
            rows = ROWS * (getattr(config.model, "experts", None) or 1)
            with saved_tensors_hooks(step.keep, lambda tensor: tensor):
                run = forward_pass(model, config, lengths, rows)
            width = run.output.weight.shape if run.output else (0, 0)
            logits = run.states if run.output is None else run.output(run.states)
            forward, repeated = Counter(step.flop), step.again
            logits.sum().backward()
    computed = readings_of(config.training) / run.targets
    return ModelNumbers(
        parameters=sum(each.numel() for each in model.parameters()),
        inner=FlatParameters(model).hidden,
        logits=(width[0], width[1]),
        parts=_parts(model, forward, computed),
        forward=computed * forward.total(),
        backward=computed * (step.flop - forward).total(),
        again=computed * repeated,
        kept=computed * step.kept,
        unit="images" if isinstance(config, ImageClassificationConfig) else "tokens",
    )


class _Step(TorchDispatchMode):
    """Counts what torch computes while it is entered, by the module at work.

    Attributes:
        flop: of products, by the module's name; of backward passes by "".

    Args:
        blocks: that are computed again for the backward pass.
    """

    def __init__(self, model: nn.Module, blocks: Collection[nn.Module]) -> None:
        super().__init__()
        self.flop = Counter[str]()
        self._at, self._inputs = [""], set[int]()
        self._weights = {_storage(each) for each in model.parameters()}
        self._kept: dict[int, tuple[str, Tensor]] = {}
        self._blocks = tuple(f"{name}." for name, each in model.named_modules() if each in blocks)
        for name, module in model.named_modules():
            if not isinstance(module, INSIDE):
                module.register_forward_pre_hook(partial(self._enter, name))
                module.register_forward_hook(self._leave)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        formula = flop_registry.get(func._overloadpacket)
        if formula is not None:
            self.flop[self._at[-1]] += formula(*args, **(kwargs or {}), out_val=found)
        return found

    def keep(self, tensor: Tensor) -> Tensor:
        """Notes a tensor that is kept for the backward pass."""
        if _storage(tensor) not in self._weights:
            self._kept.setdefault(_storage(tensor), (self._at[-1], tensor))
        return tensor

    @property
    def again(self) -> float:
        """FLOP of the blocks that are computed again."""
        return sum(flop for name, flop in self.flop.items() if self._block(name))

    @property
    def kept(self) -> float:
        """The numbers that are kept: of blocks that are computed again their inputs, and what the
        largest of them keeps while it is.
        """
        always, inside = 0.0, defaultdict[str, float](float)
        for storage, (name, tensor) in self._kept.items():
            size = tensor.untyped_storage().nbytes() / WIDTH
            block = self._block(name)
            if block is None or storage in self._inputs:
                always += size
            else:
                inside[block] += size
        return always + max(inside.values(), default=0.0)

    def _block(self, name: str) -> str | None:
        """The block that is computed again and has this module; None: none."""
        return next((each for each in self._blocks if f"{name}.".startswith(each)), None)

    def _enter(self, name: str, _: nn.Module, inputs: tuple[object, ...]) -> None:
        self._at.append(name)
        if f"{name}." in self._blocks:
            tensors = (each for each in inputs if isinstance(each, Tensor))
            self._inputs.update(map(_storage, tensors))

    def _leave(self, *_: object) -> None:
        self._at.pop()


def _storage(tensor: Tensor) -> int:
    """What identifies a tensor's memory, where no memory has an address."""
    return tensor.untyped_storage()._cdata


def _parts(model: nn.Module, flop: Mapping[str, int], computed: float) -> tuple[Part, ...]:
    """The modules that have parameters or multiply, those of all layers together."""
    weights, forward = Counter[str](), defaultdict[str, float](float)
    names = [name for name, each in model.named_modules() if not isinstance(each, INSIDE)]
    for name, parameter in model.named_parameters():
        owner = max(
            (each for each in names if f"{name}.".startswith(f"{each}.")), key=len, default=""
        )
        weights[_part(owner)] += parameter.numel()
    for name, count in flop.items():
        forward[_part(name)] += computed * count
    order = dict.fromkeys(map(_part, names))
    return tuple(
        Part(name, weights[name], forward[name]) for name in order if weights[name] or forward[name]
    )


def _part(name: str) -> str:
    """encoder.blocks.3.self_attention.score becomes encoder.blocks.self_attention."""
    return ".".join([each for each in name.split(".") if not each.isdecimal()][:3])


def readings_of(training: TrainingConfig) -> int:
    """How often each target is computed in a step: twice with R-Drop."""
    doubled = isinstance(training, TranslationTrainingConfig) and training.consistency
    return 2 if doubled else 1


def _check(config: Config) -> None:
    """Raises a ConfigError for what is not counted; see `numbers_of`."""
    if config.start is not None:
        raise ConfigError(
            "the sizes of a model that is trained further are in its bundle.",
            got=f"start.model = {config.start.model}",
            do="plan the recipe that it was trained with: recipe.toml in the folder of its run",
        )
    if isinstance(config.model, TextClassifierConfig) and config.model.pretrained is not None:
        raise ConfigError(
            "the sizes of this model are those of a pretrained one, which a plan does not read.",
            got=f"model.pretrained = {config.model.pretrained}",
            do="plan the recipe with its sizes: model.dim, model.layers, ...",
        )
    if config.training.sharding == "full":
        raise ConfigError(
            "jumok plan computes the memory and the exchange of slices.",
            got='training.sharding = "full"',
            do="--set training.sharding=slices; a card of N then needs an N-th of the products' "
            "weights and gradients instead of all, and sends them once more in every micro-batch",
        )
