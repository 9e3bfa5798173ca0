"""Every lab by name; its module is imported when it runs."""

import difflib

from jumok.errors import ConfigError
from jumok.lab.claims.learning import LEARNING
from jumok.lab.claims.parts import PARTS
from jumok.lab.claims.pictures import PICTURES
from jumok.lab.claims.readings import READINGS
from jumok.lab.claims.scores import SCORES
from jumok.lab.claims.sequences import SEQUENCES
from jumok.lab.claims.vectors import VECTORS
from jumok.lab.entry import Lab

LABS = (*SCORES, *PARTS, *SEQUENCES, *READINGS, *PICTURES, *VECTORS, *LEARNING)


def find(name: str) -> Lab:
    """The lab of this name.

    Raises:
        ConfigError: there is none; the nearest is named.
    """
    names = [lab.name for lab in LABS]
    if name not in names:
        near = difflib.get_close_matches(name, names, n=1, cutoff=0.7)
        raise ConfigError(
            "there is no such lab.",
            expected=", ".join(names),
            got=name,
            do=f"did you mean {near[0]!r}?" if near else "`jumok lab` lists them",
        )
    return LABS[names.index(name)]
