"""Translate text with jumok as a user would, word alignments included.

python jumok_translating.py BUNDLE: a request a line in (JSON: texts, beam, batch), an answer a line
out (JSON: the CPU-seconds that it took, and the translations).
"""

import json
import os
import sys
import time

from jumok import Translator


def main() -> None:
    """Load, then answer until standard input ends."""
    translator = Translator.load(sys.argv[1], device="cpu")
    # What libraries print must not get between the answers.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    for line in sys.stdin:
        request = json.loads(line)
        begun = time.process_time()
        translated = translator.translate(
            request["texts"], beam=request["beam"], batch_size=request["batch"]
        )
        seconds = time.process_time() - begun
        answer = {"cpu_seconds": seconds, "texts": [each.text for each in translated]}
        answers.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
