"""Trains models further on another domain: what is gained there, and what is lost on the old one.

    python -m benchmarks.finetuning translation
    python -m benchmarks.finetuning translation --set training.minutes=25
    python -m benchmarks.finetuning language-model

translation: the recipe tatoeba-en-fr, everyday sentences, then 2,000 pairs of Multi30k, captions of
photographs. language-model: the recipe shakespeare, then 2,000 English captions of Multi30k. The
first model is trained once (--set changes its recipe); then it is trained further with each share
of the old data (--mix). Every run is one `jumok train`, is kept, and is not trained again. The
scores are those of the validations, before and after; a translator is also scored on Multi30k's
test_2016_flickr. The output is a table in Markdown.
"""

import argparse
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.corpus import data_folder
from benchmarks.seeds import jumok

Facts = dict[str, Any]

LINES = 2_000
RECIPES = {"translation": "tatoeba-en-fr", "language-model": "shakespeare"}
LANGUAGES = {"translation": ("en", "fr"), "language-model": ("en",)}


def main() -> None:
    """Train what is missing, and print the table."""
    arguments = _arguments()
    runs, task = arguments.runs, arguments.task
    first = runs / f"further-{task}"
    changes = [word for change in arguments.set for word in ("--set", change)]
    if not (first / "model").is_dir():
        jumok("train", RECIPES[task], "--name", first.name, "--runs", str(runs), *changes)
    captions = _captions(runs, LANGUAGES[task])
    facts = []
    for mix in arguments.mix:
        run = runs / f"{first.name}-{mix:g}"
        kept = run / "finetuning.json"
        if not kept.is_file():
            kept.write_text(json.dumps(_further(first, run, mix, captions, arguments.further)))
        facts.append({"mix": mix} | json.loads(kept.read_text()))
    before = _test(first) if task == "translation" else {}
    for line in table(facts, before):
        print(line)


def table(facts: list[Facts], before: dict[str, float]) -> Iterator[str]:
    """A row for the model as it was, and one for each share of the old data.

    Args:
        before: the test scores of the first model, by name; empty without a test.
    """
    gains = facts[0]["gains"]
    names = [f"{gain['data']}: {gain['score']}" for gain in gains]
    tests = [f"test: {name}" for name in before]
    yield f"| mixed in | {' | '.join([*names, *tests])} | steps | minutes |"
    yield "|---|" + "---|" * (len(names) + len(tests) + 2)
    values = [*(gain["before"] for gain in gains), *before.values()]
    yield f"| (before) | {' | '.join(f'{value:.2f}' for value in values)} | | |"
    for fact in facts:
        values = [*(gain["after"] for gain in fact["gains"]), *fact["test"].values()]
        yield (
            f"| {fact['mix']:.0%} | {' | '.join(f'{value:.2f}' for value in values)} "
            f"| {fact['best_step']} of {fact['steps']} | {fact['minutes']:.1f} |"
        )


def _captions(folder: Path, languages: tuple[str, ...]) -> list[Path]:
    """The first lines of Multi30k's training data, as files."""
    files = []
    for language in languages:
        files.append(folder / f"captions-{LINES}.{language}")
        source = data_folder() / "multi30k" / f"train.{language}.gz"
        with gzip.open(source, "rt", encoding="utf-8") as lines:
            text = "".join(line for line, _ in zip(lines, range(LINES), strict=False))
        files[-1].write_text(text, encoding="utf-8")
    return files


def _further(first: Path, run: Path, mix: float, captions: list[Path], changes: list[str]) -> Facts:
    pair = ["--source", str(captions[0]), "--target", str(captions[-1])]
    told = jumok(
        *("train", "--from", str(first / "model"), "--name", run.name, "--runs", str(run.parent)),
        *("--mix", str(mix), "--json"),
        *(pair if len(captions) == 2 else [str(captions[0])]),
        *(word for change in changes for word in ("--set", change)),
    )
    fact: Facts = json.loads(told.splitlines()[-1])
    return fact | {"test": _test(run) if len(captions) == 2 else {}}


def _test(run: Path) -> dict[str, float]:
    """BLEU and chrF on Multi30k's test_2016_flickr, beam 5."""
    test = data_folder() / "multi30k" / "test_2016_flickr"
    told = jumok(
        *("evaluate", str(run / "model"), "--source", f"{test}.en", "--reference", f"{test}.fr"),
        *("--split", "length", "--no-keep", "--json"),
    )
    scores = json.loads(told)["scores"]
    return {score["name"]: score["value"] for score in scores if score["name"] in ("BLEU", "chrF2")}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=_KEPT)
    parser.add_argument("task", choices=RECIPES)
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="folder of the runs")
    parser.add_argument("--mix", type=float, nargs="*", default=[0.0, 0.25, 0.5])
    parser.add_argument("--set", action="append", default=[], help="of the first model's recipe")
    parser.add_argument("--further", action="append", default=[], help="--set of the further runs")
    return parser.parse_args()


_KEPT = argparse.RawDescriptionHelpFormatter


if __name__ == "__main__":
    main()
