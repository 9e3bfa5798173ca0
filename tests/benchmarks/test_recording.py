"""The cost of recording is measured for every way of recording."""

from pathlib import Path

import jumok
from benchmarks.recording import seconds


def test_every_way_of_recording_is_measured(tiny_bundle: Path) -> None:
    model = jumok.load(tiny_bundle, device="cpu")
    times = seconds(model, ["the cat sat", "a dog"], 2)
    assert list(times) == ["nothing", "method calls, no trace", "record, weights", "record, qk"]
    assert all(each > 0.0 for each in times.values())
