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
    """Trains a model; the best one becomes the bundle runs/NAME/model.

        result = jumok.train("smallworld-en-ko", overrides=["training.minutes=3"])
        model = jumok.load(result.model, kind=jumok.Translator)

    Args:
        recipe: a config, a recipe's file, or the name of one that comes with jumok.
        runs: the folder of all runs.
        overrides: as --set: "training.steps=2000". Only for a file or a name.
        resume: continue from the run's last checkpoint.
        screen: is called after every step; None: a line of progress.

    Raises:
        ConfigError: the recipe cannot be followed, the name is taken, or another process is
            training there.
        DataError: a corpus cannot be read.
        BundleError: there is no complete checkpoint to resume from, or a bundle cannot be written.
        TrainingError: divergence, or a disk that refuses.
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
