"""Tiny runs in forked children, with a fault at one of their system calls; told as JSON lines.

    LD_PRELOAD=faults.so python fault_driver.py faults.so FOLDER SHARE

Children are forked from one process that has torch already: starting one takes a hundred times
as long as such a run. A fault is (how, number of the call); SHARE of all of them are tried, evenly.
"""

import contextlib
import ctypes
import importlib
import json
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from jumok.config import parse_config
from jumok.data.files.run_log import read_log
from jumok.data.pairs.cleaning import characters
from jumok.errors import JumokError
from jumok.training import checkpoint
from jumok.training.log import Silent
from jumok.training.run import train

WAYS = {"kill": 1, "torn": 2, "full": 3, "broken": 4, "quota": 5}
TIMES = {"seconds", "step_seconds", "cpu_seconds", "memory", "took"}
CRASHED = 99
RECIPE = {
    "name": "tiny",
    "data": {"validation_pairs": 5},
    "tokenizer": {"kind": "char", "size": 64, "byte_fallback": False},
    "model": {"dim": 16, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "feedforward": 32},
    "training": {
        "steps": 7,
        "tokens_per_batch": 300,
        "tokens_per_micro_batch": 300,
        "precision": "fp32",
        "threads": 1,
        "log_every": 2,
        "checkpoint_every": 3,
    },
    "validation": {"every": 4, "metric": "loss", "decode_pairs": 1},
}


def in_child(work: Callable[[], object], told: Path) -> int:
    """The exit status: 0; 2 with the text of a JumokError in `told`; negative by a signal."""
    process = os.fork()
    if process == 0:
        code = 0
        try:
            work()
        except JumokError as error:
            told.write_text(str(error), "utf-8")
            code = 2
        except BaseException:
            told.write_text(traceback.format_exc(), "utf-8")
            code = CRASHED
        os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def what_is_there(home: Path) -> dict[str, object]:
    """All that a run leaves, but for times: what two runs must have in common."""
    state = checkpoint.read(home / checkpoint.CURRENT)
    times = {"seconds", "step_seconds", "cpu_seconds", "validated_seconds", "validation_seconds"}
    return {
        "weights": {name: tensor.tolist() for name, tensor in state.tensors.items()},
        "progress": {
            key: value for key, value in state.run["progress"].items() if key not in times
        },
        "cursor": state.run["cursor"],
        "model": (home / "model" / "model.safetensors").read_bytes().hex(),
        "log": [
            {key: value for key, value in line.items() if key not in TIMES}
            for line in read_log(home / "log.jsonl")
        ],
        "files": sorted(each.name for each in home.iterdir()),
        "cache": sorted(each.name for each in (home.parent / ".cache").iterdir()),
    }


class Faults:
    """Runs, with and without a fault, in a folder that is emptied for each."""

    def __init__(self, shim: ctypes.CDLL, folder: Path) -> None:
        self._shim, self._runs, self._told = shim, folder / "runs", folder / "told"
        words = ["one", "two", "three", "four", "five"]
        rows = [" ".join(words[(n + i) % 5] for i in range(2 + n % 4)) for n in range(40)]
        files = {"source": folder / "a.en", "target": folder / "a.back"}
        files["source"].write_text("".join(f"{row}\n" for row in rows), "utf-8")
        files["target"].write_text("".join(f"{row[::-1]}\n" for row in rows), "utf-8")
        corpus = {side: str(file) for side, file in files.items()}
        self._config = parse_config(RECIPE | {"data": {"train": [corpus], "validation_pairs": 5}})

    @property
    def home(self) -> Path:
        return self._runs / "tiny"

    def run(self, at: int, how: int, resume: bool = False) -> int:
        count = self._runs.with_name("count")

        def work() -> None:
            self._shim.fault_arm(str(self._runs).encode(), at, how)
            try:
                train(self._config, self._runs, Silent(), resume=resume)
            finally:
                self._shim.fault_arm(b"", 0, 0) if how else count.write_text(
                    f"{self._shim.fault_count()}\n{' '.join(sys.modules)}"
                )

        return in_child(work, self._told)

    def unbroken(self) -> int:
        """Trains without a fault; how many calls a fault could meet.

        What that run has imported and looked up, no later child needs to again.
        """
        assert self.run(0, 0) == 0, self._told.read_text("utf-8")
        count, modules = self._runs.with_name("count").read_text().splitlines()
        for name in set(modules.split()) - set(sys.modules):
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        characters.kinds()
        return int(count)

    def differences(self, whole: dict[str, object]) -> list[str]:
        """In what the run differs from the unbroken one."""
        try:
            left = what_is_there(self.home)
        except Exception as error:
            return [f"unreadable: {error!r}"]
        return [key for key in whole if left[key] != whole[key]]

    def broken(self, at: int, how: int) -> tuple[str, str]:
        """How the run with this fault ended, and how the one that went on did."""
        shutil.rmtree(self._runs, ignore_errors=True)
        self._told.write_text("")
        code = self.run(at, how)
        first = {0: "ended", 2: "said", -signal.SIGKILL: "killed"}.get(code, f"crashed {code}")
        if first.startswith("crashed"):
            return first, self._told.read_text("utf-8")
        # a run that ended all the same (what it could not remove stays) is tidied like any other
        resume = (self.home / "config.json").exists()
        code = self.run(0, 0, resume)
        return first, "ended" if code == 0 else f"{code}: {self._told.read_text('utf-8')}"


def main() -> None:
    shim, folder, share = ctypes.CDLL(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3])
    faults = Faults(shim, folder)
    calls = faults.unbroken()
    whole = what_is_there(faults.home)
    print(json.dumps({"calls": calls}), flush=True)
    every = [(name, at) for at in range(1, calls + 1) for name in WAYS]
    count = max(1, round(share * len(every)))
    for name, at in (every[index * len(every) // count] for index in range(count)):
        first, then = faults.broken(at, WAYS[name])
        differs = faults.differences(whole) if then == "ended" else []
        told = {"fault": name, "at": at, "first": first, "then": then, "differs": differs}
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
