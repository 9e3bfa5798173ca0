"""The environment variables of jumok, which only this module and the command line read; and named
pipes.

docs/cli.md has the same table; a test compares the two.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from jumok.errors import ConfigError

MOST_THREADS = 1024

Language = Literal["en", "ko"]
LANGUAGES: tuple[Language, ...] = ("en", "ko")
"""Of help, errors, pages, labs and the course."""

VARIABLES = {
    "JUMOK_DATA": "the folder of the corpora that recipes and labs name as $JUMOK_DATA",
    "JUMOK_RUNS": "the folder of all runs, unless --runs is given (default: runs)",
    "JUMOK_CACHE": "compiled code and unpacked models (default: XDG_CACHE_HOME/jumok or "
    "~/.cache/jumok)",
    "JUMOK_CPU": "the level of processor whose compiled code is used (default: the fastest here)",
    "JUMOK_THREADS": "processor cores to use, unless --threads is given (default: all)",
    "JUMOK_PLUGINS": "plugins to load, unless --plugin is given (separated like PATH)",
    "JUMOK_LANG": "the language of help, errors, labs and the course, en or ko",
    "LC_ALL": "the system's language; ko... makes all of this Korean without JUMOK_LANG",
    "LC_MESSAGES": "the same, after LC_ALL",
    "LANG": "the same, after LC_MESSAGES",
    "JUMOK_LEASH": "set by `jumok train --processes` and `jumok sweep`: ties the "
    "processes that they start to their own life",
    "CI": "set in continuous integration: no browser is opened",
    "SSH_CONNECTION": "set over ssh: no browser is opened",
    "SSH_TTY": "set over ssh: no browser is opened",
    "XDG_CACHE_HOME": "the folder of all programs' caches",
    "OMP_WAIT_POLICY": "how OpenMP's threads wait for each other (default: PASSIVE)",
    "PYDANTIC_DISABLE_PLUGINS": "which plugins pydantic leaves out (default: __all__)",
    "OMP_NUM_THREADS": "PyTorch's own variable; JUMOK_THREADS takes precedence",
    "PROMETHEUS_MULTIPROC_DIR": "set by `jumok serve --processes`: where they sum their metrics",
    "CUDA_VISIBLE_DEVICES": "the graphics cards to use; `jumok sweep` gives each run one of them",
    "RAY_ADDRESS": "the cluster of `jumok serve --ray` (default: one that is started here)",
    "RAY_SERVE_HTTP_PROXY_CALLBACK_IMPORT_PATH": "set by `jumok serve --ray`: requests of replicas "
    "that died are computed again",
    "RAY_USAGE_STATS_ENABLED": "whether Ray reports its use to its authors (default: 0)",
}
"""Each variable with its meaning."""


def chosen_language() -> Language | None:
    """JUMOK_LANG; None where it is not set."""
    given = os.environ.get("JUMOK_LANG")
    return ("ko" if given == "ko" else "en") if given else None


def language() -> Language:
    """The language of help and errors: JUMOK_LANG, or else the system's."""
    if given := chosen_language():
        return given
    system = os.environ.get("LC_ALL") or os.environ.get("LC_MESSAGES") or os.environ.get("LANG")
    return "ko" if (system or "").startswith("ko") else "en"


def recipe_variables() -> Mapping[str, str]:
    """The values of `$NAME` in a recipe's paths: the environment, with JUMOK_RUNS = runs by
    default.
    """
    return {**os.environ, "JUMOK_RUNS": os.environ.get("JUMOK_RUNS") or "runs"}


def cache_folder() -> Path:
    """The cache folder. (By the XDG Base Directory Specification 0.8.)"""
    if given := os.environ.get("JUMOK_CACHE"):
        return Path(given)
    common = os.environ.get("XDG_CACHE_HOME", "")
    # By the specification a relative path is invalid, and is ignored.
    home = Path(common) if os.path.isabs(common) else Path.home() / ".cache"
    return home / "jumok"


def cpu() -> str | None:
    """The level of processor in JUMOK_CPU; None: it is not set.

    `kernels/libraries/levels.py` checks it.
    """
    return os.environ.get("JUMOK_CPU") or None


def with_variables(more: Mapping[str, str]) -> dict[str, str]:
    """The environment of this process with some variables more, for a process that it starts."""
    return {**os.environ, **more}


def threads() -> int | None:
    """The number of processor cores in JUMOK_THREADS; None: it is not set, or 0.

    Raises:
        ConfigError: it is not a number, or too large.
    """
    given = os.environ.get("JUMOK_THREADS")
    if not given:
        return None
    if not (given.isascii() and given.isdigit() and len(given) < 6):
        raise ConfigError(
            "the environment variable JUMOK_THREADS is not a number of cores.",
            expected=f"a number from 1 to {MOST_THREADS}; 0 = all cores",
            got=given,
            do="export JUMOK_THREADS=2, or unset it",
        )
    if int(given) > MOST_THREADS:
        raise ConfigError(
            "the environment variable JUMOK_THREADS is too large.",
            expected=f"at most {MOST_THREADS}",
            got=given,
        )
    return int(given) or None


def give_torch_threads(number: int) -> None:
    """Tells PyTorch, which is not imported yet, how many threads compute."""
    os.environ["OMP_NUM_THREADS"] = str(number)


def share_metrics(folder: Path) -> None:
    """Tells prometheus-client, in the processes that are started from now on, where they sum their
    metrics."""
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder)


def cluster_named(middleware: str) -> bool:
    """Whether RAY_ADDRESS names a cluster of Ray.

    Args:
        middleware: "module.function" that a cluster which this process starts puts around its
            proxies.
    """
    os.environ["RAY_SERVE_HTTP_PROXY_CALLBACK_IMPORT_PATH"] = middleware
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    return bool(os.environ.get("RAY_ADDRESS"))


def visible_cards() -> list[str] | None:
    """The graphics cards in CUDA_VISIBLE_DEVICES; None: it is not set."""
    given = os.environ.get("CUDA_VISIBLE_DEVICES")
    return None if given is None else [card for card in given.split(",") if card.strip()]


def is_named_pipe(file: Path) -> bool:
    """Whether a file is a pipe with a name, and not one of a shell, as in <(ls)."""
    try:
        return file.is_fifo() and not str(file).startswith("/dev/fd/")
    except (OSError, ValueError):  # not a valid name
        return False


def let_threads_sleep() -> None:
    """Lets OpenMP's threads, which wait for each other at every product, sleep instead of spin.

    Spinning takes many times as long next to any other work; on an idle machine both are as fast.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
