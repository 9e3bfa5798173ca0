"""An image classifier as one HTML file that classifies a photograph."""

from typing import Any

from jumok.bundle.reading import Bundle
from jumok.bundle.weights import load_model
from jumok.config.pictures import ImageClassifierConfig
from jumok.decoding import DecodingOptions
from jumok.engine import Precision
from jumok.engine.image import MemoryImage
from jumok.systems.in_page.layers import PageLayers
from jumok.systems.in_page.page import PageModel, not_exported
from jumok.systems.native.models import weights_of


class WebImageClassifier(PageModel):
    """A bundle's model as it is in the page: convolutions, with attention over their cells, in
    float32.
    """

    def __init__(
        self, bundle: Bundle, kind: Precision = "fp32", options: DecodingOptions | None = None
    ) -> None:
        super().__init__(bundle, kind, options)
        self.kind = "fp32"  # what the page says
        self.config = _section(bundle)
        self._weights = weights_of(load_model(bundle))

    @classmethod
    def check(cls, bundle: Bundle) -> None:
        _section(bundle)

    def _own(self, image: MemoryImage) -> dict[str, Any]:
        config, layers = self.config, PageLayers(self._weights, image)
        stack = layers.convolutions("stack", config.channels, config.blocks, config.patch)
        for number, stage in enumerate(stack["stages"]):
            place = f"stack.stages.{number}.{config.blocks + (number > 0)}"
            if number + 1 in config.attention_after:
                stage["after"].append(self._attention(place, number, layers))
                place = f"stack.stages.{number}.{config.blocks + (number > 0) + 1}"
            if number + 1 in config.mixing_after:
                stage["after"].append(self._mixing(place, layers))
        return {
            "recomputed": True,
            "shape": {"height": config.height, "width": config.width, "colours": config.colours},
            "labels": list(self.bundle.config.labels),
            "convolutions": stack,
            "output": layers.linear("output"),
            "engine": {"model": 0, "tables": []},
        }

    def _attention(self, name: str, layer: int, layers: PageLayers) -> dict[str, Any]:
        """A `PixelAttention`."""
        return {
            "name": name,
            "layer": layer,
            "heads": self.config.attention_heads,
            "gate": layers.number(f"{name}.residual_gate"),
            **{
                part: layers.linear(f"{name}.{part}")
                for part in ("query", "key", "value", "output")
            },
        }

    def _mixing(self, name: str, layers: PageLayers) -> dict[str, Any]:
        """A `PixelMixing`."""
        inner, outer = (layers.linear(f"{name}.{part}") for part in ("inner", "outer"))
        return {"gate": layers.number(f"{name}.residual_gate"), "inner": inner, "outer": outer}


def _section(bundle: Bundle) -> ImageClassifierConfig:
    """The model's section; a ConfigError if the page cannot run the model."""
    config = bundle.section
    if not isinstance(config, ImageClassifierConfig):
        raise not_exported(bundle, f"kind = {bundle.config.model.get('kind')!r}")
    if config.encoder is not None:
        raise not_exported(bundle, f"encoder.kind = {config.encoder.kind!r}")
    return config
