"""What a captioner's recipe may not ask for."""

import pytest

from jumok.config import CaptionConfig, parse_config
from jumok.errors import ConfigError

DATA = {"train": [{"captions": "/c.tsv", "images": "/i"}]}


def recipe(**model: object) -> dict[str, object]:
    return {"name": "a", "data": DATA, "model": {"kind": "captioner", **model}}


@pytest.mark.parametrize(
    ("encoder", "grid"),
    [
        ({"size": 96, "patch": 4, "channels": [64, 128]}, (12, 12)),
        ({"size": 63, "patch": 7, "channels": [8]}, (9, 9)),
        ({"kind": "given", "rows": 7, "columns": 5, "dim": 512}, (7, 5)),
    ],
)
def test_the_grid_follows_from_the_encoders_sizes(encoder, grid):
    config = parse_config(recipe(encoder={"kind": "cnn", **encoder}))
    assert isinstance(config, CaptionConfig)
    assert config.model.encoder.grid == grid


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (recipe(encoder={"kind": "cnn", "size": 90}), "choose a multiple of 8"),
        (recipe(decoder={"kind": "transformer", "dim": 6, "heads": 2}), "a multiple of 4"),
        (recipe(memory="one", doubly_stochastic=1.0), "and there is one vector"),
        (recipe(memory="one", reader={"layers": 1}), "there is only one vector"),
        (recipe(reader={"layers": 1, "heads": 3}), "cannot be split among heads = 3"),
        (
            recipe(encoder={"kind": "given", "rows": 2, "columns": 2, "dim": 3})
            | {"data": {**DATA, "flip": True}},
            "the features are precomputed",
        ),
        (recipe() | {"data": {**DATA, "max_tokens": 128}}, "need more positions than model.decod"),
        (recipe(encoder={"kind": "cnn", "sise": 90}), "did you mean 'size'?"),
    ],
)
def test_what_cannot_be_is_refused(values, said):
    with pytest.raises(ConfigError, match=said.replace("?", r"\?")):
        parse_config(values)
