"""Images of the small world: shapes and simple things in relations, with captions and boxes."""

from jumok.smallworld.scenes.scene import SPLITS, scenes
from jumok.smallworld.scenes.writing import write

__all__ = ["SPLITS", "scenes", "write"]
