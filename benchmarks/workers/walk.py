"""Runs `jumok ARGUMENTS` and writes which files of jumok its calls passed through, as JSON.

    python walk.py REPORT translate MODEL text.txt

A hop is a call in another file than the call before it; importing a module and building a class
are no calls. SIGUSR1 begins and SIGUSR2 ends the counting, so that of a server one request alone
is counted.
"""

import json
import os
import signal
import sys
import threading
from pathlib import Path
from types import CodeType, FrameType

BODIES = ("<module>", "<lambda>", "<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")


class Walk:
    """What was called since the last `begin`."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.paths: dict[CodeType, str | None] = {}
        self.ended = False
        self.begin()

    def begin(self) -> None:
        self.files: set[str] = set()
        self.functions: set[CodeType] = set()
        self.hops, self.last = 0, ""

    def path_of(self, frame: FrameType) -> str | None:
        """The file of a function of jumok; None: it is not jumok's, or no function."""
        code = frame.f_code
        is_function = code.co_flags & 0x2 or code.co_name in BODIES[1:]  # CO_NEWLOCALS
        is_class = "__qualname__" in code.co_names and "__module__" in code.co_names
        path = code.co_filename
        wanted = path.startswith(self.source) and is_function and not is_class
        return path if wanted and code.co_name != "<module>" else None

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        if event != "call" or self.ended:
            return
        code = frame.f_code
        if code not in self.paths:
            self.paths[code] = self.path_of(frame)
        path = self.paths[code]
        if path is None:
            return
        self.files.add(path)
        self.functions.add(code)
        self.hops += path != self.last
        self.last = path

    def end(self) -> None:
        self.ended = True

    def report(self) -> dict[str, object]:
        return {
            "files": len(self.files),
            "hops": self.hops,
            "functions": len(self.functions),
            "names": sorted(os.path.relpath(each, self.source) for each in self.files),
        }


def main(report: str, *arguments: str) -> None:
    from jumok import __file__ as package

    walk = Walk(str(Path(package).parent))
    signal.signal(signal.SIGUSR1, lambda *_: walk.begin())
    signal.signal(signal.SIGUSR2, lambda *_: walk.end())
    sys.argv = ["jumok", *arguments]
    threading.setprofile(walk)
    sys.setprofile(walk)
    try:
        from jumok.cli.main import run

        run()
    finally:
        sys.setprofile(None)
        Path(report).write_text(json.dumps(walk.report(), indent=1), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
