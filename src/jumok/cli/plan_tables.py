"""Plans as text, as a table over numbers of GPUs, and as JSON."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.console import Console

from jumok.cli.screen import plain_table
from jumok.json_types import JsonObject

if TYPE_CHECKING:
    from jumok.config import Config
    from jumok.planning.advice import Warned
    from jumok.planning.cards import Accelerator
    from jumok.planning.network import Cluster
    from jumok.planning.plan import Assumptions, ModelNumbers, Plan


def say_plan(
    screen: Console,
    config: "Config",
    model: "ModelNumbers",
    cluster: "Cluster",
    assumed: "Assumptions",
    plan: "Plan",
    warned: "Sequence[Warned]",
) -> None:
    """Everything about one number of cards."""
    _say_model(screen, config, model)
    _say_memory(screen, plan)
    _say_time(screen, config, model, plan)
    _say_assumptions(screen, config, cluster.card, assumed)
    _say_warnings(screen, [warned])


def say_table(
    screen: Console,
    config: "Config",
    model: "ModelNumbers",
    card: "Accelerator",
    assumed: "Assumptions",
    plans: "Sequence[Plan]",
    warned: "Sequence[Sequence[Warned]]",
) -> None:
    """One row for each number of cards."""
    screen.print(_model_line(config, model), soft_wrap=True)
    headings = (card.name, model.unit, "computing", "exchange", "busy", "run", "GB", "cost")
    table = plain_table(*headings, left=headings[:1])
    for plan in plans:
        fits = "" if plan.memory.total <= plan.capacity else " too much"
        table.add_row(
            f"{plan.cards:,}",
            f"{plan.targets:,.0f}",
            duration(plan.computing),
            duration(plan.sent.seconds + plan.optimizer),
            f"{plan.busy:.0%}",
            duration(3600 * plan.hours),
            f"{plan.memory.total / 1e9:.1f}{fits}",
            "-" if plan.cost is None else f"{plan.cost:,.2f}",
        )
    screen.print(table)
    screen.print(
        f"{model.unit}: a card and update; computing, exchange (with the optimizer): seconds of an "
        "update; busy: the share of the time in which products are computed.",
        soft_wrap=True,
    )
    _say_assumptions(screen, config, card, assumed)
    _say_warnings(screen, warned, [plan.cards for plan in plans])


def as_json_object(
    name: str,
    model: "ModelNumbers",
    card: "Accelerator",
    assumed: "Assumptions",
    plans: "Sequence[Plan]",
    warned: "Sequence[Sequence[Warned]]",
) -> JsonObject:
    """The same as JSON: bytes, seconds and FLOP."""
    plan = [
        asdict(each)
        | {"memory_total": each.memory.total}
        | {"warnings": [asdict(one) for one in its]}
        for each, its in zip(plans, warned, strict=True)
    ]
    return {
        "recipe": name,
        "model": asdict(model),
        "card": asdict(card),
        "assumptions": asdict(assumed),
        "plans": plan,
    }


def _model_line(config: "Config", model: "ModelNumbers") -> str:
    unit = model.unit.removesuffix("s")
    return (
        f"{config.name}: {config.model.summary}; {model.parameters / 1e6:,.1f} M parameters, "
        f"{amount(model.flop)}FLOP a target {unit}"
    )


def _say_model(screen: Console, config: "Config", model: "ModelNumbers") -> None:
    screen.print(_model_line(config, model), soft_wrap=True)
    again = ("again",) if config.training.recompute else ()
    table = plain_table(
        "part", "parameters", "forward", "backward", *again, "share", left=("part",)
    )
    whole = sum(part.both for part in model.parts) or 1.0
    for part in model.parts:
        table.add_row(
            part.name,
            f"{part.weights:,}",
            amount(part.forward),
            amount(part.backward),
            *(amount(part.again) for _ in again),
            f"{part.both / whole:.0%}",
        )
    screen.print(table)


def _say_memory(screen: Console, plan: "Plan") -> None:
    memory, state = plan.memory, plan.memory.state
    table = plain_table("memory of one card", "GB", left=("memory of one card",))
    for name, size in (
        ("weights", state.weights),
        ("gradients", state.gradients),
        ("master weights", state.master),
        ("moments of the optimizer", state.moments),
        ("averaged weights", state.average),
        (f"activations of {plan.micro_batch:,.0f} targets", memory.activations),
        ("logits and loss", memory.loss),
        ("driver and libraries", memory.framework),
        (f"all, of {plan.capacity / 1e9:.1f}", memory.total),
    ):
        table.add_row(name, f"{size / 1e9:.2f}")
    screen.print(table)


def _say_time(screen: Console, config: "Config", model: "ModelNumbers", plan: "Plan") -> None:
    sent = plan.sent
    nodes = f" in {plan.nodes:,} nodes" if plan.nodes > 1 else ""
    table = plain_table("one update", f"{plan.cards:,} x{nodes}", left=("one update",))
    batch = config.training.tokens_per_batch
    for name, text in (
        (f"{model.unit} of all", f"{batch:,}"),
        (f"{model.unit} of one card", f"{plan.targets:,.0f}"),
        ("computing", duration(plan.computing)),
        ("optimizer", duration(plan.optimizer)),
        ("exchange", duration(sent.seconds)),
        ("sent to cards of the node", f"{sent.inside / 1e6:,.1f} MB"),
        ("sent to other nodes", f"{sent.outside / 1e6:,.1f} MB"),
        ("busy", f"{plan.busy:.0%}"),
        (f"{model.unit} a second", f"{batch / plan.update:,.0f}"),
        (f"the run of {plan.steps:,.0f} updates", duration(3600 * plan.hours)),
        ("card-hours", f"{plan.hours * plan.cards:,.2f}"),
    ):
        table.add_row(name, text)
    if plan.cost is not None:
        table.add_row("cost", f"{plan.cost:,.2f}")
    screen.print(table)


def _say_assumptions(
    screen: Console, config: "Config", card: "Accelerator", assumed: "Assumptions"
) -> None:
    lengths = assumed.lengths
    texts = f"targets of {lengths.target:g} tokens"
    texts += f", sources of {lengths.source:g}" if lengths.source else ""
    from jumok.planning.plan import bytes_of

    peak = card.peak("fp32" if bytes_of(config, card) == 4 else "bf16")
    reason = card.because if assumed.share == card.share else "as given"
    vocabulary = f"; {assumed.vocabulary:,} in the vocabulary" if assumed.vocabulary else ""
    for line in (
        f"assumed: {assumed.share:.0%} of {amount(peak)}FLOP/s ({reason}); "
        f"{texts}{vocabulary}; nothing overlaps; validation and preparation are left out",
        f"{card.name}: {card.source}",
    ):
        screen.print(line, soft_wrap=True)


def _say_warnings(
    screen: Console, warned: "Sequence[Sequence[Warned]]", cards: Sequence[int] = ()
) -> None:
    for number, its in enumerate(warned):
        of = f" ({cards[number]:,})" if cards else ""
        for one in its:
            screen.print(f"warning{of}: {one.text}", soft_wrap=True)


def amount(number: float) -> str:
    """365.3 M for 365,300,000."""
    for unit, size in (("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:,.1f} {unit}"
    return f"{number:,.0f} "


def duration(seconds: float) -> str:
    """With the unit that suits: 8.2 ms, 3.5 s, 12 min, 5.1 h, 3.2 days."""
    if seconds < 0.0005:
        return f"{1e6 * seconds:,.0f} us"
    if seconds < 1:
        return f"{1e3 * seconds:,.1f} ms"
    for unit, size, least in (("s", 1, 120), ("min", 60, 120), ("h", 3600, 48)):
        if seconds / size < least:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds / 86400:,.1f} days"
