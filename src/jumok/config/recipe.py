"""A recipe (TOML) and overrides become one typed, frozen config.

Every field of a section is a key of a recipe; `recipes/multi30k-en-de.toml` explains them. Which
sections a recipe has depends on its `model.kind`.
"""

import copy
import difflib
import shlex
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import get_args

from pydantic import ValidationError

from jumok.config.families import DEFAULT_KIND, Config, families
from jumok.config.section import RecipeContext, Section, located
from jumok.environment import recipe_variables
from jumok.errors import ConfigError, Location
from jumok.kinds import KINDS
from jumok.places import import_string
from jumok.plugins import load_plugin, loaded
from jumok.shipped import find_recipe

DEEPEST = 16
LONGEST_SHOWN = 200
"""Characters of a wrong value in a message."""


def load_config(
    recipe: Path | str, overrides: Sequence[str] = (), variables: Mapping[str, str] | None = None
) -> Config:
    """Reads a recipe. `jumok.training.start.load` also completes a recipe with a section [start].

    Args:
        recipe: a TOML file, whose relative paths start at its folder; or the name of a built-in
            recipe, such as "smallworld-en-ko". A file takes precedence.
        overrides: a dotted key and a TOML value, "training.steps=2000"; a bare word is a string.
        variables: the values of `$NAME` in paths; None: the environment.

    Raises:
        ConfigError: no such file, not TOML, an unknown key (the error names the nearest one), a
            wrong type, impossible sizes, or a variable that is not set.
    """
    file = find_recipe(Path(recipe))
    return parse_config(read_recipe(file), overrides, file, variables)


def read_recipe(recipe: Path) -> dict[str, object]:
    """The keys and values of a recipe's file, not validated."""
    place = Location(recipe)
    do = "correct that line"
    if recipe.suffix != ".toml":
        do = ADVICE.format(shlex.quote(str(recipe)))
    try:
        values = tomllib.loads(recipe.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigError(
            "the recipe cannot be read.", got=str(error.strerror), place=place
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigError(
            "the recipe is not UTF-8.",
            place=Location(recipe, byte=error.start),
            do="save it as UTF-8" if recipe.suffix == ".toml" else do,
        ) from error
    except (
        ValueError,
        RecursionError,
    ) as error:  # invalid TOML, and very long numbers or deep nesting
        beside = recipe.with_name("recipe.toml")
        run = recipe.name == "config.json" and beside.is_file()
        raise ConfigError(
            "the recipe is not TOML.",
            place=place,
            got="the config.json of a run" if run else str(error)[:200],
            do=f"give the run's recipe: jumok train {beside} --name OTHER" if run else do,
        ) from error
    _check_depth(values, place)
    return values


# The advice for a text file that was given as a recipe.
ADVICE = """a recipe is a file NAME.toml. For a language model of this text: jumok train --text {}
            for a translator: jumok train --source a.en --target a.ko"""


def parse_config(
    values: Mapping[str, object],
    overrides: Sequence[str] = (),
    recipe: Path | None = None,
    variables: Mapping[str, str] | None = None,
) -> Config:
    """Validates keys and values; all errors are reported in one ConfigError.

    Args:
        recipe: the file of the values; None: relative paths stay unchanged.
        variables: the values of `$NAME` in paths; None: the environment.
    """
    if variables is None:
        variables = recipe_variables()
    _check_depth(values, Location(recipe) if recipe else None)
    values = overridden(values, overrides)
    context = RecipeContext(folder=recipe.parent if recipe else "", variables=variables)
    load_plugins(values.get("plugins"), context, recipe)
    family = _family(values, recipe)
    values = _with_loaded_plugins(values, family)
    try:
        return family.model_validate(values, context=context)
    except ValidationError as error:
        faults = "\n  ".join(_fault_texts(error, family))
        raise ConfigError(
            f"the recipe cannot be followed:\n  {faults}",
            place=Location(recipe) if recipe else None,
            do=f"correct these keys; {family.manual}",
        ) from error


def overridden(values: Mapping[str, object], overrides: Sequence[str]) -> dict[str, object]:
    """A copy of a recipe's values with the overrides applied, not validated.

    Raises:
        ConfigError: an override that is not of the form section.key=value.
    """
    changed = copy.deepcopy(dict(values))
    for override in overrides:
        _override(changed, override)
        _check_depth(changed, None)
    return changed


def _check_depth(values: Mapping[str, object], place: Location | None) -> None:
    """Raises a ConfigError if sections are nested too deeply."""
    level: list[dict[str, object] | list[object]] = [dict(values)]
    for _ in range(DEEPEST):
        level = [
            inner
            for each in level
            for inner in (each.values() if isinstance(each, dict) else each)
            if isinstance(inner, dict | list)
        ]
    if level:
        raise ConfigError(
            "sections are nested too deeply.",
            expected=f"at most {DEEPEST}",
            do="correct the brackets, or the key with too many dots",
            place=place,
        )


def _override(values: dict[str, object], override: str) -> None:
    dotted, equals, text = override.partition("=")
    if not equals or not dotted:
        raise ConfigError(
            "an override has the form section.key=value.",
            got=override,
            do="for example --set training.steps=2000",
        )
    *sections, key = dotted.split(".")
    for section in sections:
        if isinstance(values.get(section), bool):  # true: a section with its usual values
            values[section] = {}
        inner = values.setdefault(section, {})
        if not isinstance(inner, dict):
            raise ConfigError(f"{section!r} in {dotted!r} is a value, not a section.", got=override)
        values = inner
    try:
        values[key] = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        values[key] = text
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            f"the value of {dotted[:80]} cannot be read.", got=f"{text[:60]}: {error}"
        ) from error


def load_plugins(named: object, context: RecipeContext, recipe: Path | None) -> None:
    """Loads the plugins of a recipe, which may register what its other keys name.

    Raises:
        ConfigError: a plugin cannot be loaded.
    """
    if not isinstance(named, list | tuple):
        return  # validation reports it
    for file in named:
        if isinstance(file, str | Path):
            try:
                load_plugin(located(file, context))
            except ValueError as error:
                place = Location(recipe) if recipe else None
                raise ConfigError(f"plugins: {error}", got=str(file), place=place) from error


def _with_loaded_plugins(values: dict[str, object], family: type[Config]) -> dict[str, object]:
    """The values, whose `plugins` also name those of `jumok --plugin` that the other values use."""
    named = values.get("plugins", ())
    if not isinstance(named, list | tuple):
        return values  # validation reports it
    known = {Path(str(file)).name for file in named}
    texts = set(_texts_in({key: each for key, each in values.items() if key != "plugins"}))
    further = [
        str(plugin.file).replace("$", "$$")
        for name, plugin in loaded().items()
        if name not in known and any(_uses(texts, family, *each) for each in plugin.registered)
    ]
    return {**values, "plugins": [*named, *further]} if further else values


def _texts_in(value: object) -> Iterator[str]:
    """All texts among the values of a recipe."""
    if isinstance(value, str | Path):
        yield str(value)
    inner = value.values() if isinstance(value, Mapping) else value
    if isinstance(inner, Iterable) and not isinstance(inner, str):
        for each in inner:
            yield from _texts_in(each)


def _uses(texts: set[str], family: type[Config], role: str, name: str) -> bool:
    """Whether a recipe uses what a plugin registered under this name."""
    if role == "kind":
        recipe = KINDS[name].recipe
        return recipe is not None and import_string(recipe) is family
    if role == "format" and any(f".{name}" in Path(text).suffixes for text in texts):
        return True
    return name in texts


def _family(values: Mapping[str, object], recipe: Path | None) -> type[Config]:
    """The sections of the recipe's kind of model."""
    model = values.get("model", {})
    kind = model.get("kind", DEFAULT_KIND) if isinstance(model, dict) else DEFAULT_KIND
    known = families()
    if str(kind) not in known:
        near = difflib.get_close_matches(str(kind), known, n=1)
        raise ConfigError(
            "there is no such kind of model.",
            place=Location(recipe) if recipe else None,
            expected=", ".join(known),
            got=f"model.kind = {kind!r}",
            do=f"did you mean {near[0]!r}?" if near else "choose one of these",
        )
    return known[str(kind)]


def _fault_texts(error: ValidationError, family: type[Config]) -> Iterator[str]:
    for fault in error.errors():
        path = ".".join(_key_path(fault["loc"])) or "recipe"
        message = fault["msg"].removeprefix("Value error, ")
        if fault["type"] == "extra_forbidden":
            near = difflib.get_close_matches(
                str(fault["loc"][-1]), _keys_beside(fault["loc"], family), n=1
            )
            yield f"{path}: unknown key; " + (
                f"did you mean {near[0]!r}?" if near else "no such key"
            )
        elif fault["type"] == "missing" or isinstance(fault["input"], dict):
            yield f"{path}: {message}"
        else:
            yield f"{path}: {message} (got {_shown_value(fault['input'])})"


def _shown_value(value: object) -> str:
    try:
        text = repr(value)
    except ValueError:  # a number with more digits than Python prints
        text = "a number with thousands of digits"
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def _key_path(location: tuple[str | int, ...]) -> Iterator[str]:
    """The location as in the recipe, where a section's kind is not a part of its name."""
    for index, part in enumerate(location):
        if not (index and location[index - 1] == "model" and part in families()):
            yield str(part)


def _keys_beside(location: tuple[str | int, ...], family: type[Config]) -> list[str]:
    """The keys of the section that contains `location`."""
    section: type[Section] = family
    for part in location[:-1]:
        if isinstance(part, int):
            continue
        # If a section has several kinds, the kind is an element of the location.
        inner = section.model_fields.get(str(part))
        sections = list(_sections(inner.annotation)) if inner else [section]
        section = _of_kind(sections, location) if len(sections) > 1 else sections[0]
    return list(section.model_fields)


def _of_kind(sections: list[type[Section]], location: tuple[str | int, ...]) -> type[Section]:
    """The section whose `kind` is in the location."""
    return next(
        section
        for section in sections
        if set(get_args(section.model_fields["kind"].annotation)) & set(location)
    )


def _sections(annotation: object) -> Iterator[type[Section]]:
    """The Sections inside an annotation such as `tuple[CorpusConfig, ...]` or `X | None`."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield annotation
        return
    for part in get_args(annotation):
        yield from _sections(part)
