"""The place of an attention module in its model: what attends to what, and in which layer.

A module gets its role where the model is built; nothing is derived from its path.
"""

from dataclasses import dataclass
from typing import Literal

Part = Literal["encoder", "decoder", "cross", "image"]
"""What attends to what:

encoder: the positions of an input to one another;
decoder: the positions of an output to themselves and to those before;
cross: the positions of an output to those of the input;
image: the cells or pixels of an image to one another.
"""


@dataclass(frozen=True)
class Role:
    """The role of an attention module.

    Attributes:
        layer: the number of its layer among those of its part, from 0; of attention over pixels
            the number of the stage of convolutions that it follows.
    """

    part: Part
    layer: int = 0
