"""Dataclasses of options as parameters of typer commands."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass, replace
from typing import Annotated, Any, get_args, get_origin

import typer

from jumok.decoding.options import DecodingOptions
from jumok.options import OptionField, options_of


@dataclass(frozen=True)
class OptionGroup:
    """A parameter of a command that is a dataclass of options.

    Attributes:
        default: has the defaults of this command.
        fields: the options that this command has.
    """

    default: Any
    fields: list[OptionField]

    def made(self, given: dict[str, Any]) -> Any:
        """The dataclass, with values that are removed from `given`."""
        values = {each.name: given.pop(each.name) for each in self.fields}
        if isinstance(self.default, DecodingOptions):
            return self.default.changed(values)
        return replace(self.default, **values)


class Without:
    """In the annotation of a group: options, or panels of them, that a command does not have."""

    def __init__(self, *names: str) -> None:
        self.names = frozenset(names)


def flat(verb: Callable[..., object]) -> Callable[..., object]:
    """The command with one parameter for each option of its groups, as typer needs it.

    A group is a parameter `Annotated[Kind, Kind(...), Without(...)]`; the instance has the
    defaults of this command.
    """
    signature = inspect.signature(verb, eval_str=True)
    groups: dict[str, OptionGroup] = {}
    parameters: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        group = _group(parameter.annotation)
        if group is None:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        groups[name] = group
        parameters += [_parameter(group, each) for each in group.fields]

    @functools.wraps(verb)
    def command(**given: Any) -> object:
        made = {name: group.made(given) for name, group in groups.items()}
        return verb(**{**given, **made})

    command.__dict__["__signature__"] = signature.replace(parameters=parameters)
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    return command


def _group(annotation: Any) -> OptionGroup | None:
    """The group of this annotation; None: it is a single option or argument."""
    if get_origin(annotation) is not Annotated:
        return None
    kind, *known = get_args(annotation)
    if not isinstance(kind, type) or not is_dataclass(kind):
        return None
    default = next(each for each in known if isinstance(each, kind))
    without = {name for each in known if isinstance(each, Without) for name in each.names}
    options = options_of(type(default))
    fields = [each for each in options.values() if not {each.name, each.option.panel} & without]
    return OptionGroup(default, fields)


def _parameter(group: OptionGroup, known: OptionField) -> inspect.Parameter:
    return inspect.Parameter(
        known.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=getattr(group.default, known.name),
        annotation=Annotated[known.kind, typer_option(known)],
    )


def typer_option(known: OptionField, help: str | None = None) -> Any:
    """The option as typer has it, perhaps with another help."""
    option = known.option
    whole = int in {known.kind, *get_args(known.kind)}

    def limit(value: float | None) -> float | None:
        return value if value is None or whole else float(value)

    return typer.Option(
        *(option.names or (f"--{known.name.strip('_').replace('_', '-')}",)),
        help=help or option.help,
        min=limit(option.minimum),
        max=limit(option.maximum),
        rich_help_panel=option.panel,
        metavar=option.metavar,
    )
