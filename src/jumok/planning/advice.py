"""Warnings about a plan, each with the number that would do."""

from dataclasses import dataclass
from typing import get_args

from jumok.config import Config, TrainingConfig
from jumok.planning.network import Cluster
from jumok.planning.plan import ModelNumbers, Plan, on_processors

BUSY = 0.9
LARGE_BATCH = 500_000
"""Tokens of an update beyond which one model of up to a few 10^8 parameters gains little.

Source: Ott et al. 2018 (updates of 400,000 tokens); McCandlish et al. 2018 (critical batch sizes).
"""

LAYER_SECONDS = 1e-3
"""Starting the kernels of one layer, forward and backward, without CUDA graphs; an assumption."""

EXPERT_SECONDS = 3e-4
"""The same for one expert, which are called one after another; an assumption."""


@dataclass(frozen=True)
class Warned:
    """One rule that a plan breaks.

    Attributes:
        rule: its name, for programs.
        text: what is wrong, and what to do.
    """

    rule: str
    text: str


@dataclass(frozen=True)
class _Case:
    config: Config
    model: ModelNumbers
    cluster: Cluster
    plan: Plan


def warnings_of(config: Config, model: ModelNumbers, cluster: Cluster, plan: Plan) -> list[Warned]:
    """The rules that a plan breaks, the most serious first."""
    case = _Case(config, model, cluster, plan)
    return [Warned(name, text) for name, rule in RULES.items() if (text := rule(case))]


def _memory_warning(case: _Case) -> str:
    needed, capacity = case.plan.memory.total, case.plan.capacity
    if needed <= capacity:
        return ""
    text = f"a card needs {needed / 1e9:.1f} GB and has {capacity / 1e9:.1f}: "
    if case.plan.fits >= 1:
        return text + (
            f"--set training.tokens_per_micro_batch={int(case.plan.fits)} or less (now "
            f"{case.plan.micro_batch:,.0f} {case.model.unit}) fits"
        )
    fixed = needed - case.plan.memory.activations
    factor = fixed / capacity
    return text + (
        f"weights, gradients and optimizer alone take {fixed / 1e9:.1f} GB; more cards share them, "
        f"or the model has to be {factor:.1f} times as small (model.dim by {factor**0.5:.1f})"
    )


def _processes_warning(case: _Case) -> str:
    most = max(get_args(TrainingConfig.model_fields["shares"].annotation))
    count = case.cluster.nodes if on_processors(case.cluster) else case.cluster.count
    if count & (count - 1):
        lower = 1 << (count.bit_length() - 1)
        return f"an update is shared among 1, 2, 4, 8, ... processes: take {lower} or {2 * lower}"
    if count > most:
        return f"one run has at most {most} processes; more cards serve several runs: jumok sweep"
    return ""


def _bfloat16_warning(case: _Case) -> str:
    if case.cluster.card.bf16 is not None or case.config.training.precision == "fp32":
        return ""
    return (
        f"the {case.cluster.card.name} has no bfloat16: products are in float32, at "
        f"{case.cluster.card.fp32 / 1e12:.0f} TFLOP/s"
    )


def _micro_batches_warning(case: _Case) -> str:
    """Fewer micro-batches than cards."""
    training = case.config.training
    if training.tokens_per_micro_batch <= case.plan.targets:
        return ""
    return (
        f"an update has fewer micro-batches than cards: --set "
        f"training.tokens_per_micro_batch={max(1, int(case.plan.targets))} or less, "
        f"or a larger training.tokens_per_batch"
    )


def _waiting_warning(case: _Case) -> str:
    """Cards that wait for the network more than a tenth of the time."""
    if case.plan.busy >= BUSY:
        return ""
    batch = case.config.training.tokens_per_batch
    enough = rounded_up(case.plan.enough * case.plan.cards)
    cards = max(1, int(batch / case.plan.enough))
    lower = 1 << (cards.bit_length() - 1)
    targets = f"{case.plan.targets:,.0f} {case.model.unit} a card and update"
    text = (
        f"{case.plan.busy:.0%} of the time is computing: {targets}. "
        f"90% take about {rounded_up(case.plan.enough):,}: "
        f"--set training.tokens_per_batch={enough}"
    )
    if lower < case.plan.cards:
        text += f", or at most {lower} card{'s' * (lower > 1)}"
    if case.model.unit == "tokens" and enough > LARGE_BATCH:
        text += (
            f". Updates of more than about {LARGE_BATCH:,} tokens seldom help one model of this "
            "size; more cards then serve several runs: jumok sweep"
        )
    return text


def _starting_warning(case: _Case) -> str:
    """A card that computes faster than Python starts its kernels."""
    if on_processors(case.cluster):
        return ""
    depth = sum(
        getattr(case.config.model, name)
        for name in ("layers", "encoder_layers", "decoder_layers")
        if name in type(case.config.model).model_fields
    )
    computed = case.plan.computing * case.plan.micro_batch / case.plan.targets
    experts = getattr(case.config.model, "experts", None) or 0
    started = depth * (LAYER_SECONDS + experts * EXPERT_SECONDS)
    if computed >= started:
        return ""
    larger = rounded_up(case.plan.micro_batch * started / computed)
    do = "fewer cards, or a larger training.tokens_per_batch, would keep the card busy"
    if larger <= case.plan.targets:
        do = f"--set training.tokens_per_micro_batch={larger} would keep the card busy"
    return (
        f"a micro-batch of {case.plan.micro_batch:,.0f} {case.model.unit} is computed in "
        f"{1e3 * computed:.1f} ms, and starting its kernels from Python takes about "
        f"{1e3 * started:.0f} ms: an update takes longer than planned; {do}"
    )


RULES = {
    "memory": _memory_warning,
    "processes": _processes_warning,
    "bfloat16": _bfloat16_warning,
    "micro_batches": _micro_batches_warning,
    "waiting": _waiting_warning,
    "starting": _starting_warning,
}


def rounded_up(number: float) -> int:
    """To two significant digits: 7,812 becomes 7,900."""
    unit = 10 ** max(0, len(str(int(number))) - 2)
    return int(-(-number // unit) * unit)
