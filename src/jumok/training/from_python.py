"""`jumok.train`: training from Python, as `jumok train` does it."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from jumok.config import Config
from jumok.training.log import Log
from jumok.training.run import Result
from jumok.training.run import train as train_run
from jumok.training.screen import screen as progress
from jumok.training.start import load


def train(
    recipe: Config | Path | str,
    runs: Path | str = "runs",
    *,
    overrides: Sequence[str] = (),
    resume: bool = False,
    screen: Log | None = None,
) -> Result:
    """Trains a model, and writes the best one to the bundle runs/NAME/model.

        result = jumok.train("smallworld-en-ko", overrides=["training.minutes=3"])
        model = jumok.load(result.model, kind=jumok.Translator)

    Args:
        recipe: a config, a recipe file, or the name of a built-in recipe.
        runs: the folder in which each run gets a subfolder.
        overrides: as for --set: "training.steps=2000". Only for a file or a name.
        resume: continue from the last checkpoint of the run.
        screen: called after every step; None: a progress line.

    Raises:
        ConfigError: the recipe is invalid, its name is taken, or another process trains in its
            folder.
        DataError: a corpus cannot be read.
        BundleError: there is no complete checkpoint to resume from, or a bundle cannot be written.
        TrainingError: the training diverged, or a file could not be written.
    """
    runs = Path(runs)
    config = (
        recipe
        if isinstance(recipe, Config)
        else load(Path(recipe), overrides, runs=runs if resume else None)
    )
    if screen is not None:
        return train_run(config, runs, screen, resume=resume)
    with closing(progress()) as live:
        return train_run(config, runs, live, resume=resume)
