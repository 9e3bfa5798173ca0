"""Rotary positions in config.json: `rope_parameters` since transformers 5, `rope_theta` and
`rope_scaling` before.
"""

import math
from typing import Any, Literal, Self

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, model_validator

from jumok.config.section import Count


class RopeParameters(BaseModel):
    """The wavelengths. Kinds whose angles depend on a text's length ("dynamic", "longrope") are
    refused.
    """

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    rope_type: Literal["default", "linear", "llama3", "yarn"] = Field(
        default="default", validation_alias=AliasChoices("rope_type", "type")
    )
    rope_theta: float | None = Field(default=None, gt=1.0)
    partial_rotary_factor: float = Field(default=1.0, gt=0.0, le=1.0)
    factor: float | None = Field(default=None, ge=1.0)
    original_max_position_embeddings: Count | None = None
    low_freq_factor: float | None = None
    high_freq_factor: float | None = None
    beta_fast: float | None = None
    beta_slow: float | None = None
    attention_factor: float | None = None
    mscale: float | None = None
    mscale_all_dim: float | None = None
    truncate: Literal[True] = True

    @model_validator(mode="after")
    def _has_a_factor(self) -> Self:
        if self.factor is None and self.rope_type != "default":
            raise ValueError(f"{self.rope_type} needs a factor")
        return self

    def scaling(self, longest: int) -> dict[str, Any] | None:
        """The key rotary_scaling of [model]; None: as they are.

        Args:
            longest: max_position_embeddings.
        """
        if self.rope_type == "default":
            return None
        found: dict[str, Any] = {"kind": self.rope_type, "factor": self.factor}
        if self.rope_type == "linear":
            return found
        found["original_length"] = self.original_max_position_embeddings or longest
        slow, fast = self.low_freq_factor, self.high_freq_factor
        if self.rope_type == "yarn":
            slow, fast, found["size"] = self.beta_slow, self.beta_fast, self._size()
        given = {"slow": slow, "fast": fast}
        return found | {key: value for key, value in given.items() if value}

    def _size(self) -> float | None:
        """Of YaRN, the factor of the turned vectors; None: as in the paper."""
        if self.attention_factor is not None or not (self.mscale and self.mscale_all_dim):
            return self.attention_factor
        grown = 0.1 * math.log(self.factor or 1.0)
        return (grown * self.mscale + 1.0) / (grown * self.mscale_all_dim + 1.0)
