"""The commands of the documents: filled in, made short and run, all in one way.

They run in this process. Those that serve are processes: they start, answer and hear Ctrl-C.
"""

import filecmp
import glob
import itertools
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import traceback
from pathlib import Path
from unittest import mock

import httpx

from tests.cli.calls import call
from tests.cli.shelf import shorter
from tests.serving.http.process import ServedProcess

NOT_RUN = {
    "jumok --install-completion": "it changes the shell of whoever runs the tests",
    "jumok demo": "it takes minutes; tests/cli/test_demo.py",
    "jumok lab --all": "it takes half an hour; tests/jumok_lectures/test_report.py",
    "jumok lab coreference": "it takes minutes; tests/jumok_lectures/test_coreference.py",
    "jumok serve --ray": "it needs Ray; tests/serving/http/test_cluster.py",
    "--workers ray": "it needs Ray",
    "training.device=cuda": "it needs an NVIDIA GPU; tests/gpu/test_on_card.py",
}
"""By what a command contains: why it is not run, and the test of the same."""
MODELS = {
    "caption": "CAPTIONER",
    "fill": "runs/nsmc-mlm/model",
    "generate": "runs/shakespeare/model",
}
"""By verb: what MODEL stands for where it is no translator."""
FILLED = {
    "generate MODEL --chat": "generate CHAT --chat",
    "look MODEL photo": "look CAPTIONER photo",
    "MODEL FILE --from en --to de": "SEVERAL FILE --from en --to de",
    "train --from MODEL --text": "train --from runs/shakespeare/model --text",
    "--evaluate FILE": "--evaluate analogies.txt",
    "--output MODEL": "--output imported",
    "--text book.txt": "--text new.txt",
    "train NAME": "train RECIPE",
    "show NAME": "show multi30k-rnn",
    "runs/NAME": "runs/tiny",
    '"..."': '"I am a student."',
    " ... ": " SEVERAL --source test.en --reference test.de ",
    " LINKS": " '0-0 1-1 2p2'",
    " PROMPT": " Once",
    " WORD": " student",
}
"""What stands for something, and a thing of that kind; all other names are files of the shelf."""
SHORTER = {
    **dict.fromkeys(("translate", "caption", "evaluate"), "--maximum-length 9"),
    "generate": "--max-tokens 9",
    "quantize": "--force untrained",
    "smallworld": "--held-out 5",
    "serve": "--port 0",
}
"""By verb: options that make a command short, or possible with models that nobody trained."""
GIVEN = "I am a student.\nThe cat saw a dog.\n"
"""The standard input of every command."""
SECONDS = 120.0


def filled_in(command: str) -> str:
    """The command, with names of the shelf in place of those of the document."""
    for name, thing in FILLED.items():
        command = command.replace(name, thing)
    model = MODELS.get(command.split()[1], "MODEL")
    return re.sub(r"(?<![\w/])MODEL(?![\w/])", model, command)


def words_of(command: str) -> list[str]:
    """The words that a shell reads, and options that make the command short."""
    words = [os.path.expandvars(word) for word in shlex.split(command)]
    words = [name for word in words for name in sorted(glob.glob(word)) or [word]]
    more = shlex.split(SHORTER.get(words[1], ""))
    if words[1] in ("train", "sweep"):
        more = [*shorter(words[2]), *(["--trials", "2"] if "--trials" in words else [])]
    return [*words, *more]


def remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)


class Runner:
    """Runs commands of documents in the working folder, a copy of the shelf."""

    def __init__(self) -> None:
        self._kept = {each.name for each in Path("runs").iterdir()}

    def run(self, command: str) -> None:
        """Runs a command, unless it cannot be run here; it has to succeed."""
        if any(each in command for each in NOT_RUN):
            return
        words = words_of(filled_in(command))
        pairs = list(itertools.pairwise(words))
        written = [Path(name) for option, name in pairs if option in ("--output", "--save")]
        for each in written:
            remove(each)
        lacking = [each for each in words if is_placeholder(each) and Path(each) not in written]
        assert not lacking, f"{command}: {lacking} are neither in FILLED nor files of the shelf"
        if words[1] in ("train", "sweep") and "--resume" not in words:
            self._make_room(words)
        if words[1] == "serve" or (words[1] == "look" and not {"--save", "--to"} & {*words}):
            open_page(words)
            return
        if "onnx" in words:  # torch does not trace functions whose shapes the tests check
            subprocess.run([sys.executable, "-m", *words], check=True, timeout=SECONDS)
            return
        with mock.patch.object(sys, "argv", words):  # several processes start the same command
            done = call(*words[1:], given=GIVEN)
        told = "".join(traceback.format_exception(done.exception)) if done.exit_code else ""
        assert done.exit_code == 0, f"{command}\n{shlex.join(words)}\n{done.output}\n{told}"
        for each in written:
            assert each.exists(), f"{command}: there is no {each}"
            if words[1] == "translate" and each.is_file():
                assert not filecmp.cmp(words[3], each, shallow=False), f"{command} changed nothing"

    def _make_room(self, words: list[str]) -> None:
        """Leaves the runs that other commands read, and none of the name of the new one."""
        recipe = Path(words[2]).stem
        new = {recipe if words[1] == "train" else f"{recipe}-sweep"}
        if "--name" in words:
            new.add(words[words.index("--name") + 1])
        for each in Path("runs").iterdir():
            if each.name not in self._kept or each.name in new:
                shutil.rmtree(each)


def is_placeholder(word: str) -> bool:
    """Whether this is a name in capitals without a thing of that name."""
    return re.fullmatch(r"[A-Z][A-Z_]+(\.\w+)?", word) is not None and not Path(word).exists()


def open_page(words: list[str]) -> None:
    """Starts a server, reads its page, and ends it with Ctrl-C."""
    folder = Path("served")
    folder.mkdir(exist_ok=True)
    with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
        process = subprocess.Popen(
            [sys.executable, "-m", *words],
            stdout=out,
            stderr=err,
            # A process in the background may ignore Ctrl-C; one at a terminal does not.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
        )
    try:
        page = httpx.get(ServedProcess(process, folder).url, timeout=SECONDS)
        assert "<html" in page.text
        process.send_signal(signal.SIGINT)
        assert process.wait(SECONDS) == 0, (folder / "stderr").read_text("utf-8")
    finally:
        process.kill()
