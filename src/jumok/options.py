"""Options: fields of dataclasses that have their help and their limits.

The options of commands, the fields of requests to the server and the tables of the documents are
made from them.
"""

import re
from dataclasses import dataclass, field, fields
from functools import cached_property
from math import inf
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from jumok.errors import ConfigError

KEY = "option"
FLAG = re.compile(r"--([a-z][a-z-]+)")


@dataclass(frozen=True)
class Option:
    """What is known of an option besides its name, its type and its default.

    Attributes:
        help: one sentence.
        names: on the command line, if they are not "--" and the field's name: "--beam", "-b".
        minimum, maximum: the limits of a number.
        above: a limit that is itself out of range.
        panel: the heading in `--help`.
        metavar: the name of the value in `--help`.
        advice: what to do about a value out of range.
    """

    help: str
    names: tuple[str, ...] = ()
    minimum: float | None = None
    above: float | None = None
    maximum: float | None = None
    panel: str | None = None
    metavar: str | None = None
    advice: str | None = None


def option(
    default: Any,
    help: str,
    *names: str,
    minimum: float | None = None,
    above: float | None = None,
    maximum: float | None = None,
    panel: str | None = None,
    metavar: str | None = None,
    advice: str | None = None,
) -> Any:
    """The field of a dataclass that is an option; see `Option`."""
    known = Option(help, names, minimum, above, maximum, panel, metavar, advice)
    return field(default=default, metadata={KEY: known})


@dataclass(frozen=True)
class OptionField:
    """An option of a dataclass.

    Attributes:
        kind: its type.
    """

    name: str
    kind: Any
    default: Any
    option: Option

    @cached_property
    def optional(self) -> bool:
        """Whether None is a value."""
        return NoneType in get_args(self.kind)

    @cached_property
    def choices(self) -> tuple[str, ...]:
        """The values of a Literal; others have none."""
        kinds = get_args(self.kind) if self.optional else (self.kind,)
        return next((get_args(kind) for kind in kinds if get_origin(kind) is Literal), ())

    @cached_property
    def is_number(self) -> bool:
        """Whether its values, except None, are numbers."""
        return bool({int, float} & {self.kind, *get_args(self.kind)})

    @property
    def range(self) -> str:
        """The values, in words: "0 < top_p <= 1, or None"."""
        known = self.option
        below = "" if known.minimum is None else f"{known.minimum} <= "
        below = f"{known.above} < " if known.above is not None else below
        text = f"{below}{self.name}" + ("" if known.maximum is None else f" <= {known.maximum}")
        if known.maximum is None and below:  # "beam >= 1" is more usual than "1 <= beam"
            text = f"{self.name} >{'=' * ('=' in below)} {below.split(' ')[0]}"
        choices = ("True", "False") if self.kind is bool else self.choices
        text = " or ".join(choices) or text
        return f"{text}, or None" if self.optional else text

    def check(self, value: Any) -> None:
        """Raises ConfigError if this is no value of the option."""
        if value is None and self.optional:
            return
        known = self.option
        if self.choices:
            right = value in self.choices
        elif self.is_number:  # NaN is in no range
            right = (
                (known.minimum is None or known.minimum <= value)
                and (known.maximum is None or value <= known.maximum)
                and (known.above is None or known.above < value)
                and -inf < value < inf
            )
        else:
            return
        if not right:
            raise ConfigError(
                f"{self.name} is out of range.",
                expected=self.range,
                got=str(value),
                do=known.advice,
            )


def options_of(kind: type[Any]) -> dict[str, OptionField]:
    """The options of a dataclass by their names, in its order."""
    if kind not in _OPTIONS:
        _OPTIONS[kind] = {
            each.name: OptionField(each.name, each.type, each.default, each.metadata[KEY])
            for each in fields(kind)
            if KEY in each.metadata
        }
    return _OPTIONS[kind]


_OPTIONS: dict[type[Any], dict[str, OptionField]] = {}


def check_options(given: object) -> None:
    """Checks the values of an object's options.

    Raises:
        ConfigError: one is out of range.
    """
    for name, each in options_of(type(given)).items():
        each.check(getattr(given, name))


def documented(kind: type[Any]) -> type[Any]:
    """A decorator that adds the options to the docstring of their dataclass."""
    lines = [f"        {name}: {in_python(each)}" for name, each in options_of(kind).items()]
    kind.__doc__ = "\n".join([f"{kind.__doc__}", "", "    Attributes:", *lines])
    return kind


def in_python(known: OptionField) -> str:
    """The help of an option, with other options by the names of their fields."""
    return FLAG.sub(lambda found: f"`{found[1].replace('-', '_')}`", known.option.help)
