from collections.abc import Callable

import pytest

from tests.decoding.tables import TABLES, Logits, Table, mixed_logits


@pytest.fixture(params=TABLES, ids=["cached", "recurrent"])
def table(request: pytest.FixtureRequest) -> Callable[..., Table]:
    """Makes a decoder from a function of (sentence, prefix), with both kinds of state."""

    def make(logits: Logits = mixed_logits, vocabulary_size: int = 7) -> Table:
        return request.param(logits, vocabulary_size)

    return make
