"""The task of a recipe."""

from pathlib import Path

from jumok.config.families import Config
from jumok.errors import ConfigError
from jumok.kinds import KINDS
from jumok.training.task import Reporter, Task


def prepare(config: Config, home: Path, cache: Path, say: Reporter) -> Task:
    """Prepares the data of the recipe.

    Args:
        home: the run's folder.
        cache: of prepared data; runs on the same content share it.

    Raises:
        DataError: data that cannot be read, or an empty corpus.
        ConfigError: settings that the data does not allow; the recipe's class belongs to no kind.
    """
    for kind in KINDS.values():
        if kind.recipe is not None and kind.entry("recipe") is type(config):
            task: Task = kind.entry("training")(config, home, cache, say)
            return task
    raise ConfigError(
        "no kind of model has recipes of this class.",
        got=type(config).__name__,
        do='register it: jumok.register("kind", NAME, jumok.Kind(...))',
    )
