"""The server's metrics and log. No label comes from a client."""

import json
import os
import sys
import time
import traceback
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from jumok.errors import ConfigError

SUM: Literal["livesum"] = "livesum"
LARGEST: Literal["livemax"] = "livemax"
"""How the gauges of several processes become one."""

SECOND_BUCKETS = (
    *(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
    *(1.0, 2.5, 5.0, 10.0, 30.0, 60.0),
)
ROW_BUCKETS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
TOKENS = (16, 64, 256, 1024, 4096, 16384)

SHARED = "counter", "histogram", f"gauge_{SUM}", f"gauge_{LARGEST}"
"""The files in which prometheus-client keeps the metrics of one of several processes."""

SHARED_BYTES = 256 * 1024
"""The size of each file: what a process has for all routes and a few hundred models."""


class Metrics:
    """All metrics of a server.

    Args:
        shared: where several processes sum them, as PROMETHEUS_MULTIPROC_DIR; None: there is one.
    """

    def __init__(self, shared: Path | None = None) -> None:
        self._shared, self._served = _reserved(shared), dict[str, tuple[str, str, str, str]]()
        self.registry = registry = CollectorRegistry()
        self.requests = Counter(
            "jumok_requests_total", "Answers.", ("route", "status"), registry=registry
        )
        self.seconds = Histogram(
            "jumok_request_seconds", "From the request to the end of its answer.", ("route",),
            buckets=SECOND_BUCKETS, registry=registry,
        )  # fmt: skip
        self.queued = Histogram(
            "jumok_queue_seconds", "Time in the queue.", ("model",),
            buckets=SECOND_BUCKETS, registry=registry,
        )  # fmt: skip
        self.first_token = Histogram(
            "jumok_first_token_seconds", "From the request to the first part of a text.",
            ("model",), buckets=SECOND_BUCKETS, registry=registry,
        )  # fmt: skip
        self.batch_rows = Histogram(
            "jumok_batch_rows", "Texts computed together.", ("model",),
            buckets=ROW_BUCKETS, registry=registry,
        )  # fmt: skip
        self.batch_tokens = Histogram(
            "jumok_batch_tokens", "Tokens computed together, estimated.", ("model",),
            buckets=TOKENS, registry=registry,
        )  # fmt: skip
        self.tokens = Counter(
            "jumok_tokens_total", "Tokens, estimated (in) and written (out).", ("direction",),
            registry=registry,
        )  # fmt: skip
        self.queue_requests = Gauge(
            "jumok_queue_requests", "Requests that wait or run.", ("model",),
            registry=registry, multiprocess_mode=SUM,
        )  # fmt: skip
        self.queue_tokens = Gauge(
            "jumok_queue_tokens", "Their tokens, estimated.", ("model",),
            registry=registry, multiprocess_mode=SUM,
        )  # fmt: skip
        self.running = Gauge(
            "jumok_running", "Texts that are computed now.", ("model",),
            registry=registry, multiprocess_mode=SUM,
        )  # fmt: skip
        self.rejected = Counter(
            "jumok_rejected_total", "Refused requests.", ("reason",), registry=registry
        )
        self.cancelled = Counter(
            "jumok_cancelled_total", "Requests whose client closed the connection.",
            registry=registry,
        )  # fmt: skip
        self.ended = Counter(
            "jumok_ended_total", "Batches that were ended early: all their clients had gone.",
            ("model",), registry=registry,
        )  # fmt: skip
        self.faults = Counter(
            "jumok_engine_faults_total", "Batches that failed.", ("model",), registry=registry
        )
        self.info = Gauge(
            "jumok_model_info", "1: the models; 0: those that they replaced.",
            ("name", "digest", "engine", "precision"), registry=registry, multiprocess_mode=LARGEST,
        )  # fmt: skip

    def serves(self, name: str, digest: str, engine: str, precision: str) -> None:
        """Notes which model has a name now."""
        before, now = self._served.get(name), (name, digest, engine, precision)
        if before is not None:
            self.info.labels(*before).set(0)
        self.info.labels(*now).set(1)
        self._served[name] = now

    def answered(self, route: str, status: int, seconds: float) -> None:
        self.requests.labels(route, str(status)).inc()
        self.seconds.labels(route).observe(seconds)

    def written(self) -> bytes:
        """In the text format of Prometheus."""
        if self._shared is None:
            return generate_latest(self.registry)
        together = CollectorRegistry()
        MultiProcessCollector(together, path=str(self._shared))
        return generate_latest(together)


def _reserved(folder: Path | None) -> Path | None:
    """The folder, in which the files have their space from the start, on Linux: they are mapped
    into memory, where a disk that is full later would end the process.

    Raises:
        ConfigError: there is no space.
    """
    if folder is None or sys.platform != "linux":
        return folder
    try:
        for name in SHARED:
            with (folder / f"{name}_{os.getpid()}.db").open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, SHARED_BYTES)
    except OSError as error:
        raise ConfigError(
            "the metrics of the server's processes cannot be kept.",
            got=f"{folder}: {error.strerror}",
            do="make space there, or set TMPDIR to another folder",
        ) from error
    return folder


def log(facts: Mapping[str, object]) -> None:
    """Writes one line of JSON on stdout; `facts` hold no texts and no keys.

    Requests are answered as well where it cannot be written: the terminal was closed, a disk is
    full.
    """
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    with suppress(OSError):
        sys.stdout.write(json.dumps({"time": now, **facts}) + "\n")
        sys.stdout.flush()


def fault_of(error: BaseException) -> str:
    """The kind of an error and where it was raised, without its message, which may quote a text."""
    frames = traceback.extract_tb(error.__traceback__)[-3:]
    places = " < ".join(f"{Path(each.filename).name}:{each.lineno}" for each in reversed(frames))
    return f"{type(error).__name__} at {places}"
