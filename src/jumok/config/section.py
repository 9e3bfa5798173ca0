"""What every section of a recipe is made of."""

import os
from pathlib import Path
from string import Template
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

Share = Annotated[float, Field(ge=0.0, lt=1.0)]
Count = Annotated[int, Field(ge=1, lt=2**31)]
Layers = Annotated[int, Field(ge=1, le=1000)]
"""Each is built on its own: a million of them would take minutes before the first fault shows."""


def _locate(path: Path, info: Any) -> Path:
    """The absolute path: `$NAME` filled in, and otherwise counted from the recipe's folder.

    `info` is pydantic's ValidationInfo, a protocol that cannot be checked at run time.
    """
    context = info.context or {}
    text = str(path)
    if "\0" in text:
        raise ValueError("a path cannot hold a NUL character")
    try:
        filled = Template(text).substitute(context.get("variables", {}))
    except KeyError as error:
        raise ValueError(
            f"the environment variable {error.args[0]} is not set; "
            f"set it before the run: export {error.args[0]}=/path/to/the/folder"
        ) from error
    except ValueError as error:
        raise ValueError("a $ must be followed by a name; write $$ for the sign itself") from error
    # What a variable holds was written by someone in their own folder, not in the recipe's.
    folder = "" if text.startswith("$") else context.get("folder", "")
    return Path(os.path.abspath(Path(folder, filled)))


DataPath = Annotated[Path, AfterValidator(_locate)]


class Section(BaseModel):
    """A part of a config: frozen, and without room for keys nobody reads."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ModelSection(Section):
    """The section [model]: its `kind` says what the other keys are."""

    kind: str

    @property
    def summary(self) -> str:
        """The sizes in words, for the person who waits."""
        return self.kind
