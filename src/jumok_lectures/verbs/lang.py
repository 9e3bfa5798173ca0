"""The option --lang of `jumok lab` and `jumok course`."""

from typing import Annotated

import typer

from jumok.environment import Language, language

Lang = Annotated[
    Language,
    typer.Option(
        help="Language of the output (default: the system's language).",
        envvar="JUMOK_LANG",
        show_default=False,
    ),
]
USUAL = language()
