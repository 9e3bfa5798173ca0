"""One result of `jumok doctor`."""

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "note", "broken"]


@dataclass(frozen=True)
class Check:
    """A line of the table.

    Attributes:
        state: "note": something is slower or missing; "broken": jumok does not work.
        do: what to do about it; "": nothing.
    """

    name: str
    state: State
    found: str
    do: str = ""
