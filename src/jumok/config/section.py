"""The base classes and types of all sections of a recipe."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import Template
from typing import Annotated, TypedDict

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo

from jumok.parts import unknown
from jumok.specs import Spec

Share = Annotated[float, Field(ge=0.0, lt=1.0)]
Count = Annotated[int, Field(ge=1, lt=2**31)]
Layers = Annotated[int, Field(ge=1, le=1000)]
"""Each layer is built separately: a million of them would take minutes before the first error."""
PixelSide = Annotated[int, Field(ge=1, le=16384)]
"""Pixels along one side of an image: a damaged file must not ask for gigabytes for one image."""


class RecipeContext(TypedDict, total=False):
    """What the paths of a recipe are relative to.

    Attributes:
        folder: that of the recipe; "" where it has no file.
        variables: the values of `$NAME` in paths.
    """

    folder: Path | str
    variables: Mapping[str, str]


def _locate(path: Path, info: ValidationInfo) -> Path:
    return located(path, info.context or RecipeContext())


def located(path: Path | str, context: RecipeContext) -> Path:
    """The absolute path: `$NAME` is replaced, and others are relative to the recipe's folder.

    Raises:
        ValueError: a variable is not set, or the path is none.
    """
    text = str(path)
    if "\0" in text:
        raise ValueError("a path cannot hold a NUL character")
    whole = substituted(text, context.get("variables", {}))
    # A path in a variable is relative to the user's folder, not to the recipe's.
    folder = "" if text.startswith("$") else context.get("folder", "")
    return Path(os.path.abspath(Path(folder, whole)))


def substituted(text: str, variables: Mapping[str, str]) -> str:
    """The text with the values of its `$NAME`.

    Raises:
        ValueError: a variable is not set, or no name follows a $.
    """
    try:
        return Template(text).substitute(variables)
    except KeyError as error:
        raise ValueError(
            f"the environment variable {error.args[0]} is not set; "
            f"set it before the run: export {error.args[0]}=/path/to/the/folder"
        ) from error
    except ValueError as error:
        raise ValueError("a $ must be followed by a name; write $$ for a literal $") from error


DataPath = Annotated[Path, AfterValidator(_locate)]


def _locate_or_keep(where: Path | str, info: ValidationInfo) -> Path | str:
    if "://" not in str(where):
        return located(where, info.context or RecipeContext())
    variables = (info.context or RecipeContext()).get("variables", {})
    address = substituted(str(where), variables)
    if "$" in address:
        raise ValueError("write %24 for a $ in an address")
    return address


DataSource = Annotated[Path | str, AfterValidator(_locate_or_keep)]
"""A path, or an address such as s3://, which stays as it is."""


def part_name(role: str, *also: str) -> AfterValidator:
    """Checks that a value names a part of this role, or is one of `also`."""

    def check(name: str) -> str:
        fault = unknown(role, name, also)
        if fault is not None:
            raise ValueError(fault)
        return name

    return AfterValidator(check)


class Section(BaseModel):
    """A part of a config: frozen, and without unknown keys."""

    # Most commands use few of the sections, or none; building all validators takes 50 ms.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class ModelSection(Section):
    """The section [model]: its `kind` determines the other keys."""

    kind: str

    def parts(self) -> Iterator[tuple[str, str, Spec | None]]:
        """The parts that it names: the key, the name, and the part's record if it has one."""
        return iter(())

    @property
    def summary(self) -> str:
        """A description of the sizes, for the user."""
        return self.kind
