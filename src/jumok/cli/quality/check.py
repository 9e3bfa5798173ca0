"""What all kinds of model have in common when `jumok quantize` measures them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from jumok.errors import ConfigError, JumokError, Place
from jumok.late import late_imports

with late_imports():
    from jumok.config import recipe
    from jumok.training import folder as training_folder

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
        model: the bundle that is to be quantized.
        quantized: the same with fewer bits, which may still be refused.
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
        file, got = run / training_folder.RECIPE, f"no {training_folder.RECIPE} beside the model"
        if file.is_file():
            try:
                found = find(recipe.load_config(file), run)
            except JumokError as error:
                found, got = None, error.what
            else:
                got = "its recipe names no data for validation or test"
            if found is not None:
                return found
        raise ConfigError(
            "there is no data to measure what the model loses.",
            expected="the run that the model comes from, with its data, or data of yours",
            got=got,
            do=do,
            place=Place(self.model.folder),
        )


@dataclass(frozen=True)
class ComparedModels:
    """What was measured.

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
