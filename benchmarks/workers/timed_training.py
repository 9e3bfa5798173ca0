"""`jumok train`, with the seconds of the parts of its updates: see benchmarks/processes.py.

    python timed_training.py OUTPUT SKIPPED train RECIPE [OPTION ...]

Writes OUTPUT.RANK.json when the run has ended.
"""

import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jumok.cli.main import run
from jumok.training.learner import Learner
from jumok.training.optimization.sliced import Sliced
from jumok.training.torch_ranks import TorchRanks

PARTS = (
    (Sliced, "backward", "compute"),
    (TorchRanks, "all_gather", "wait"),
    (Sliced, "sum_gradients", "sum"),
)
"""Methods, and what their time is called: `all_gather` follows the gradients, so it waits for those
of the others; `sum_gradients` exchanges them. The few numbers that are gathered besides, of tokens
and norms, count as waiting, and those of norms as summing, too.
"""


def main() -> None:
    """Trains, and writes what it has measured."""
    output, skipped = Path(sys.argv[1]), int(sys.argv[2])
    sys.argv[:3] = ["jumok"]
    seconds: dict[str, float] = defaultdict(float)
    updates: list[tuple[float, float, int]] = []
    """After each: the time, the processor time, the target tokens of the update."""

    def timed(name: str, part: Callable[..., Any]) -> Callable[..., Any]:
        def measured(*given: Any, **named: Any) -> Any:
            begun = time.perf_counter()
            result = part(*given, **named)
            if len(updates) > skipped:
                seconds[name] += time.perf_counter() - begun
            return result

        return measured

    for owner, method, name in PARTS:
        setattr(owner, method, timed(name, getattr(owner, method)))
    update = Learner.update

    def noted(*given: Any, **named: Any) -> Any:
        if not updates:
            updates.append((time.perf_counter(), time.process_time(), 0))
        result = update(*given, **named)
        updates.append((time.perf_counter(), time.process_time(), result.tokens))
        return result

    Learner.update = noted  # type: ignore[method-assign]
    try:
        run()
    except SystemExit as stopped:
        if stopped.code:
            raise
    (begun, used_before, _), (ended, used, _) = updates[skipped], updates[-1]
    figures = {
        "seconds": ended - begun,
        "cpu_seconds": used - used_before,
        "tokens": sum(tokens for _, _, tokens in updates[skipped + 1 :]),
        **seconds,
    }
    Path(f"{output}.{os.environ.get('RANK', '0')}.json").write_text(json.dumps(figures))


if __name__ == "__main__":
    main()
