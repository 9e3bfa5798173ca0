"""What `jumok train` is given instead of a recipe."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from jumok.cli.options import DATA, DELIMITER, ENCODING, LARGEST_COUNT, SKIP_DAMAGED, TO
from jumok.data.report import UTF8
from jumok.errors import ConfigError
from jumok.options import option


@dataclass(frozen=True)
class TrainingFiles:
    """What is trained on, where no recipe says it."""

    source: Path | None = option(
        None, "Train without a recipe: sentences, one per line (.gz, .zst too)."
    )
    target: Path | None = option(None, "Their translations, line-aligned.")
    data: Path | None = option(None, DATA, "--data", "-d")
    from_: list[str] | None = option(
        None,
        "A model to train further: the folder of its bundle. Or, in --data, the language of the "
        "source or the name of its column. Repeatable, for both.",
    )
    to: str | None = option(None, TO)
    columns: str | None = option(
        None,
        "In --data: columns of the text and of its translation (default: those of --from and --to, "
        "or 0,1).",
    )
    text: list[Path] | None = option(
        None,
        "Train a language model without a recipe: plain text (.gz, .zst too). Repeatable.",
    )
    documents: Literal["file", "line", "blank-line"] | None = option(
        None,
        "A document of --text: a whole file, a line, or the lines between two blank ones (default: "
        "file).",
    )
    mix: float | None = option(
        None,
        "With --from MODEL: the share of each batch from the data that the model was trained on, 0 "
        "to below 1 (default: 0).",
    )
    check_: list[Path] | None = option(
        None,
        "With --from MODEL: text that the model should not forget, scored before and after: a "
        "file as of --data, or of a translator the sources and then, in a second --check, their "
        "translations. Repeatable.",
        "--check",
    )
    freeze: list[str] | None = option(
        None,
        "With --from MODEL: parameters that stay as they are, such as 'encoder.*'. Repeatable.",
        metavar="PATTERN",
    )
    lora: int | None = option(
        None,
        "With --from MODEL: train low-rank additions to the layers of attention and feed-forward "
        "alone, of this rank (such as 16). The model that is written has them merged.",
        minimum=1,
        maximum=LARGEST_COUNT,
        metavar="RANK",
    )
    grow_vocabulary: int | None = option(
        None,
        "With --from MODEL: add up to this many words of the new data to the vocabulary, those "
        "that are now cut into the most subwords. Translators with one SentencePiece model.",
        minimum=1,
        maximum=LARGEST_COUNT,
        metavar="WORDS",
    )
    encoding: str = option(UTF8, ENCODING)
    delimiter: str = option("", DELIMITER)
    skip_damaged: bool = option(False, SKIP_DAMAGED)

    @property
    def read_as(self) -> dict[str, Any]:
        """The keys of a corpus that say how its text is read, where that is not the usual way."""
        keys = {"encoding": self.encoding, "delimiter": self.delimiter}
        return {key: value for key, value in keys.items() if value not in ("", UTF8)}

    def check(self, recipe: Path | None) -> None:
        """Raises ConfigError unless there is either a recipe or one kind of files."""
        if recipe is not None and self.read_as:
            raise ConfigError(
                "--encoding and --delimiter are of files that an option names.",
                do="a recipe says it under [[data.train]]: encoding, delimiter",
            )
        if self.documents is not None and not self.text:
            raise ConfigError("--documents needs --text.", do="a recipe has the key data.documents")
        ways = (recipe is not None, self.source is not None, self.data is not None, bool(self.text))
        if sum(ways) != 1 or (self.source is None) != (self.target is None):
            raise ConfigError(
                "give a recipe, or the files to train on.",
                do="jumok train smallworld-en-ko, or jumok train --source a.en --target a.ko, "
                "or jumok train --data a.tmx --from en --to ko, or jumok train --text book.txt",
            )


def recipe_path(path: Path) -> str:
    """The absolute path, its $ doubled so that it stays a $."""
    return str(path.absolute()).replace("$", "$$")
