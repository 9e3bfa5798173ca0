"""The legend of axes: one word an axis, the papers' words, used in every annotation.

| axis         | what it counts                                                        |
|--------------|-----------------------------------------------------------------------|
| `batch`      | sentences, or hypotheses while a beam is searched                     |
| `heads`      | attention heads                                                       |
| `query`      | positions that look                                                   |
| `key`        | positions that are looked at                                          |
| `source`     | positions of the encoder's input, padding included                    |
| `target`     | positions of the decoder's input, padding included                    |
| `length`     | positions of one sequence, where source and target do not matter      |
| `dim`        | the width of the model, or of one head where `heads` stands beside it |
| `value_dim`  | the width of one head's value, which may differ from `dim`            |
| `vocabulary` | entries of the vocabulary                                             |
| `channels`   | states of one cell of a picture, or the colours of a pixel            |
| `height`     | rows of a picture, in cells or in pixels                              |
| `width`      | its columns                                                           |

Annotations are jaxtyping types. Nothing checks them in production; the tests execute them with
beartype, so an annotation cannot go stale.
"""

from typing import TypeAlias

from jaxtyping import Bool, Float, Int, UInt8
from torch import Tensor

Tokens: TypeAlias = Int[Tensor, "batch length"]
States: TypeAlias = Float[Tensor, "batch length dim"]
Allowed: TypeAlias = Bool[Tensor, "batch source"]
Logits: TypeAlias = Float[Tensor, "batch length vocabulary"]

__all__ = ["Allowed", "Bool", "Float", "Int", "Logits", "States", "Tensor", "Tokens", "UInt8"]
