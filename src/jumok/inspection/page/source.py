"""The folder of the page's source."""

from pathlib import Path


def source_folder() -> Path:
    """The page's source: next to the installed package, or in `web/` of a checkout."""
    package = Path(__file__).resolve().parents[2]
    installed = package / "web"
    return installed if installed.is_dir() else package.parents[1] / "web"
