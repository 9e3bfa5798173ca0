"""Every `jumok` command in the sentences and tables of the documents is run, once each.

The bare name of a verb is a mention. Options alone are completed, as a reader would.
"""

import json
import re
from pathlib import Path

import pytest

from jumok_lectures.catalog import LABS
from jumok_lectures.course.catalog import solutions
from jumok_lectures.course.chapters import find, write_notebook
from tests.cli.running import Runner, remove
from tests.documented import block_commands, documents, inline_commands

WHOLE = {"jumok course", "jumok doctor", "jumok lab", "jumok recipes"}
"""Bare names that are commands."""
PAIRS = "--source test.en --reference test.ko"
NEW = "--source new.en --target new.ko"
COMPLETED = {
    "--plugin": "my_norm.py info MODEL",
    "evaluate --off": f"cross.2.2 MODEL {PAIRS}",
    "evaluate --.*": f"MODEL {PAIRS}",
    "evaluate (MODEL|A,B,C) --.*": PAIRS,
    "explain --lecture": "000:20",
    "explain --read-at": 'reads MODEL "I am a student." --row student',
    "explain --row WORD": 'MODEL "I am a student."',
    "export --to web": "MODEL --output web",
    "generate --chat": 'CHAT "What is a lighthouse?"',
    "generate --greedy": 'MODEL "To be"',
    "quantize --to int8": "MODEL --output small --check test.en test.ko",
    "serve --processes": "2 MODEL",
    "serve --.*": "MODEL",
    "train --from MODEL( --grow-vocabulary 500)?": NEW,
    "train --processes": "2 RECIPE",
    "translate --to de": "SEVERAL",
    "translate --from eng_Latn .*": "NLLB",
    "translate --.*": "MODEL",
}
"""By the words of a command after `jumok`, the first that match: what a reader adds."""


def is_mention(command: str) -> bool:
    return re.fullmatch(r"jumok( [a-z]+)+", command) is not None and command not in WHOLE


def completed(command: str) -> str:
    for words, more in COMPLETED.items():
        if re.fullmatch(f"jumok {words}", command):
            return f"{command} {more}"
    return command


def commands() -> dict[str, list[str]]:
    """By verb: those that are in no code block."""
    texts = [document.read_text("utf-8") for document in documents()]
    shown = {each for text in texts for each in block_commands(text)}
    found: dict[str, list[str]] = {}
    for command in sorted({each for text in texts for each in inline_commands(text)} - shown):
        if command.startswith("jumok ") and not is_mention(command):
            found.setdefault(command.split()[1], []).append(command)
    return found


COMMANDS = commands()


@pytest.mark.parametrize("verb", sorted(COMMANDS.keys() - {"lab"}))
def test_the_commands_of_sentences_work(verb: str, on_shelf: Runner):
    failed = []
    for command in COMMANDS[verb]:
        prepare(command.split())
        try:
            on_shelf.run(completed(command))
        except AssertionError as error:
            failed.append(str(error))
    assert not failed, "\n\n".join(failed)


def test_a_lab_of_each_name_is_run():
    """By tests/jumok_lectures/test_lab_commands.py: a lab of these commands takes minutes."""
    named = {command.split()[2] for command in COMMANDS["lab"]}
    assert named - {"--all", "NAME"} <= {lab.name for lab in LABS}


def prepare(words: list[str]) -> None:
    """What a reader has done before the command."""
    match words[1:]:
        case ["course", "open", number, *_]:
            remove(Path(f"{find(number).name}.ipynb"))
        case ["course", "check", number, *rest]:
            write_answers(number, Path(rest[0]) if rest[:1] == ["answers.py"] else None)
        case ["train", "--data", file, "--encoding", encoding]:
            Path(file).write_bytes(Path(file).read_text("utf-8").encode(encoding))


def write_answers(number: str, file: Path | None) -> None:
    """Right answers, in a file or in the chapter's notebook."""
    if file is not None:
        file.write_text(solutions(number, "en"), "utf-8")
        return
    chapter = find(number)
    remove(Path(f"{chapter.name}.ipynb"))
    notebook = write_notebook(chapter, "en", Path())
    contents = json.loads(notebook.read_text("utf-8"))
    cell = {"cell_type": "code", "metadata": {}, "source": [solutions(number, "en")]}
    contents["cells"].append(cell)
    notebook.write_text(json.dumps(contents), "utf-8")
