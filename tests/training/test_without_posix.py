"""Training and translating where POSIX is not, as far as it can be simulated: Windows."""

import os
import subprocess
import sys
from pathlib import Path

import jumok

# What Windows lacks or refuses: modules, opening a folder, fsync of what is open for reading alone,
# asking for a process by os.kill (which ends it there), replacing a file that is open or mapped.
WITHOUT = """
import os, shutil, sys
shutil._use_fd_functions = False  # as where folders cannot be opened
for name in ("resource", "fcntl", "termios", "pwd", "grp", "tty", "pty"):
    sys.modules[name] = None
import filelock, jumok.data.files.atomic
del sys.modules["fcntl"]  # others know what to take in its place there, and cannot here
jumok.data.files.atomic.WINDOWS = True
writable, real = set(), {name: getattr(os, name) for name in ("open", "fsync", "replace", "rename")}

def open_(path, flags, *more, **named):
    if os.path.isdir(path):
        raise PermissionError(13, "Permission denied", path)
    number = real["open"](path, flags, *more, **named)
    (writable.add if flags & (os.O_WRONLY | os.O_RDWR) else writable.discard)(number)
    return number

def fsync(number):
    import inspect
    if inspect.stack()[1].function == "force_to_disk" and number not in writable:
        raise OSError(9, "Bad file descriptor")
    real["fsync"](number)

def in_use(path):
    path = os.path.realpath(path)
    used = {os.path.realpath(f"/proc/self/fd/{each}") for each in os.listdir("/proc/self/fd")}
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return path in used or any(line.rstrip().endswith(path) for line in maps)

def replace(name):
    def renamed(source, target, **named):
        if os.path.isfile(target) and (name == "rename" or in_use(target)):
            raise PermissionError(13, "The process cannot access the file", target)
        real[name](source, target, **named)
    return renamed

def kill(*_):
    raise AssertionError("os.kill ends a process on Windows")

os.open, os.fsync, os.kill = open_, fsync, kill
os.replace, os.rename = replace("replace"), replace("rename")
from jumok.cli.main import run
run()
"""
SMALL = [
    *("training.steps=4", "training.threads=1", "training.checkpoint_every=1", "model.dim=16"),
    "training.log_every=1",
    *("validation.every=2", "validation.decode_pairs=2", "model.heads=2", "validation.metric=loss"),
    *("model.encoder_layers=1", "model.decoder_layers=1", "model.feedforward=32"),
]


def run(folder: Path, *arguments: str, given: str = "") -> str:
    paths = [str(Path(jumok.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_model_is_trained_resumed_and_translates(tmp_path, write_corpus):
    write_corpus(tmp_path)
    files = ("train", "--source", "rows.en", "--target", "rows.back", "--name", "tiny")
    settings = [word for each in SMALL for word in ("--set", each)]
    run(tmp_path, *files, *settings)
    run(tmp_path, *files, *settings, "--set", "training.steps=6", "--resume")
    home = tmp_path / "runs" / "tiny"
    log = (home / "log.jsonl").read_text("utf-8")
    assert '"memory": null' in log
    assert (home / "checkpoint.previous.json").is_file()
    assert not [each.name for each in home.iterdir() if "writing" in each.name]
    assert len(run(tmp_path, "translate", str(home / "model"), given="one two\n").splitlines()) == 1
