"""Print the GFLOP/s per CPU-second at which torch multiplies 1024 x 1024 matrices, as JSON."""

import json
import time
from statistics import median

import torch

SIZE = 1024
PRODUCTS = 10
REPEATS = 5


def main() -> None:
    """float32 and bfloat16, the median of `REPEATS`, on one thread."""
    torch.set_num_threads(1)
    figures = {
        "float32_gflops": round(_gflops(torch.float32)),
        "bfloat16_gflops": round(_gflops(torch.bfloat16)),
    }
    print(json.dumps(figures))


def _gflops(dtype: torch.dtype) -> float:
    left, right = torch.randn(2, SIZE, SIZE).to(dtype)
    figures = []
    for _ in range(REPEATS):
        begun = time.process_time()
        for _ in range(PRODUCTS):
            left @ right
        seconds = time.process_time() - begun
        figures.append(PRODUCTS * 2 * SIZE**3 / seconds / 1e9)
    return median(figures)


if __name__ == "__main__":
    main()
