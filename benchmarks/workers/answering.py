"""The loop of every decoding worker: a request a line in, an answer a line out, both JSON.

A request holds sources (lists of ids), batch, beam and length; an answer the CPU-seconds that this
process took and the outputs in the same order. The engine decides nothing but how to decode.
"""

import json
import os
import sys
import time
from collections.abc import Callable

Decode = Callable[[list[list[int]], int, int], list[list[int]]]
"""(a batch of sources, beam, length) -> as many outputs of exactly `length` ids."""


def answer_requests(decode: Decode) -> None:
    """Answer until standard input ends."""
    # What libraries print must not get between the answers.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    for line in sys.stdin:
        request = json.loads(line)
        sources, batch = request["sources"], request["batch"]
        outputs: list[list[int]] = []
        begun = time.process_time()
        for first in range(0, len(sources), batch):
            outputs += decode(sources[first : first + batch], request["beam"], request["length"])
        seconds = time.process_time() - begun
        answers.write(json.dumps({"cpu_seconds": seconds, "outputs": outputs}) + "\n")
