"""The names of axes: one word for each axis, as in the papers, used in every annotation.

| axis         | what it counts                                                        |
|--------------|-----------------------------------------------------------------------|
| `batch`      | sentences, or hypotheses in beam search                               |
| `heads`      | attention heads                                                       |
| `query`      | positions that attend                                                 |
| `key`        | positions that are attended to                                        |
| `source`     | positions of the encoder's input, padding included                    |
| `target`     | positions of the decoder's input, padding included                    |
| `length`     | positions of one sequence, source or target                           |
| `dim`        | the width of the model, or of one head where `heads` is an axis too   |
| `value_dim`  | the width of one head's value, which may differ from `dim`            |
| `vocabulary` | entries of the vocabulary                                             |
| `channels`   | features of one cell of an image, or the colours of a pixel           |
| `height`     | rows of an image, in cells or in pixels                               |
| `width`      | its columns                                                           |

Annotations are jaxtyping types. They are not checked in production; the tests check them with
beartype, so an annotation cannot become outdated.
"""

from typing import TypeAlias

from jaxtyping import Bool, Float, Int, Shaped, UInt8
from torch import Tensor

Tokens: TypeAlias = Int[Tensor, "batch length"]
States: TypeAlias = Float[Tensor, "batch length dim"]
Allowed: TypeAlias = Bool[Tensor, "batch source"]
Logits: TypeAlias = Float[Tensor, "batch length vocabulary"]

__all__ = [
    "Allowed",
    "Bool",
    "Float",
    "Int",
    "Logits",
    "Shaped",
    "States",
    "Tensor",
    "Tokens",
    "UInt8",
]
