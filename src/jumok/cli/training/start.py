"""The options --from and --mix of `jumok train`."""

import re
from collections.abc import Sequence
from pathlib import Path

from jumok.errors import ConfigError

FROM = (
    "A model to train further: the folder of its bundle. Or, in --data, the language of the source "
    "or the name of its column. Repeatable, for both."
)
MIX = (
    "With --from MODEL: the share of each batch from the data that the model was trained on, 0 to "
    "below 1 (default: 0)."
)

LANGUAGE = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*")


def model_and_language(values: Sequence[str], with_data: bool) -> tuple[Path | None, str | None]:
    """Which of the values of --from is a model, and which a language (or a column).

    A folder with a bundle is a model. So is a path, so that a missing folder is an error. Any other
    value names a language or a column of --data.

    Raises:
        ConfigError: two of a kind, a value that may be both, or neither.
    """
    models: list[str] = []
    languages: list[str] = []
    for value in values:
        bundle = (Path(value) / "config.json").is_file()
        if bundle and with_data and LANGUAGE.fullmatch(value):
            raise ConfigError(
                f"--from {value} may be the language or the folder of a model.",
                do=f"--from ./{value} is the folder; for the language, rename the folder",
            )
        path = bundle or "/" in value or "\\" in value or value[:1] in (".", "~")
        if not path and not with_data:
            raise ConfigError(
                "--from names neither the folder of a model nor, with --data, a language.",
                got=value,
                do="--from runs/NAME/model to train a model further, "
                "or --data FILE.tmx --from en --to fr",
            )
        (models if path else languages).append(value)
    for values_of_kind, what in ((models, "models"), (languages, "languages")):
        if len(values_of_kind) > 1:
            raise ConfigError(
                f"--from names two {what}.",
                got=", ".join(values_of_kind),
                do="give one model and at most one language",
            )
    return (Path(models[0]) if models else None), (languages[0] if languages else None)


def start_overrides(model: Path | None, mix: float | None) -> list[str]:
    """--from and --mix as changes of the recipe's section [start]."""
    overrides = []
    if model is not None:
        path = str(model.expanduser().absolute()).replace("$", "$$")
        overrides.append(f"start.model={_toml(path)}")
    if mix is not None:
        overrides.append(f"start.mix={mix}")
    return overrides


def _toml(text: str) -> str:
    """A basic string of TOML."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def is_text(path: Path) -> bool:
    """Whether the argument is a text to train on, and no recipe."""
    return path.is_file() and path.suffix not in (".toml", ".json")
