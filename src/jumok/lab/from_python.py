"""`jumok.lab.run`: a lab from Python."""

from pathlib import Path

from jumok.lab.catalog import find
from jumok.lab.findings import Findings, Setting


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

        jumok.lab.run("scale").outcome

    Args:
        name: of the lab; `jumok lab` lists them.
        full: the long form.
        seed: the first seed.
        seeds: how many there are; 95 % intervals need two at least.
        cache: the folder of the corpora that labs write for themselves.
        data: the folder that $JUMOK_DATA names for the command line; None: not given.
        encoder: a pretrained encoder, for the labs that read one.

    Raises:
        ConfigError: there is no such lab; the nearest one is named.
    """
    setting = Setting(
        seeds=tuple(range(seed, seed + seeds)),
        full=full,
        cache=Path(cache),
        data=None if data is None else Path(data),
        encoder=None if encoder is None else Path(encoder),
    )
    return find(name).run(setting)
