"""Documents that look like real ones come through translations unharmed."""

import pytest

from benchmarks.trips.checks import faults
from benchmarks.trips.writing import TEMPLATES, Trip, trips

SHORT = 2 * len(TEMPLATES)


@pytest.mark.parametrize("trip", list(trips(SHORT, seed=1)), ids=lambda trip: trip.name)
def test_a_document_comes_through(trip: Trip) -> None:
    assert faults(trip) == []


@pytest.mark.nightly
def test_200_documents_come_through() -> None:
    assert {trip.name: found for trip in trips(200, seed=2) if (found := faults(trip))} == {}
