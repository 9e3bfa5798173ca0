from typing import get_args

from jumok.config import TransformerConfig
from jumok.models.catalog import CATALOG, build
from jumok.models.encoder_decoder import Transformer


def test_catalog_builds_what_a_recipe_names():
    config = TransformerConfig(dim=15, heads=3, encoder_layers=1, decoder_layers=2)
    model = build(config, 31)
    assert isinstance(model, Transformer)
    assert (len(model.encoder.blocks), len(model.decoder.blocks)) == (1, 2)


def test_catalog_knows_every_kind_a_recipe_may_name():
    assert set(CATALOG) == set(get_args(TransformerConfig.model_fields["kind"].annotation))
