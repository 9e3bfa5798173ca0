"""What noise in its input costs a translator: BLEU of a test set as it is, and as people write it.

    python -m benchmarks.robustness runs/multi30k-modern/model \\
      --source $JUMOK_DATA/multi30k/test_2016_flickr.en \\
      --reference $JUMOK_DATA/multi30k/test_2016_flickr.de

Every line is changed in one way, always by the same seed, and scored against its unchanged
reference (sacreBLEU): as the model alone reads whole lines, and as `jumok translate` does.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from random import Random

from jumok.data.pairs.noise import LAST_EMOJI, NOISE_MARKS, swapped, title
from jumok.evaluation.text import score_text
from jumok.systems.translation.segments import MODEL_ALONE, HowRead
from jumok.systems.translation.translator import Translator

WAYS: dict[str, HowRead] = {
    "model alone": MODEL_ALONE,
    "translate": {"split": "auto", "keep": True},
}
Change = Callable[[str, Random], str]

CHANGES: dict[str, Change] = {
    "as it is": lambda text, _: text,
    "ALL CAPS": lambda text, _: text.upper(),
    "Title Case": lambda text, _: title(text),
    "lower case": lambda text, _: text.lower(),
    "two letters swapped": swapped,
    "no mark at the end": lambda text, _: text.rstrip(NOISE_MARKS),
    "doubled spaces": lambda text, _: text.replace(" ", "  "),
    "an emoji at the end": lambda text, random: f"{text} {chr(LAST_EMOJI - random.randrange(80))}",
}


def main() -> None:
    """Print one row for each change."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.robustness", description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--source", type=Path, required=True, help="sentences, one a line")
    parser.add_argument("--reference", type=Path, required=True, help="their translations")
    parser.add_argument("--beam", type=int, default=5)
    given = parser.parse_args()
    sources, references = (
        file.read_text("utf-8").splitlines() for file in (given.source, given.reference)
    )
    translator = Translator.load(given.model)
    clean: dict[str, float] = {}
    print("| input | model alone | difference | translate | difference |\n|---|--:|--:|--:|--:|")
    for name, change in CHANGES.items():
        random = Random(1)
        changed = [change(text, random) for text in sources]
        cells = [name]
        for way, how in WAYS.items():
            outputs = translator.translate(changed, beam=given.beam, alignments=False, **how)
            (score,) = score_text(
                [output.text for output in outputs], references,
                target_language=translator.target_language, metrics=["bleu"], resamples=0,
            )  # fmt: skip
            clean.setdefault(way, score.value)
            cells += [f"{score.value:.1f}", f"{score.value - clean[way]:+.1f}"]
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
