"""Images of the small world: shapes and simple things in relations, with captions and boxes."""

from smallworld.scenes.scene import SPLITS, scenes
from smallworld.scenes.writing import write

__all__ = ["SPLITS", "scenes", "write"]
