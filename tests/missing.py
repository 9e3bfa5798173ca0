"""Takes a package away for a test, as if it were not installed."""

import sys

import pytest


def uninstall(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    """Lets every import of the package, and of what lies in it, fail."""
    loaded = [name for name in sys.modules if name.startswith(f"{package}.")]
    for name in (package, *loaded):
        monkeypatch.setitem(sys.modules, name, None)
