"""What a recipe's `model.kind` becomes."""

from jumok.config import TransformerConfig
from jumok.config.families import FAMILIES
from jumok.config.models import SECTIONS, model_config
from jumok.models.catalog import DataSizes, build
from jumok.models.encoder_decoder import Transformer


def test_catalog_builds_what_a_recipe_names():
    config = TransformerConfig(dim=15, heads=3, encoder_layers=1, decoder_layers=2)
    model = build(config, DataSizes(vocabulary=31))
    assert isinstance(model, Transformer)
    assert (len(model.encoder.blocks), len(model.decoder.blocks)) == (1, 2)


def test_every_kind_has_a_recipe():
    assert set(SECTIONS) == set(FAMILIES)


def test_a_section_that_a_bundle_kept_becomes_the_same_config():
    config = TransformerConfig(dim=15, heads=3, norm="post")
    assert model_config(config.model_dump()) == config
