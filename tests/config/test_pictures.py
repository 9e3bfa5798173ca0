"""Recipes of classifiers of pictures."""

import re
from pathlib import Path

import pytest

from jumok.config import ImageClassificationConfig, load_config, parse_config
from jumok.config.pictures import (
    AugmentationConfig,
    ImageClassifierConfig,
    PictureDataConfig,
    PicturesConfig,
)
from jumok.errors import ConfigError

RECIPES = Path(__file__).parents[2] / "recipes"
VARIABLES = {"JUMOK_DATA": "/data"}


def test_one_recipe_names_every_key_of_pictures() -> None:
    text = (RECIPES / "cifar10-attention.toml").read_text("utf-8")
    named = set(re.findall(r"^#?(\w+) = ", text, re.M))
    sections = {name.split(".")[-1] for name in re.findall(r"^\[+([\w.]+)\]+$", text, re.M)}
    of_pictures = (ImageClassifierConfig, PicturesConfig, PictureDataConfig, AugmentationConfig)
    known = {key for section in of_pictures for key in section.model_fields}
    assert known - named - sections == set()


def test_with_and_without_attention_differ_in_nothing_else() -> None:
    for name in ("cifar10", "mnist"):
        without, attending = (
            load_config(RECIPES / f"{each}.toml", variables=VARIABLES).model_dump()
            for each in (name, f"{name}-attention")
        )
        plain, attentive = without.pop("model"), attending.pop("model")
        assert plain.pop("mixing_after") == attentive.pop("attention_after") == (2,)
        assert plain.pop("attention_after") == attentive.pop("mixing_after") == ()
        del without["name"], attending["name"]
        del plain["attention_heads"], attentive["attention_heads"]
        assert (plain, without) == (attentive, attending)


def test_batches_count_pictures() -> None:
    values = {
        "name": "p",
        "model": {"kind": "image-classifier"},
        "data": {"train": [{"folder": "x"}]},
        "training": {"steps": 3},
    }
    config = parse_config(values)
    assert isinstance(config, ImageClassificationConfig)
    assert config.training.tokens_per_batch == 64
    assert config.validation.metric == "accuracy"


def test_a_faulty_recipe_of_pictures_names_the_recipe_that_explains_its_keys() -> None:
    values = {
        "name": "p",
        "model": {"kind": "image-classifier", "chanels": [3]},
        "data": {"train": [{"folder": "x"}]},
    }
    with pytest.raises(ConfigError, match=r"(?s)did you mean 'channels'.*show cifar10-attention"):
        parse_config(values)
