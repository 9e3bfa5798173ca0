"""Writes a config as a recipe."""

import json
from collections.abc import Mapping
from pathlib import Path

import tomli_w

from jumok.config.families import Config


def recipe_text(config: Config) -> str:
    """TOML that `load_config` reads back as the same config, in any folder.

    It has the keys that were given in a recipe or by --set; paths are absolute. Keys with default
    values are left out.
    """
    given = config.model_dump(exclude_unset=True, exclude_none=True)
    return tomli_w.dumps({key: _toml_value(value) for key, value in given.items()})


def toml_path(path: Path) -> str:
    """The absolute path as a TOML string; a $ in it is doubled, so that it stays a $."""
    return json.dumps(str(path.absolute()).replace("$", "$$"), ensure_ascii=False)


def _toml_value(value: object) -> object:
    """As TOML types; a $ in a path is doubled, so that it stays a $."""
    if isinstance(value, Path):
        return str(value).replace("$", "$$")
    if isinstance(value, Mapping):
        return {key: _toml_value(each) for key, each in value.items()}
    if isinstance(value, (tuple, list)):
        return [_toml_value(each) for each in value]
    return value
