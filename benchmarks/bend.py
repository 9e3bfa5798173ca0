"""A Firefox student bent to other text on one machine: Brazilian to European Portuguese, in 2,000
captions; and what it forgets of other text, without and with --mix.

    python -m benchmarks.bend MULTI30K GENERAL.en CHECK.po...

There are no English-Portuguese captions, so the targets are made: the student's own translations,
with the words and the verb forms of Portugal by rules (`european`). The figures say how well the
student learns the rules, and not how good its Portuguese is. Trained on the first 2,000 lines of
train.en.gz, scored on test_2016_flickr.en.

What the student was trained on is not known. What it should keep is mixed in instead: the lines of
GENERAL.en with the student's own translations of them. What it forgets is seen in texts of another
kind, with translations by people: catalogs of messages (CHECK.po, English to Brazilian Portuguese).
"""

import gzip
import json
import re
import sys
import tempfile
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import polib

from benchmarks.bergamot import folder_of
from benchmarks.seeds import jumok
from jumok.systems.translation.translator import Translator

PAIRS = 2000
WORDS = {
    "ônibus": "autocarro", "trem": "comboio", "celular": "telemóvel", "menino": "rapaz",
    "menina": "rapariga", "meninos": "rapazes", "meninas": "raparigas", "calçada": "passeio",
    "terno": "fato", "em um": "num", "em uma": "numa", "bonde": "elétrico", "xícara": "chávena",
    "camiseta": "t-shirt", "sorvete": "gelado", "café da manhã": "pequeno-almoço",
}  # fmt: skip
"""Words of Brazil, and those of Portugal."""
_WORD = re.compile(r"\b(" + "|".join(sorted(WORDS, key=len, reverse=True)) + r")\b", re.IGNORECASE)
_GERUND = re.compile(r"\b(\w{2,})([aei])ndo\b")


def european(text: str) -> str:
    """The text with the words of Portugal, and "a andar" for "andando"."""

    def other(found: re.Match[str]) -> str:
        word = WORDS[found[0].lower()]
        return word.capitalize() if found[0][0].isupper() else word

    return _GERUND.sub(r"a \1\2r", _WORD.sub(other, text))


def write(name: Path, sources: Sequence[str], targets: Sequence[str]) -> Path:
    for suffix, texts in ((".en", sources), (".pt", targets)):
        name.with_suffix(suffix).write_text("\n".join(texts) + "\n", "utf-8")
    return name


def translated(translator: Translator, lines: Sequence[str]) -> list[str]:
    return [each.text for each in translator.translate(lines, beam=1, alignments=False)]


def messages(files: Sequence[Path]) -> tuple[list[str], list[str]]:
    """The messages of four words or more, on one line, and their translations."""
    entries = [each for file in files for each in polib.pofile(str(file)).translated_entries()]
    found = {each.msgid: each.msgstr for each in entries if each.msgid and each.msgstr}
    kept = [
        each for each in found.items() if len(each[0].split()) > 3 and "\n" not in "".join(each)
    ]
    return [source for source, _ in kept], [target for _, target in kept]


def scores(model: Path, test: Path) -> dict[str, float]:
    given = "--source", test.with_suffix(".en"), "--reference", test.with_suffix(".pt")
    said = json.loads(jumok("evaluate", model, *given, "--beam", "1", "--json"))
    return {each["name"]: round(each["value"], 2) for each in said["scores"]}


def bent(student: Path, room: Path, name: str, *more: str | Path) -> dict[str, object]:
    """A run: its scores on captions and on messages, and its minutes and processor minutes."""
    jumok(
        "train", "--from", student, "--source", room / "new.en", "--target", room / "new.pt",
        "--name", name, "--runs", room, "--set", "training.learning_rate=1e-4", *more,
    )  # fmt: skip
    records = map(json.loads, (room / name / "log.jsonl").read_text("utf-8").splitlines())
    last = [each for each in records if "cpu_seconds" in each][-1]
    model = room / name / "model"
    return {
        "captions": scores(model, room / "test"),
        "messages": scores(model, room / "check"),
        "minutes": round(last["seconds"] / 60, 1),
        "processor minutes": round(last["cpu_seconds"] / 60, 1),
        "step": last["step"],
    }


RECIPE = """name = "general"
[data]
source_language = "en"
target_language = "pt"
[[data.train]]
source = "general.en"
target = "general.pt"
[model]
kind = "transformer"
"""


def main() -> None:
    corpora, general, *catalogs = map(Path, sys.argv[1:])
    with gzip.open(corpora / "train.en.gz", "rt", encoding="utf-8") as stream:
        lines = [line.rstrip("\n") for line in islice(stream, PAIRS)]
    with tempfile.TemporaryDirectory() as name:
        room = Path(name)
        student, recipe = room / "student", room / "general.toml"
        jumok("import", folder_of("en-pt"), "--output", student)
        translator = Translator.load(student, threads=1)
        write(room / "new", lines, [*map(european, translated(translator, lines))])
        tested = (corpora / "test_2016_flickr.en").read_text("utf-8").splitlines()
        write(room / "test", tested, [*map(european, translated(translator, tested))])
        kept = general.read_text("utf-8").splitlines()[:PAIRS]
        write(room / "general", kept, translated(translator, kept))
        write(room / "check", *messages(catalogs))
        recipe.write_text(RECIPE, "utf-8")
        mixed = "--set", f"start.recipe={recipe}", "--mix"
        figures = {
            "before": {each: scores(student, room / each) for each in ("test", "check")},
            "alone": bent(student, room, "alone"),
            "mixed": bent(student, room, "mixed", *mixed, "0.25"),
        }
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
