"""How many runs there is room for on this machine: cards, cores and memory."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jumok import environment
from jumok.cli.scale.grid import Combination
from jumok.errors import ConfigError
from jumok.late import late_imports
from jumok.systems.device import cores

with late_imports():
    from jumok.models import size
    from jumok.planning import cards, network
    from jumok.planning import plan as planning

if TYPE_CHECKING:
    from jumok.config import Config

NVIDIA = Path("/proc/driver/nvidia/gpus")
ROOM = 0.8
"""The share of the machine's memory that all runs may take."""


def cards_here(device: str, driver: Path = NVIDIA) -> list[str]:
    """The graphics cards of which each run gets one; none if the recipe names its device.

    Args:
        device: of the recipe.
        driver: where the driver lists its cards.
    """
    if device != "auto":
        return []
    named = environment.visible_cards()
    if named is not None:
        return named
    try:
        return [str(number) for number, _ in enumerate(driver.iterdir())]
    except OSError:
        return []


def usual_jobs(wanted: Sequence[Combination], of_cards: Sequence[str]) -> int:
    """The number of runs at once: one for each card, or core, as far as there is memory."""
    if of_cards:
        return len(of_cards)
    needed = max(bytes_of_run(each.config) for each in wanted)
    room = int(ROOM * size.memory() / needed) if needed else len(wanted)
    return max(1, min(len(wanted), cores(), room))


def bytes_of_run(config: "Config") -> float:
    """The memory of a run in one thread, as it is planned; 0: it is not known."""
    try:
        usual = planning.usual_lengths(config)
        assumed = planning.Assumptions(1.0, usual, planning.vocabulary_of(config))
        one = network.Cluster(cards.card_named("cpu"), 1, 1)
        return planning.plan(config, one, assumed).memory.total
    except ConfigError:  # a plugin's model
        return 0.0
