"""The interval of a share."""

import pytest

from jumok.evaluation.intervals import wilson


def test_the_interval_is_wilsons():
    """Newcombe 1998, table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29 (score method)."""
    for right, total, low, high in (
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ):
        assert wilson(right, total) == pytest.approx((low, high), abs=5e-5)


def test_the_interval_stays_inside_0_and_1():
    assert wilson(0, 1)[0] == 0.0
    assert wilson(1, 1)[1] == 1.0
