"""The command as a process of its own: exit codes, and what starting it imports."""

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from jumok.cli import main
from jumok.errors import JumokError
from tests.cli.calls import imported, python

RUN = "from jumok.cli.main import run; run()"
HEAVY = {"torch", "numpy", "sacrebleu", "sentencepiece", "safetensors"}


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return python(RUN, *arguments, check=False)


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["info"], ["translate", "-h"]])
def test_starting_imports_nothing_heavy(tiny_bundle: Path, arguments: list[str]) -> None:
    heavy = HEAVY
    if arguments == ["info"]:  # what the engine has is asked of its own modules
        arguments, heavy = ["info", str(tiny_bundle)], HEAVY - {"numpy", "safetensors"}
    assert imported(heavy, *arguments)[1] == set()


def test_importing_jumok_imports_nothing_heavy() -> None:
    code = f"import sys, jumok; dir(jumok); print({HEAVY!r} & set(sys.modules))"
    assert python(code).stdout == "set()\n"


def test_help_needs_no_recipe() -> None:
    """pydantic and the sections of recipes take as long to import as the rest of the command."""
    code = "import sys, jumok.cli.main; print({'pydantic', 'jumok.config'} & set(sys.modules))"
    assert python(code).stdout == "set()\n"


def test_the_module_is_the_command() -> None:
    command = [sys.executable, "-m", "jumok", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == run("--help").stdout
    assert "Usage: jumok " in done.stdout


def test_the_version_is_known_everywhere() -> None:
    import jumok

    assert run("--version").stdout == f"jumok {jumok.__version__}\n"
    assert jumok.__version__ == version("jumok")


def test_a_shell_can_complete_commands_and_recipes() -> None:
    """As bash asks: by the words of the line, and the number of the one that is begun."""

    def completions(line: str) -> list[str]:
        words = line.split(" ")
        asked = {"_JUMOK_COMPLETE": "complete_bash", "COMP_WORDS": line}
        variables = {**os.environ, **asked, "COMP_CWORD": str(len(words) - 1)}
        return python(RUN, check=False, env=variables).stdout.split()

    assert completions("jumok tra") == ["train", "translate"]
    recipes = ["multi30k-en-de", "multi30k-en-de-fr", "multi30k-modern", "multi30k-rnn"]
    assert completions("jumok recipes show multi") == recipes


def test_threads_of_the_environment_are_counted(tiny_bundle: Path) -> None:
    code = (
        "import atexit, sys\n"
        "def tell():\n"
        "    import torch; print(torch.get_num_threads(), file=sys.stderr)\n"
        "atexit.register(tell)\n"
        f"sys.argv = ['jumok', 'translate', {str(tiny_bundle)!r}, *sys.argv[1:]]\n"
        "from jumok.cli.main import run; run()"
    )

    def threads(asked: str, *arguments: str) -> str:
        variables = {**os.environ, "OMP_NUM_THREADS": "2", "JUMOK_THREADS": asked}
        done = python(code, *arguments, check=False, env=variables, input="the cat\n")
        return done.stderr.strip()

    torch = ("--engine", "torch")
    assert threads("1", *torch) == "1"
    assert threads("1", *torch, "--threads", "2") == "2"
    assert threads("many").startswith("error: the environment variable JUMOK_THREADS is not")


def test_modules_that_windows_lacks_are_not_needed(tiny_bundle: Path, tmp_path: Path) -> None:
    """Windows as far as Linux can play it."""
    (tmp_path / "in").write_text("the cat\nI am\n", "utf-8")
    words = ["translate", str(tiny_bundle), str(tmp_path / "in"), "-o", str(tmp_path / "out")]
    code = (
        "import sys\n"
        "for name in ('fcntl', 'resource', 'termios', 'pwd', 'grp'): sys.modules[name] = None\n"
        f"sys.argv = ['jumok', *{words!r}]\n"
        "from jumok.cli.main import run; run()"
    )
    done = python(code, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out").read_text("utf-8").count("\n") == 2
    assert sorted(each.name for each in tmp_path.iterdir()) == ["in", "out"]


def test_help_teaches_commands_that_exist() -> None:
    text = run("--help").stdout
    first_steps = text.splitlines()[-24:]
    assert any("jumok train --source a.en --target a.ko" in line for line in first_steps)
    assert any('jumok look runs/a/model "I am a student."' in line for line in first_steps)
    for verb in ("translate", "evaluate", "score", "info"):
        assert f" {verb} " in text


def test_fault_of_the_user_is_words_on_stderr_and_exit_code_2(tmp_path: Path) -> None:
    done = run("info", tmp_path / "nothing")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert "there is no such bundle" in done.stderr
    assert "Traceback" not in done.stderr


def test_unknown_option_is_exit_code_2() -> None:
    done = run("info", "--colour", "red", "x")
    assert done.returncode == 2
    assert "No such option: --colour" in done.stderr


def test_reader_that_leaves_early_is_no_error(tiny_bundle: Path) -> None:
    command = [sys.executable, "-c", RUN, "translate", str(tiny_bundle)]
    command += ["--beam", "1", "--maximum-length", "3"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stdin.write("the cat\n" * 40)
        process.stdin.close()
        assert process.stderr.read() == ""


def test_interrupt_is_exit_code_130() -> None:
    code = (
        "import jumok.cli.main as main, os, signal\n"
        # a shell's background jobs ignore the signal, and so would this
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "@main.app.command()\n"
        "def wait(): os.kill(os.getpid(), signal.SIGINT)\n"
        "import sys; sys.argv = ['jumok', 'wait']; main.run()"
    )
    done = python(code, check=False)
    assert done.returncode == 130
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("asked", "policy"), [({}, "PASSIVE"), ({"OMP_WAIT_POLICY": "ACTIVE"}, "ACTIVE")]
)
def test_threads_wait_asleep_unless_the_user_says_otherwise(tiny_bundle, asked, policy):
    """OpenMP itself tells what it heard when torch brought it in."""
    environment = {**os.environ, "OMP_DISPLAY_ENV": "TRUE", **asked}
    done = python(RUN, "translate", tiny_bundle, input="the cat", env=environment)
    if "OPENMP DISPLAY ENVIRONMENT" not in done.stderr:
        pytest.skip("this torch was built with another OpenMP than GNU's")
    assert f"OMP_WAIT_POLICY = '{policy}'" in done.stderr


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (MemoryError("Unable to allocate 8 TiB"), "there is not enough memory"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), "there is not enough memory"),
        (JumokError("what is wrong"), "what is wrong"),
    ],
)
def test_what_a_person_can_mend_is_said_in_plain_words(monkeypatch, capsys, raised, said):
    def fail(prog_name: str) -> None:
        raise raised

    monkeypatch.setattr(main, "app", fail)
    with pytest.raises(SystemExit) as caught:
        main.run()
    assert caught.value.code == 2
    assert f"error: {said}" in capsys.readouterr().err


def test_another_fault_is_not_hidden(monkeypatch):
    def fail(prog_name: str) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(main, "app", fail)
    with pytest.raises(RuntimeError, match="a bug"):
        main.run()


def test_importing_jumok_before_torch_lets_threads_wait_asleep():
    environment = {**os.environ, "OMP_DISPLAY_ENV": "TRUE"}
    environment.pop("OMP_WAIT_POLICY", None)
    done = python("import jumok, torch; torch.ones(9)", env=environment)
    if "OPENMP DISPLAY ENVIRONMENT" not in done.stderr:
        pytest.skip("this torch was built with another OpenMP than GNU's")
    assert "OMP_WAIT_POLICY = 'PASSIVE'" in done.stderr
