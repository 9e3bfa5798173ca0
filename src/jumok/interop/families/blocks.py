"""The layers of encoder-decoders, by the names that a family has for them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

LayerPair = tuple[str, str, int | None]
"""The name of a linear layer or of a norm there, its name here, and how many layers it is for."""


@dataclass(frozen=True)
class LayerNames:
    """The names of one side there.

    Attributes:
        layers: before a layer's number.
        attentions: "self" or "cross" here, by their names there.
        projections: "query", "key", "value" and "output" here.
        inner, outer: the layers of the feed-forward layer.
        norms: of each attention and of the feed-forward layer.
        last: the norm after all layers, where they are pre-norm.
    """

    layers: str
    attentions: Mapping[str, str]
    projections: Mapping[str, str]
    inner: str
    outer: str
    norms: tuple[str, ...]
    last: str

    def pairs(self, side: str, count: int, norm: str) -> Iterator[LayerPair]:
        """The linear layers and norms of this side's blocks.

        Args:
            side: of ours.
            norm: "pre": a norm there is before what reads it, and here after what is added before.
        """
        there, here = f"{self.layers}.{{n}}", f"{side}.blocks.{{n}}"
        for theirs, ours in self.attentions.items():
            for name, layer in self.projections.items():
                yield f"{there}.{theirs}.{name}", f"{here}.{ours}_attention.{layer}", count
        yield f"{there}.{self.inner}", f"{here}.feedforward.inner", count
        yield f"{there}.{self.outer}", f"{here}.feedforward.outer", count
        after = [*(f"after_{name}.norm" for name in self.attentions.values())]
        after.append("after_feedforward.norm")
        if norm == "post":
            for theirs, ours in zip(self.norms, after, strict=True):
                yield f"{there}.{theirs}", f"{here}.{ours}", count
            return
        yield f"{self.layers}.0.{self.norms[0]}", f"{side}.first_norm", None
        for theirs, ours in zip(self.norms[1:], after, strict=False):
            yield f"{there}.{theirs}", f"{here}.{ours}", count
        yield f"{self.layers}.{{next}}.{self.norms[0]}", f"{here}.{after[-1]}", count - 1
        yield self.last, f"{side}.blocks.{count - 1}.{after[-1]}", None
