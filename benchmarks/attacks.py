"""What `benchmarks.attack` does to the processes, the disks and the pages of a model."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress

import html5lib
import httpx

from benchmarks.broken import COMMANDS, FAULTS, SECONDS, Breaker, compiled
from benchmarks.campaign import LABELS, Area, Campaign
from benchmarks.environments import OUR_COMMAND
from benchmarks.kills import children
from benchmarks.load import LOST, Question, closed_loop
from benchmarks.serving import loaded
from jumok.bundle.reading import read_bundle
from jumok.engine.wasm import missing_compiler
from jumok.serving.http.processes import MOST_RESTARTS
from tests.serving.http.process import ServedProcess, serving

ASKED = [Question("/v1/translate", {"text": f"the cat saw {word}"}) for word in "abcdefgh"]
DOCUMENT = b"# The cat\n\n" + b"The **cat** saw a dog.\n\n" * 40


def attack_workers(asked: Campaign) -> Iterator[Area]:
    """Processes of a server, and the readers of its documents, that are killed while they work."""
    area, number = Area("killed server processes"), asked.many("workers", 2)
    draw = random.Random(f"workers {asked.seed}")
    while area.cases < number:
        folder = asked.folder / f"workers{area.cases}"
        count = min(number - area.cases, MOST_RESTARTS)
        with serving(folder, f"en-ko={asked.model}", "--processes", "2") as server:
            before, _ = loaded(server.url, lambda target: closed_loop(target, ASKED, 4))
            for _ in range(count):
                _kill_one(server, draw, area, [each.json["answers"] for each in before])
    yield area
    area, number = Area("killed processes that read documents"), asked.many("workers", 2)
    with serving(asked.folder / "reader", f"en-ko={asked.model}", "--grace", "0") as server:
        whole = _sent(server)
        for _ in range(number):
            area.cases += 1
            for each in children(server.process):
                os.kill(each, signal.SIGKILL)
            if _sent(server)[0] not in (200, 400) or _sent(server) != whole:
                area.fails("wrong", "another answer after its reader was killed")
    yield area


def _kill_one(server: ServedProcess, draw: random.Random, area: Area, right: list[object]) -> None:
    """Kills one process while requests are answered; all that are answered have to be right."""
    area.cases += 1
    alive = children(server.process)
    killer = subprocess.Popen(
        [sys.executable, "-c", "import os, sys, time\ntime.sleep(float(sys.argv[1]))\n"
         "os.kill(int(sys.argv[2]), 9)", str(draw.random() / 5), str(draw.choice(alive[1:]))]
    )  # fmt: skip
    replies, _ = loaded(server.url, lambda target: closed_loop(target, ASKED * 8, 4))
    killer.wait()
    for place, reply in enumerate(replies):
        if reply.status not in (200, 503, LOST):
            area.fails("crashes", f"status {reply.status}: {reply.body[:100]!r}")
        elif reply.status == 200 and reply.json["answers"] != right[place % len(right)]:
            area.fails("wrong", f"{reply.body[:100]!r}")
    until = time.monotonic() + 60.0
    while time.monotonic() < until and server.process.poll() is None:
        with suppress(httpx.TransportError):
            ready = [httpx.get(f"{server.url}/health/ready").status_code for _ in range(8)]
            if ready == [200] * 8 and len(children(server.process)) == len(alive):
                return
        time.sleep(0.1)
    area.fails("hangs", f"not ready a minute after a kill: {server.errors[-200:]}")


def _sent(server: ServedProcess) -> tuple[int, bytes]:
    """The status and the translation of a document."""
    with server.client() as client:
        answer = client.post(
            "/translate_file",
            data={"source": "en", "target": "ko"},
            files={"file": ("a.md", DOCUMENT)},
        )
        if answer.status_code != 200:
            return answer.status_code, b""
        return 200, client.get(answer.json()["translatedFileUrl"]).content


def attack_broken(asked: Campaign) -> Iterator[Area]:
    """Commands that write: each of their writes is refused, or they are killed there."""
    library = compiled(asked.folder)
    if library is None:
        return
    for name, command in COMMANDS.items():
        if name == "export" and missing_compiler() is not None:
            continue
        area = Area(f"killed commands and failing writes: {name}")
        draw = random.Random(f"broken {name} {asked.seed}")
        breaker, calls = Breaker(library, asked.folder, asked.model, command), 0
        with area.trying("no fault"):
            calls = breaker.calls()
            whole = breaker.output()
        for number in range(asked.many("broken", len(FAULTS)) if calls else 0):
            kind, at = list(FAULTS)[number % len(FAULTS)], draw.randint(1, calls)
            fault = f"{kind} at call {at} of {calls}"
            with area.trying(fault):
                for what in breaker.wrong(kind, at, whole):
                    area.fails("wrong", f"{fault}: {what}")
        yield area


FULL_DISK = """
mount -t tmpfs -o size=4M tmpfs /dev/shm && mkdir -p {folder}/full &&
mount -t tmpfs -o size=4M tmpfs {folder}/full && export TMPDIR={folder}/full || exit 99
head -c 8M /dev/zero > /dev/shm/full 2> {folder}/said
head -c 8M /dev/zero > {folder}/full/full 2> {folder}/said
exec "$@"
"""


def attack_full(asked: Campaign) -> Iterator[Area]:
    """Commands while /dev/shm and the temporary folder are full, in a namespace of their own."""
    area = Area("full /dev/shm and temporary folder: translate, evaluate, look, quantize, export")
    folder = asked.folder / "work"
    breaker = Breaker(folder, asked.folder, asked.model, ())
    for name, command in COMMANDS.items():
        if name == "export" and missing_compiler() is not None:
            continue
        breaker.prepare()
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        given = [
            each.replace("MODEL", str(asked.model.resolve())).replace("OUT", str(folder / "out"))
            for each in command
        ]
        with area.trying(name):
            done = subprocess.run(
                [
                    *("unshare", "-m", "sh", "-c", FULL_DISK.format(folder=folder), "sh"),
                    *(*OUR_COMMAND, *given),
                ],
                cwd=asked.folder / "home",
                capture_output=True,
                text=True,
                timeout=SECONDS,
                check=False,
            )
            if done.returncode in (1, 99) and "jumok" not in done.stderr:
                return  # only root may mount
            if done.returncode not in (0, 2) or "Traceback" in done.stderr:
                area.fails("crashes", f"{name}: {done.returncode}: {done.stderr[-300:]}")
    yield area


def attack_exports(asked: Campaign) -> Iterator[Area]:
    """Pages of `jumok export` whose title and examples are markup, code, or no text."""
    if missing_compiler() is not None:
        return
    from jumok.decoding.options import FOR_TRANSLATION
    from jumok.systems.in_page.translator import WebTranslator

    area = Area("exported pages with markup in titles and examples")
    translator = WebTranslator(read_bundle(asked.model), "int8", FOR_TRANSLATION)
    shape = _shape(translator.page("a", ["b"]))
    for number in range(asked.many("exports", len(LABELS))):
        draw = random.Random(f"export {asked.seed} {number}")
        title, example = (draw.choice(LABELS) + draw.choice(LABELS) for _ in range(2))

        def case(title: str = title, example: str = example) -> list[str]:
            found = _shape(translator.page(title or "a", [example]))
            return [] if found == shape else [f"{len(shape)} elements became {len(found)}"]

        area.tries(repr((title, example))[:80], case)
    yield area


def _shape(page: str) -> list[str]:
    """The elements of a page, as a browser makes them."""
    parsed = html5lib.parse(page, namespaceHTMLElements=False)
    return [str(element.tag) for element in parsed.iter()]
