"""The server's log: a line of JSON on stdout for each event, without texts and keys."""

import json
import sys
import time
import traceback
from collections.abc import Mapping
from pathlib import Path


def log(facts: Mapping[str, object]) -> None:
    """Writes one line."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    sys.stdout.write(json.dumps({"time": now, **facts}) + "\n")
    sys.stdout.flush()


def fault_of(error: BaseException) -> str:
    """The kind of an error and where it was raised, without its message, which may quote a text."""
    frames = traceback.extract_tb(error.__traceback__)[-3:]
    places = " < ".join(f"{Path(each.filename).name}:{each.lineno}" for each in reversed(frames))
    return f"{type(error).__name__} at {places}"
