"""The task of a recipe."""

from pathlib import Path

from jumok.config.families import Config
from jumok.kinds import KINDS, resolve
from jumok.training.task import Reporter, Task


def prepare(config: Config, home: Path, cache: Path, say: Reporter) -> Task:
    """Prepares the data of the recipe.

    Args:
        home: the run's folder.
        cache: the folder of prepared data; runs on the same content share it.

    Raises:
        DataError: data that cannot be read, or an empty corpus.
        ConfigError: settings that the data does not allow.
    """
    kind = next(
        each for each in KINDS.values() if each.recipe and resolve(each.recipe) is type(config)
    )
    assert kind.training is not None
    task: Task = resolve(kind.training)(config, home, cache, say)
    return task
