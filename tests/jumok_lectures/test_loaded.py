"""What a word looks at in an encoder that was trained before."""

from pathlib import Path

import pytest
import torch

from jumok.errors import ConfigError, DataError
from jumok.tracing.catalog import load_family
from jumok_lectures.loaded import by_words, looks_of
from tests.systems.untrained import write_rnn

SENTENCE = "the cats sat"


def test_pieces_are_put_together_to_words() -> None:
    """[CLS] the cat ##s sat: from "cats" the mean of its two pieces, to "cats" the sum."""
    weights = torch.tensor(
        [
            [0.2, 0.2, 0.2, 0.2, 0.2],
            [0.0, 1.0, 0.0, 0.0, 0.0],
            [0.1, 0.2, 0.3, 0.4, 0.0],
            [0.3, 0.0, 0.1, 0.2, 0.4],
            [0.0, 0.0, 0.0, 0.0, 1.0],
        ]
    )[None, None]
    found = by_words(weights, [None, 0, 1, 1, 2], SENTENCE, 1)
    torch.testing.assert_close(found, torch.tensor([[[0.1, 0.5, 0.2]]]))
    with pytest.raises(DataError, match="not those between spaces"):
        by_words(weights, [None, 0, 1, 2, 3], SENTENCE, 1)


def test_a_bundles_encoder_is_read_as_its_trace_has_it(tiny_bundle: Path) -> None:
    found = looks_of(tiny_bundle)(SENTENCE, 1)
    trace = load_family(tiny_bundle, device="cpu").trace(SENTENCE, "개가")
    (site,) = (site for site in trace.sites if site.part == "encoder")
    words = trace.axes[site.queries].words
    expected = by_words(torch.from_numpy(site.weights)[None].float(), words, SENTENCE, 1)
    assert found.shape == (1, 3, 3)
    torch.testing.assert_close(found, expected)


def test_a_model_without_such_an_encoder_is_refused(tmp_path: Path) -> None:
    looks = looks_of(write_rnn(tmp_path / "rnn"))
    with pytest.raises(ConfigError, match="no encoder with self-attention"):
        looks(SENTENCE, 1)
