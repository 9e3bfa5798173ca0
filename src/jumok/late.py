"""Imports that happen when a module is first used, not when the file that names it is read.

    with late_imports():
        from jumok.systems import catalog

    with late_imports("reading TMX files", extra="formats"):
        from lxml import etree

So `jumok --help` does not wait for torch, and an optional package may be missing until a command
needs it. To linters and type checkers these are plain imports.
Source: the idea is Mercurial's `demandimport`; Python 3.15 has it as `lazy import` (PEP 810).
"""

import builtins
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from threading import Lock, get_ident
from types import ModuleType, SimpleNamespace

from jumok.errors import MissingExtraError

# Two threads may read two files at once; each block has to end with the import it began with.
_ONE_AT_A_TIME = Lock()


class LateModule(ModuleType):
    """A module that is imported when one of its attributes is read.

    Args:
        name: its full name, "numpy" or "jumok.systems.catalog".
        purpose: what it is needed for, for the message if it is not installed.
        extra: the extra of jumok that installs it; "": jumok always has it.
    """

    def __init__(self, name: str, purpose: str, extra: str) -> None:
        super().__init__(name)
        self._purpose, self._extra = purpose, extra

    def __getattr__(self, attribute: str) -> object:
        return getattr(self.imported(), attribute)

    def imported(self) -> ModuleType:
        """The module itself.

        Raises:
            MissingExtraError: it belongs to an extra that is not installed.
        """
        try:
            return import_module(self.__name__)
        except ImportError as error:
            if not self._extra:
                raise
            raise MissingExtraError(self._purpose, self._extra) from error


@contextmanager
def late_imports(purpose: str = "", extra: str = "") -> Iterator[None]:
    """Within it, `import a`, `import a as b` and `from a import module` give late modules.

    Only modules: only importing `a` would show that the `b` of `from a import b` is a function.
    A test checks that each is a module (tests/test_imports.py).

    Args:
        purpose: what the modules are needed for: "reading TMX files".
        extra: the extra of jumok that installs them.
    """
    thread = get_ident()

    def late(
        name: str,
        given_globals: object = None,
        given_locals: object = None,
        names: Sequence[str] | None = (),
        level: int = 0,
    ) -> object:
        if get_ident() != thread:  # another thread imports something meanwhile
            return at_once(name, given_globals, given_locals, names, level)  # type: ignore[arg-type]
        if level or ("." in name and not names):
            raise ImportError(f"a late import of {name} is written `from a.b import c`")
        if not names:
            return LateModule(name, purpose, extra)
        modules = {each: LateModule(f"{name}.{each}", purpose, extra) for each in names}
        return SimpleNamespace(**modules)

    with _ONE_AT_A_TIME:
        at_once = builtins.__import__
        builtins.__import__ = late  # type: ignore[assignment]  # the statement takes any object
        try:
            yield
        finally:
            builtins.__import__ = at_once
