"""What a folder or a file of others holds, before it is known to be a model of some family.

Imports no torch: whether a path is a bundle or a model of others is asked wherever models are read.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jumok.interop.containers import Container


@dataclass(frozen=True)
class Source:
    """A model of others.

    Attributes:
        path: the folder or file that was given.
        kind: what says its family: model_type of transformers, or a layout's own name.
        named: the kind in words, for messages.
        config: its settings as they are stored.
        config_file: where they are stored.
        weights: opens its tensors.
    """

    path: Path
    kind: str
    named: str
    config: Mapping[str, object]
    config_file: Path
    weights: Callable[[], "Container"]

    @property
    def folder(self) -> Path:
        """Where its other files are."""
        return self.path if self.path.is_dir() else self.path.parent


@dataclass(frozen=True)
class SourceLayout:
    """How models of others lie in a folder or file.

    Attributes:
        holds: what has to be there, in words.
        detects: whether a path holds such a model.
        read: reads its settings; a BundleError if they are damaged.
    """

    holds: str
    detects: Callable[[Path], bool]
    read: Callable[[Path], Source]
