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
        None, "Train without a recipe: text file, one sentence per line; .gz or .zst also work."
    )
    target: Path | None = option(None, "Translation of --source, line-aligned.")
    data: Path | None = option(None, DATA, "--data", "-d")
    from_: list[str] | None = option(
        None,
        "Model to train further: the folder of its bundle. With --data, also the source language "
        "or the name of the source column; to give both, repeat the option.",
    )
    to: str | None = option(None, TO)
    columns: str | None = option(
        None,
        "With --data: columns of the text and its translation (default: the columns of --from and"
        " --to, or 0,1).",
    )
    text: list[Path] | None = option(
        None,
        "Train a language model without a recipe: plain text file; .gz or .zst also work. "
        "Repeatable.",
    )
    documents: Literal["file", "line", "blank-line"] | None = option(
        None,
        "With --text: the unit of a document: the whole file, a line, or the lines between blank "
        "lines (default: file).",
    )
    mix: float | None = option(
        None,
        "With --from MODEL: share of the model's original training data in each batch, from 0 to "
        "below 1 (default: 0).",
    )
    check_: list[Path] | None = option(
        None,
        "With --from MODEL: test data, scored before and after training to measure forgetting: "
        "one file as for --data, or, for a translator, a source file and a target file, each with"
        " its own --check.",
        "--check",
    )
    freeze: list[str] | None = option(
        None,
        "With --from MODEL: parameters to freeze, such as 'encoder.*'. Repeatable.",
        metavar="PATTERN",
    )
    lora: int | None = option(
        None,
        "With --from MODEL: train only low-rank updates (LoRA) of this rank, such as 16, for the "
        "attention and feed-forward layers. They are merged into the saved model.",
        minimum=1,
        maximum=LARGEST_COUNT,
        metavar="RANK",
    )
    grow_vocabulary: int | None = option(
        None,
        "With --from MODEL: add up to this number of words of the new data to the vocabulary, "
        "first those that save the most tokens. Only for translators with one SentencePiece model.",
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
