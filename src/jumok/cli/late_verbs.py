"""Lazily imported commands, of jumok and of entry points (docs/extending.md)."""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from jumok.cli.language import translated
from jumok.cli.options import flat
from jumok.environment import is_named_pipe
from jumok.errors import ConfigError
from jumok.places import import_string

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ATTACHED = "jumok.verbs"
"""The group of entry points that are commands: their name is the entry point's."""


class AnnouncedCommand(TyperCommand):
    """A command that reports on stderr the pipes that it may wait for."""

    def invoke(self, ctx: Any) -> object:
        """Runs the command."""
        for value in ctx.params.values():
            for file in value if isinstance(value, list | tuple) else [value]:
                if isinstance(file, Path) and is_named_pipe(file):
                    typer.echo(f"{file} is a pipe: jumok waits for its other end.", err=True)
        return super().invoke(ctx)


class LateVerb(NamedTuple):
    """A command of jumok, or a group of commands.

    Attributes:
        place: "module:name" of its function, or of its `typer.Typer`.
        panel: its heading in `--help`.
    """

    place: str
    panel: str

    def command(self, name: str) -> object:
        """The command as typer runs it; its file is imported."""
        loaded, holder = import_string(self.place), typer.Typer(rich_markup_mode="rich")
        if isinstance(loaded, typer.Typer):
            holder.add_typer(loaded, name=name, rich_help_panel=self.panel)
        else:
            holder.command(name, cls=AnnouncedCommand, rich_help_panel=self.panel)(flat(loaded))
        return typer.main.get_group(holder).commands[name]


@cache
def attached(group: str) -> Mapping[str, "EntryPoint"]:
    """The entry points of all installed packages in a group, by their names."""
    from importlib import metadata

    return {entry.name: entry for entry in metadata.entry_points(group=group)}


def load_attached(group: str, name: str) -> Any:
    """Imports what an entry point names.

    Raises:
        ConfigError: no package has it, or it cannot be imported.
    """
    entry = attached(group).get(name)
    if entry is None:
        raise ConfigError(
            f"no installed package has {name!r}.",
            expected=f"an entry point of the group {group}",
            do="install jumok as a package: pip install jumok, or pip install -e . in its sources",
        )
    try:
        return entry.load()
    except (ImportError, AttributeError) as error:
        package = entry.module.partition(".")[0]
        raise ConfigError(
            f"{name!r} of the package {package} cannot be loaded.",
            got=str(error),
            do="install that package again, or uninstall it",
        ) from error


def attached_command(name: str) -> object:
    """The command of another package: the only one of its `typer.Typer`, or all as a group.

    Raises:
        KeyError: no package has a command of this name.
        ConfigError: as `load_attached`.
    """
    if name not in attached(ATTACHED):
        raise KeyError(name)
    app = load_attached(ATTACHED, name)
    if not isinstance(app, typer.Typer):
        raise ConfigError(
            f"the command {name!r} of another package cannot be used.",
            expected=f"a typer.Typer as the entry point of the group {ATTACHED}",
            got=type(app).__name__,
        )
    group = typer.main.get_group(app)
    commands = list(group.commands.values())
    command = group if app.registered_callback or len(commands) > 1 else commands[0]
    command.name = name
    if command is group:
        command.rich_help_panel = app.rich_help_panel
    return command


class LateCommands(Mapping[str, object]):
    """Commands by their names; each is made when it is first read.

    Args:
        verbs: jumok's own commands, which take precedence over those of other packages.
    """

    def __init__(self, verbs: Mapping[str, LateVerb], made: Mapping[str, object]) -> None:
        self._verbs, self._made = verbs, dict(made)

    def __getitem__(self, name: str) -> object:
        if name not in self._made:
            own = self._verbs.get(name)
            made = own.command(name) if own else attached_command(name)
            self._made[name] = translated(made, name)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._verbs, **attached(ATTACHED), **self._made})

    def __len__(self) -> int:
        return sum(1 for _ in self)


class LateGroup(TyperGroup):
    """A group of lazily imported commands.

    Attributes:
        verbs: these commands, in the order of `--help`.
    """

    verbs: ClassVar[Mapping[str, LateVerb]] = {}

    @property  # type: ignore[override]  # typer only reads it
    def commands(self) -> Mapping[str, object]:
        """All commands by their names, with those that typer was given."""
        return self._commands

    @commands.setter
    def commands(self, given: Mapping[str, object]) -> None:
        self._commands = LateCommands(self.verbs, given)
