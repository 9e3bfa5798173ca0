"""Turn a written corpus into token ids on disk with jumok, and say how long that took.

python jumok_prepare.py SOURCE TARGET TOKENIZER CACHE; trains TOKENIZER on the first pairs where it
does not exist, which is not counted. Prints {"pairs", "wall_seconds", "cpu_seconds"} as JSON.
"""

import json
import sys
import time
from itertools import chain, islice
from pathlib import Path

from jumok.data.pairs.corpus import Corpus, read_pairs
from jumok.data.pairs.store import Filters, prepare
from jumok.data.tokenizer import Tokenizer

TOKENIZER_PAIRS = 50_000
TOKENIZER_SIZE = 8000
THREADS = 2


def main() -> None:
    """Prepare once, on two threads."""
    source, target, tokenizer_file, cache = map(Path, sys.argv[1:])
    corpus = Corpus(source=source, target=target)
    if not tokenizer_file.exists():
        first = islice(read_pairs(corpus), TOKENIZER_PAIRS)
        lines = chain.from_iterable((pair.source, pair.target) for pair in first)
        Tokenizer.train(lines, "bpe", TOKENIZER_SIZE).save(tokenizer_file)
    tokenizer = Tokenizer.load(tokenizer_file)
    wall, cpu = time.perf_counter(), time.process_time()
    # the filters of peers/jumok.toml, so that training finds this store in the cache
    store = prepare(
        corpus, tokenizer, tokenizer, cache, Filters(max_tokens=256, max_ratio=9.0), threads=THREADS
    )
    figures = {
        "pairs": len(store),
        "wall_seconds": time.perf_counter() - wall,
        "cpu_seconds": time.process_time() - cpu,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
