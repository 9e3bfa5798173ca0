"""A tiny corpus and a recipe that trains on it in seconds."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jumok.config import Config, parse_config
from jumok.training.log import StepRecord, ValidationRecord

WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"]


def write_corpus(folder: Path, pairs: int = 151) -> tuple[Path, Path]:
    """Rows of number words, and the same rows backwards."""
    rows = [
        [WORDS[(start * 5 + step * (1 + start % 3)) % len(WORDS)] for step in range(2 + start % 7)]
        for start in range(pairs)
    ]
    source, target = folder / "rows.en", folder / "rows.back"
    source.write_text("".join(" ".join(row) + "\n" for row in rows), encoding="utf-8")
    target.write_text("".join(" ".join(reversed(row)) + "\n" for row in rows), encoding="utf-8")
    return source, target


@pytest.fixture(name="write_corpus")
def write_corpus_fixture() -> Callable[[Path], tuple[Path, Path]]:
    return write_corpus


MakeConfig = Callable[..., Config]


@pytest.fixture
def make_config(tmp_path) -> MakeConfig:
    """A config on the tiny corpus; overrides as on the command line."""
    source, target = write_corpus(tmp_path)

    def make(*overrides: str) -> Config:
        values: dict[str, Any] = {
            "name": "tiny",
            "data": {
                "train": [{"source": str(source), "target": str(target)}],
                "validation_pairs": 11,
            },
            "tokenizer": {"kind": "bpe", "size": 48, "byte_fallback": False},
            "model": {
                "dim": 16,
                "heads": 2,
                "encoder_layers": 1,
                "decoder_layers": 1,
                "feedforward": 32,
            },
            "training": {
                "steps": 12,
                "tokens_per_batch": 300,
                "tokens_per_micro_batch": 100,
                "learning_rate": 0.01,
                "precision": "fp32",
                "threads": 1,
                "log_every": 1,
                "checkpoint_every": 5,
                "schedule": {"warmup": 3},
            },
            "validation": {"every": 6, "metric": "loss", "decode_pairs": 3},
        }
        return parse_config(values, overrides)

    return make


class Recorder:
    """A Log that keeps what it is told, and may do something at a step."""

    def __init__(self, at_step: Callable[[int], None] = lambda step: None) -> None:
        self.steps: list[StepRecord] = []
        self.validations: list[ValidationRecord] = []
        self.said: list[str] = []
        self.closed = False
        self._at_step = at_step

    def step(self, record: StepRecord) -> None:
        self.steps.append(record)
        self._at_step(record.step)

    def validation(self, record: ValidationRecord) -> None:
        self.validations.append(record)

    def say(self, text: str) -> None:
        self.said.append(text)

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def recorder() -> type[Recorder]:
    return Recorder


@pytest.fixture
def small_disk(tmp_path) -> Iterator[Path]:
    """A file system of one MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("mounting a tmpfs needs root and a system that lets root mount")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)
