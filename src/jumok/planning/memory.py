"""The memory of one card in training, part by part, in bytes."""

from dataclasses import dataclass

from jumok.config import Config, TrainingConfig
from jumok.config.stack import WriterConfig
from jumok.kernels.card.sizes import logit_rows
from jumok.planning.activations import kept_numbers
from jumok.planning.products import TextLengths, readings_of

FRAMEWORK = 1e9
"""Bytes of the driver's context and of libraries on a card; an assumption."""
USABLE = 0.95
"""The share of a card's memory that an allocator can give out; an assumption."""


@dataclass(frozen=True)
class CardState:
    """Bytes that one card holds between updates.

    Attributes:
        weights: those of the products.
        gradients: of the products, and their sum in float32.
        master: the weights in float32.
    """

    weights: float
    gradients: float
    master: float
    moments: float
    average: float

    @property
    def total(self) -> float:
        return self.weights + self.gradients + self.master + self.moments + self.average


@dataclass(frozen=True)
class CardMemory:
    """Bytes that one card needs at most.

    Attributes:
        state: between updates.
        activations: of one micro-batch.
        loss: the logits of some targets, and the gradient of the output's weights.
        framework: of the driver and the libraries.
        target: bytes of activations for each target of a micro-batch.
    """

    state: CardState
    activations: float
    loss: float
    framework: float
    target: float

    @property
    def total(self) -> float:
        return self.state.total + self.activations + self.loss + self.framework


@dataclass(frozen=True)
class ModelCounts:
    """Attributes:
    parameters: all.
    turned: the parameters that Muon updates: the matrices inside the model.
    logits: the vocabulary, and the width of what it is predicted from.
    """

    parameters: int
    turned: int
    logits: tuple[int, int]


def state_of(
    training: TrainingConfig, numbers: ModelCounts, size: int, slices: int, shares: int
) -> CardState:
    """The state of one card.

    Args:
        size: bytes of a number in products.
        slices: the cards that share master weights, moments, averages and the summed gradient.
        shares: gradients that one card sums.
    """
    own = numbers.parameters / slices
    turned = numbers.turned / slices if training.optimizer == "muon" else 0.0
    average = training.average
    averages = {"ema": 1, "last": average.last, "none": 0}[average.kind]
    return CardState(
        weights=size * numbers.parameters,
        gradients=shares * size * numbers.parameters + 4 * own,
        master=4 * own,
        moments=8 * own - 4 * turned,
        average=4 * averages * own,
    )


def memory_of(
    config: Config,
    numbers: ModelCounts,
    lengths: TextLengths,
    state: CardState,
    *,
    size: int,
    micro_batch: float,
    at_once: int,
    on_cpu: bool = False,
    framework: float = FRAMEWORK,
) -> CardMemory:
    """The memory of one card.

    Args:
        size: bytes of a number in products.
        micro_batch: its targets.
        at_once: micro-batches computed at the same time, by threads.
    """
    doubled = readings_of(config.training)
    target = doubled * size * kept_numbers(config, lengths)
    vocabulary, width = numbers.logits
    rows = min(logit_rows(max(1, vocabulary), on_cpu=on_cpu), doubled * micro_batch)
    each = _of_a_logit(config, size, doubled == 2 and not on_cpu)
    loss = rows * vocabulary * each + size * vocabulary * width
    return CardMemory(
        state, at_once * micro_batch * target, at_once * loss, framework, at_once * target
    )


def _of_a_logit(config: Config, size: int, compared: bool) -> int:
    """Bytes of a logit, its probability in float32 and its gradient.

    Args:
        compared: whether torch compares two readings of each target; the C kernels need no copies.
    """
    model = getattr(config.model, "decoder", config.model)
    capped = isinstance(model, WriterConfig) and model.logit_cap is not None
    return 2 * size + 4 + (2 * size if capped else 0) + (20 if compared else 0)
