"""The share of one core's int8 peak that the engine uses while it decodes in batches of 32.

    python -m benchmarks.integers [--core N]

The peak is that of a loop of VNNI's multiply-add on registers alone (x86-64 with AVX-512 VNNI).
What a token takes is counted from the weights: every matrix that is multiplied for it, and its
share of the encoder's. Attention itself, norms and the choice of the token are not counted: only
their time is.
"""

import argparse
import os
import subprocess
import tempfile
from pathlib import Path
from statistics import median

from safetensors.numpy import load_file

from benchmarks.decode import (
    CASES,
    ENGINES,
    LENGTH,
    ROUNDS,
    ask,
    random_model,
    request_of,
    small_model,
    started,
)
from benchmarks.errors import BenchmarkError
from benchmarks.process import pinned

LOOP = r"""
#include <stdio.h>
#include <time.h>
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}
#define ADD(n) "vpdpbusd %%zmm31, %%zmm30, %%zmm" #n "\n"
int main(void) {
    double best = 0;
    for (int round = 0; round < 50; round++) {
        double begun = now();
        for (long i = 0; i < 400000; i++)
            __asm__ volatile(ADD(0) ADD(1) ADD(2) ADD(3) ADD(4) ADD(5) ADD(6) ADD(7) ADD(8) ADD(9)
                             ADD(10) ADD(11) ADD(12) ADD(13) ADD(14) ADD(15)::: "memory");
        double rate = 400000.0 * 16 * 64 / (now() - begun);
        if (rate > best) best = rate;
    }
    printf("%f\n", best);
}
"""
"""16 sums that do not wait for each other; each instruction multiplies and adds 64 bytes."""


def main() -> None:
    """Print the peak, and the share of the small and of the base model."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.integers", description=__doc__)
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    given = parser.parse_args()
    core = given.core
    peak = _peak(core)
    print(f"peak: {peak / 1e9:.0f} billion int8 multiply-adds a second")
    for case in CASES:
        if case.beam != 1 or case.batch != 32:
            continue
        folder, sources = small_model(core) if case.model == "small" else random_model(case.model)
        chosen = sorted(sources[: case.sentences], key=len, reverse=True)
        (engine,) = (each for each in ENGINES[case.model] if each.name == "jumok native int8")
        line = request_of(case, chosen)
        with started(engine, folder, core) as worker:
            answers = [ask(engine.name, worker, line) for _ in range(1 + given.rounds)]
        tokens = len(chosen) * LENGTH
        rate = tokens / median(answer["cpu_seconds"] for answer in answers[1:])
        each = _multiplications(folder, sum(map(len, chosen)) / tokens)
        print(
            f"{case.name}: {each / 1e6:.2f} million multiply-adds a token, "
            f"{rate:.0f} tokens a second: {100 * each * rate / peak:.0f} % of the peak"
        )


def _peak(core: int) -> float:
    """Multiply-adds a second."""
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder) / "peak.c", Path(folder) / "peak"
        source.write_text(LOOP)
        try:
            subprocess.run(["cc", "-O2", source, "-o", program], check=True, capture_output=True)
            done = subprocess.run(pinned([program], core), check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise BenchmarkError("the peak needs a C compiler, and AVX-512 VNNI") from error
    return float(done.stdout)


def _multiplications(folder: Path, source_tokens: float) -> float:
    """Of one output token, with its share of the source: `source_tokens` for each output token."""
    total = 0.0
    for name, weight in load_file(folder / "weights.safetensors").items():
        if name == "decoder.embedding.table":
            total += weight.size  # tied: the output projection
        elif weight.ndim == 2 and ".blocks." in name:
            memory = "cross_attention.key" in name or "cross_attention.value" in name
            total += weight.size * (source_tokens if memory or name.startswith("encoder") else 1)
    return total


if __name__ == "__main__":
    main()
