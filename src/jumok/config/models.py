"""From the values in a bundle to its [model] section. Importing it imports no recipes."""

from collections.abc import Mapping

from jumok.config.captioner import CaptionerConfig
from jumok.config.causal import CausalConfig
from jumok.config.masked import MaskedConfig, TextClassifierConfig
from jumok.config.pictures import ImageClassifierConfig
from jumok.config.recurrent import RecurrentConfig
from jumok.config.section import ModelSection
from jumok.config.transformer import TransformerConfig

OWN: tuple[type[ModelSection], ...] = (
    TransformerConfig,
    RecurrentConfig,
    CaptionerConfig,
    CausalConfig,
    MaskedConfig,
    TextClassifierConfig,
    ImageClassifierConfig,
)
SECTIONS = {section.model_fields["kind"].default: section for section in OWN}
"""The sections of jumok's own models, by their `kind`."""


def model_config(values: Mapping[str, object]) -> ModelSection:
    """The [model] section from a bundle's values.

    Raises:
        ValidationError: pydantic's: keys or values that this kind does not have.
    """
    kind = str(values.get("kind"))
    section = SECTIONS.get(kind)
    if section is None:
        from jumok.config import families

        recipes, section = families.families(), TransformerConfig
        if kind in recipes:
            sections = families.sections_of(recipes[kind])
            (section,) = (one for one in sections if one.model_fields["kind"].default == kind)
    return section.model_validate(values)
