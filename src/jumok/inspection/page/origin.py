"""The Python code that repeats how a page was made."""

from collections.abc import Sequence
from dataclasses import dataclass

from jumok.decoding import DecodingOptions


@dataclass(frozen=True)
class PageOrigin:
    """What `jumok look` was given.

    Attributes:
        models: the folders of the model, or of an ensemble, as they were named.
        given: the path of an image, or of a saved trace. None: a text, which the trace has.
        options: how the model searched; None: as it does by default.
        beside: the folder of the model on the other side; None: the same model, or no other side.
    """

    models: Sequence[str]
    given: str | None = None
    saved: bool = False
    target: str | None = None
    options: DecodingOptions | None = None
    beside: str | None = None

    def payload(self) -> dict[str, object]:
        """The same as plain JSON, with the options as Python code."""
        return {
            "models": list(self.models),
            "given": self.given,
            "saved": self.saved,
            "target": self.target,
            "options": None if self.options is None else options_code(self.options),
            "beside": self.beside,
        }


def options_code(options: DecodingOptions) -> str:
    """The options as Python code, those that differ from the usual ones."""
    differing = [f"{name}={value!r}" for name, value in options.differing.items()]
    return f"jumok.DecodingOptions({', '.join(differing)})"
