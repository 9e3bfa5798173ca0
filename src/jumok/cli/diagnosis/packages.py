"""Checks of the installed packages and extras."""

import re
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version

from jumok.cli.diagnosis.check import Check
from jumok.environment import threads
from jumok.errors import ConfigError

EXTRAS = {
    "clean": "data.clean: the language of each sentence",
    "documents": "translating HTML, Markdown, DOCX and subtitles",
    "formats": "reading TMX, PO, Parquet and .zst",
    "huggingface": "BERT folders of Hugging Face",
    "images": "captions and classes of image files",
    "ko": "Korean BLEU by morphemes",
    "lab": "the figures of jumok lab",
    "meteor": "METEOR (needs Java)",
    "notebook": "the page as a widget",
    "plot": "figures: jumok plot, look --figure",
    "prepare": "jumok prepare",
    "ray": "jumok serve on several machines",
    "remote": "prepared corpora at addresses",
    "research": "traces as tables of pandas",
    "serve": "jumok serve",
    "sweep": "jumok sweep",
    "track": "TensorBoard",
    "vectors": "word vectors of gensim",
}
"""Each extra with what it brings."""

_PACKAGE = re.compile(r"[\w.-]+")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([\w-]+)['\"]\s*$")


def required() -> dict[str, list[str]]:
    """The packages of each extra; of "" those that jumok always needs."""
    names: dict[str, list[str]] = {"": []}
    for line in requires("jumok") or ():
        package, extra = _PACKAGE.match(line), _EXTRA.search(line)
        if package is not None:
            names.setdefault(extra[1] if extra else "", []).append(package[0])
    return names


def missing(packages: list[str]) -> list[str]:
    """Those that are not installed."""
    return [each for each in packages if _version(each) is None]


def package_checks() -> Iterator[Check]:
    """Python and jumok, PyTorch, other packages, and extras."""
    here = f"Python {sys.version.split()[0]}, {sys.prefix}"
    packages = required()
    absent = missing(packages.pop(""))
    if absent:
        do = f"pip install {' '.join(absent)}"
        yield Check("packages", "broken", f"missing: {', '.join(absent)}; {here}", do)
    else:
        yield Check("packages", "ok", here)
    yield from torch_checks()
    lacking = [name for name in EXTRAS if name not in packages or missing(packages[name])]
    there = [name for name in EXTRAS if name not in lacking]
    yield Check("extras", "ok", f"installed: {', '.join(there) or 'none'}")
    for name in lacking:
        yield Check(
            f"[{name}]", "note", f"not installed: {EXTRAS[name]}", f'pip install "jumok[{name}]"'
        )


def torch_checks() -> Iterator[Check]:
    """PyTorch, its threads, and a GPU."""
    try:
        import torch

        name, cores, cuda = torch.__version__, torch.get_num_threads(), torch.cuda.is_available()
        gpu = torch.cuda.get_device_name() if cuda else ""
        apple = torch.backends.mps.is_available()
    except (ImportError, OSError, RuntimeError) as error:
        yield Check(
            "PyTorch",
            "broken",
            f"cannot be imported: {error}",
            "pip install --force-reinstall torch",
        )
        return
    try:
        asked = threads()
    except ConfigError as error:
        yield Check("PyTorch", "broken", f"{name}; {error.what}", error.do or "")
        return
    words = f"{name}, {asked or cores} threads" + (" (JUMOK_THREADS)" if asked else "")
    yield Check("PyTorch", "ok", words)
    yield Check(
        "GPU", "ok", gpu or ("Apple's, by --device mps" if apple else "none: runs on the CPU")
    )


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
