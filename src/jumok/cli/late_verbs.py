"""Commands whose files are imported when they are asked for: one does not wait for the others."""

from collections.abc import Iterator, Mapping
from typing import ClassVar, NamedTuple

import typer
from typer.core import TyperGroup

from jumok.places import resolve


class LateVerb(NamedTuple):
    """A command, or a group of commands.

    Attributes:
        place: "module:name" of its function, or of its `typer.Typer`.
        panel: the heading under which `--help` lists it.
    """

    place: str
    panel: str

    def command(self, name: str) -> object:
        """The command as typer runs it; its file is imported."""
        found, holder = resolve(self.place), typer.Typer(rich_markup_mode="rich")
        if isinstance(found, typer.Typer):
            holder.add_typer(found, name=name, rich_help_panel=self.panel)
        else:
            holder.command(name, rich_help_panel=self.panel)(found)
        return typer.main.get_group(holder).commands[name]


class LateCommands(Mapping[str, object]):
    """Commands by their names; each is made when it is first read.

    Args:
        verbs: the commands to be made.
        made: further commands.
    """

    def __init__(self, verbs: Mapping[str, LateVerb], made: Mapping[str, object]) -> None:
        self._verbs, self._made = verbs, dict(made)

    def __getitem__(self, name: str) -> object:
        if name not in self._made:
            self._made[name] = self._verbs[name].command(name)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._verbs, **self._made})

    def __len__(self) -> int:
        return len({**self._verbs, **self._made})


class LateGroup(TyperGroup):
    """A group of commands that are given by their places in the code.

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
