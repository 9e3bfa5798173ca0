"""The environment variables that jumok reads: this module and the command line are their readers.

docs/cli.md has the same table for people, and a test holds the two together.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from jumok.errors import ConfigError

MOST_THREADS = 1024

VARIABLES = {
    "JUMOK_DATA": "the folder of the corpora that recipes and labs name as $JUMOK_DATA",
    "JUMOK_RUNS": "the folder of all runs, where --runs is not given; runs by default",
    "JUMOK_CACHE": "where compiled kernels are kept; XDG_CACHE_HOME/jumok or ~/.cache/jumok",
    "JUMOK_THREADS": "processor cores to use, where --threads is not given; all by default",
    "JUMOK_LANG": "the language of `jumok lab`, en or ko, where --lang is not given",
    "XDG_CACHE_HOME": "the folder of all programs' caches",
    "OMP_WAIT_POLICY": "PASSIVE, unless it is set: how OpenMP's threads wait for each other",
    "OMP_NUM_THREADS": "PyTorch's own; JUMOK_THREADS goes before it",
}
"""Each with what it says."""


def recipe_variables() -> Mapping[str, str]:
    """What `$NAME` in a recipe's path stands for: the environment, and runs for JUMOK_RUNS."""
    return {**os.environ, "JUMOK_RUNS": os.environ.get("JUMOK_RUNS") or "runs"}


def cache_folder() -> Path:
    """Where what can be made again is kept. (By the XDG Base Directory Specification 0.8.)"""
    if given := os.environ.get("JUMOK_CACHE"):
        return Path(given)
    common = os.environ.get("XDG_CACHE_HOME", "")
    # By the specification a relative path is invalid, and is ignored.
    home = Path(common) if os.path.isabs(common) else Path.home() / ".cache"
    return home / "jumok"


def threads() -> int | None:
    """How many processor cores JUMOK_THREADS allows; None: it is not set.

    Raises:
        ConfigError: it is not a number, or too large.
    """
    given = os.environ.get("JUMOK_THREADS")
    if not given:
        return None
    if not (given.isascii() and given.isdigit() and len(given) < 6):
        raise ConfigError(
            "the environment variable JUMOK_THREADS is not a number of cores.",
            expected=f"a number from 1 to {MOST_THREADS}; 0 takes all cores",
            got=given,
            do="export JUMOK_THREADS=2, or unset it",
        )
    if int(given) > MOST_THREADS:
        raise ConfigError(
            "the environment variable JUMOK_THREADS names too many cores.",
            expected=f"at most {MOST_THREADS}",
            got=given,
        )
    return int(given) or None
