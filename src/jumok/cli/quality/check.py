"""Options and results of the measurements of `jumok quantize`."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from jumok.errors import ConfigError, JumokError, Location

if TYPE_CHECKING:
    from jumok.bundle.card import Score
    from jumok.bundle.reading import Bundle
    from jumok.config import Config
    from jumok.evaluation.agreement import Agreement

Data = TypeVar("Data")


@dataclass(frozen=True)
class QualityCheck:
    """The options of one check; see those of `quantize`.

    Attributes:
        quantized: the model with fewer bits, which may still be refused.
    """

    model: "Bundle"
    quantized: "Bundle"
    check: tuple[Path, Path] | None
    data: Path | None
    columns: str
    beam: int
    batch: int

    def own_data(self, find: "Callable[[Config, Path], Data | None]", do: str) -> Data:
        """The data that the run of this model names for validation or test.

        Args:
            find: (recipe, folder of the run) -> the data; None: the recipe names none.
            do: the options that give other data, for the error.

        Raises:
            ConfigError: the run, or its data, is not there.
        """
        run = self.model.folder.resolve().parent
        from jumok.training.folder import RECIPE

        file, got = run / RECIPE, f"no {RECIPE} beside the model"
        if file.is_file():
            try:
                from jumok.config.recipe import load_config

                data = find(load_config(file), run)
            except JumokError as error:
                data, got = None, error.what
            else:
                got = "its recipe names no data for validation or test"
            if data is not None:
                return data
        raise ConfigError(
            "there is no data to measure what the model loses.",
            expected="the run that the model comes from, with its data, or data of yours",
            got=got,
            do=do,
            place=Location(self.model.folder),
        )


@dataclass(frozen=True)
class ComparedModels:
    """Measured scores of both models.

    Attributes:
        on: the data, in words.
        before, after: the same scores of both models.
        seconds: of the processor, for the texts by each model; None: they were not compared.
        unit: what was compared, "tokens" or "labels".
    """

    on: str
    before: "tuple[Score, ...]"
    after: "tuple[Score, ...]"
    agreement: "Agreement"
    seconds: tuple[float, float] | None = None
    unit: str = "tokens"
