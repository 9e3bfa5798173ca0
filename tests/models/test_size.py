"""Models that need too much memory are refused before any of it is touched."""

import sys
import time

import pytest

from jumok.config.captioner import CaptionerConfig
from jumok.config.causal import CausalConfig
from jumok.config.recurrent import RecurrentConfig
from jumok.config.transformer import TransformerConfig
from jumok.errors import ModelError
from jumok.machine_memory import total_memory
from jumok.models.catalog import CATALOG, DataSizes, build

HUGE = [
    TransformerConfig(dim=2**14, heads=1, encoder_layers=1000),
    TransformerConfig(feedforward=2**31 - 1),
    TransformerConfig(max_length=2**31 - 1),
    CausalConfig(dim=2**16, heads=1, feedforward=2**30, positions="none"),
    RecurrentConfig(dim=2**16, encoder_layers=1000),
    CaptionerConfig.model_validate(
        {"encoder": {"kind": "given", "rows": 2**31 - 1, "columns": 2, "dim": 8}}
    ),
]


@pytest.mark.parametrize("config", HUGE, ids=lambda config: config.summary)
def test_a_model_that_no_machine_holds_is_not_begun(config):
    began = time.process_time()
    with pytest.raises(ModelError, match=r"more than [\d,.]+ GB for its weights and tables"):
        build(config, DataSizes(2000, 10))
    assert time.process_time() - began < 30


@pytest.mark.parametrize("section", CATALOG, ids=lambda section: section.__name__)
def test_the_limit_is_the_size_of_weights_and_tables(section):
    """Those of every kind of model, its largest position tables included."""
    model = build(section(), DataSizes(2000, 10), most=sys.maxsize)
    numbers = sum(each.numel() for each in [*model.parameters(), *model.buffers()])
    build(section(), DataSizes(2000, 10), most=int(4.4 * numbers))
    with pytest.raises(ModelError):
        build(section(), DataSizes(2000, 10), most=int(3.6 * numbers))


def test_the_machines_memory_is_the_limit():
    assert total_memory() > 10**8
    with pytest.raises(ModelError, match=f"at most {total_memory() / 1e9:,.1f} GB"):
        build(HUGE[1], DataSizes(2000))
