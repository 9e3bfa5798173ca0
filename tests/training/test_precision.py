"""The number format and the device."""

from itertools import count

import pytest
import torch

from jumok.training import precision

CPU = torch.device("cpu")


@pytest.mark.parametrize(("wanted", "dtype"), [("bf16", torch.bfloat16), ("fp32", torch.float32)])
def test_the_recipe_has_the_last_word(wanted, dtype):
    chosen = precision.choose_precision(wanted, CPU)
    assert chosen.dtype == dtype
    assert "set in the recipe" in chosen.reason


@pytest.mark.parametrize(
    ("fp32", "bf16", "dtype", "words"),
    [
        (4.4, 1.0, torch.bfloat16, "matrix products 4.4x faster than float32"),
        (1.2, 1.0, torch.float32, "only 1.2x"),
        (1.0, 10.0, torch.float32, "only 0.1x"),
    ],
)
def test_auto_takes_bf16_where_it_multiplies_faster(monkeypatch, fp32, bf16, dtype, words):
    seconds = {torch.float32: fp32, torch.bfloat16: bf16}
    monkeypatch.setattr(precision, "product_seconds", lambda dtype, device, **_: seconds[dtype])
    precision.gain_of_bfloat16.cache_clear()
    chosen = precision.choose_precision("auto", CPU)
    assert chosen.dtype == dtype
    assert words in chosen.reason
    precision.gain_of_bfloat16.cache_clear()


def test_a_product_takes_some_time():
    assert 0.0 < precision.product_seconds(torch.float32, CPU, size=64) < 1.0


@pytest.mark.parametrize(("hopeless", "products"), [(0.5, 3), (1.5, 8)])
def test_a_hopeless_format_is_not_measured_to_the_end(monkeypatch, hopeless, products):
    clock = count(0.0)  # every product takes a second
    monkeypatch.setattr(precision.time, "thread_time", lambda: next(clock))
    assert precision.product_seconds(torch.float32, CPU, size=8, hopeless=hopeless) == 1.0
    assert next(clock) == 2 * products - 1, "the end of the first one, to warm up, is not read"


def test_it_is_measured_once(monkeypatch):
    measured = []

    def seconds(dtype, device, hopeless=0.0):
        del device, hopeless
        measured.append(dtype)
        return 1.0

    monkeypatch.setattr(precision, "product_seconds", seconds)
    precision.gain_of_bfloat16.cache_clear()
    for _ in range(2):
        precision.choose_precision("auto", CPU)
    precision.gain_of_bfloat16.cache_clear()
    assert measured == [torch.float32, torch.bfloat16]
