"""What of the data of an evaluation the model was trained on."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jumok.cli.verbs.evaluate import Evaluation
from jumok.shipped import RECIPE_SUFFIX

if TYPE_CHECKING:
    from jumok.config import Config


def leak_lines(asked: Evaluation, tested: Sequence[str]) -> Iterator[str]:
    """A line of how many texts are in the training data; none if those are not known.

    Args:
        tested: sources, texts or long lines.

    Raises:
        ConfigError, DataError: --train cannot be read.
    """
    training = _training(asked)
    if training is None:
        return
    from jumok.data.leaks import find_leaks

    leaks = find_leaks(tested, training)
    if leaks.of:
        yield leaks.line("texts")


def _training(asked: Evaluation) -> Iterator[str] | None:
    from jumok.config.recipe import load_config
    from jumok.errors import JumokError

    if asked.train is not None and asked.train.suffix != RECIPE_SUFFIX:
        from jumok.data.texts.corpus import TextCorpus, read_examples

        column = asked.columns.split(",")[0]
        from jumok.cli.columns import as_column

        return (each.text for each in read_examples(TextCorpus(asked.train, as_column(column))))
    from jumok.training.folder import RECIPE, run_of

    if asked.train is not None:
        return _texts(load_config(asked.train), asked.train.parent)
    run = run_of(_folder(asked))
    try:
        return _texts(load_config(run / RECIPE), run) if run else None
    except JumokError:  # a recipe of variables that are not set here, or of another jumok
        return None


def _texts(config: "Config", run: Path) -> Iterator[str] | None:
    from jumok.training.preparing.seen import training_texts

    return training_texts(config, run)


def _folder(asked: Evaluation) -> Path:
    assert asked.opened is not None
    return asked.opened.parts[0].folder
