"""Every lab by name; its claim is in sentences/claims.toml."""

import difflib
from pathlib import Path
from typing import Any

from jumok.errors import ConfigError
from jumok_lectures.entry import Lab, Quote
from jumok_lectures.findings import Findings, Setting
from jumok_lectures.text import Text
from jumok_lectures.texts import Texts, filled


def _lab(entry: dict[str, Any]) -> Lab:
    quotes = ([*quote["at"].split(":"), quote["words"]] for quote in entry["quotes"])
    texts = {key: Text(**entry[key]) for key in ("title", "claim")}
    made: dict[str, Any] = {
        **entry,
        **texts,
        "would_fail": filled(entry["would_fail"], Texts(entry["name"]).bounds),
        "quotes": tuple(Quote(note, int(line), words) for note, line, words in quotes),
    }
    return Lab(**made)


LABS = tuple(map(_lab, Texts("claims").read["lab"]))


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


def run(
    name: str,
    *,
    full: bool = False,
    seed: int = 1,
    seeds: int = 3,
    cache: Path | str = "lab/.cache",
    data: Path | str | None = None,
    encoder: Path | str | None = None,
) -> Findings:
    """Runs a lab, and returns its figures and its verdict; nothing is drawn.

        jumok_lectures.run("scale").outcome

    Args:
        name: a name from the list of `jumok lab`.
        full: run the long form.
        seed: the first seed.
        seeds: the number of seeds; 95 % intervals need at least two.
        cache: the folder for the corpora that labs generate.
        data: the folder of $JUMOK_DATA; None: not given.
        encoder: a pretrained encoder, for the labs that use one.

    Raises:
        ConfigError: the lab does not exist; the error names the nearest one.
    """
    setting = Setting(
        seeds=tuple(range(seed, seed + seeds)),
        full=full,
        cache=Path(cache),
        data=None if data is None else Path(data),
        encoder=None if encoder is None else Path(encoder),
    )
    return find(name).run(setting)
