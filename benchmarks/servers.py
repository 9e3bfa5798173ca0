"""Servers of the same weights: jumok's, LibreTranslate's, CTranslate2's behind FastAPI.

Each is a process in its own environment, held to one core, and is started as its users start it.
"""

import json
import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from benchmarks.environments import FOLDER, OUR_COMMAND, OURS, python_of, version_of
from benchmarks.errors import BenchmarkError
from benchmarks.load import Question, Reply
from benchmarks.process import cpu_seconds, one_thread_environment, peak_bytes, pinned, stop

SECONDS = 300.0
"""The time limit for a start: LibreTranslate computes for 30 seconds, on a core of its own."""

AVX512 = {"CT2_FORCE_CPU_ISA": "AVX512"}
"""CTranslate2 takes its AVX2 kernels on AMD processors unless it is told otherwise."""


@dataclass(frozen=True)
class Dialect:
    """How a server is asked for a translation, and where its answer is.

    Attributes:
        question: (text, beam) -> the request.
        ready: the path that answers 200 once the server translates.
        text: the translation in an answer.
    """

    question: Callable[[str, int], Question]
    ready: str
    text: Callable[[Reply], str]


def _jumok_text(reply: Reply) -> str:
    answers = reply.json["answers"]
    assert isinstance(answers, list)
    return str(answers[0]["text"])


JUMOK = Dialect(
    lambda text, beam: Question("/v1/translate", {"text": text, "beam": beam}),
    "/health/ready",
    _jumok_text,
)
FASTAPI = Dialect(
    lambda text, beam: Question("/translate", {"text": text, "beam": beam}),
    "/health",
    lambda reply: str(reply.json["text"]),
)


def libretranslate(source: str, target: str) -> Dialect:
    """LibreTranslate takes no beam: its own is set when it is started."""
    return Dialect(
        lambda text, _: Question("/translate", {"q": text, "source": source, "target": target}),
        "/languages",
        lambda reply: str(reply.json["translatedText"]),
    )


@dataclass(frozen=True)
class Kind:
    """A server that can be started.

    Attributes:
        name: in the table.
        environment: what it needs beside the model is made by programs of this one.
        command: (folder of the model, port) -> the command.
        variables: (folder of the model, beam) -> variables of its environment.
    """

    name: str
    dialect: Dialect
    command: Callable[[Path, int], Sequence[str | Path]]
    environment: str = OURS
    variables: Callable[[Path, int], Mapping[str, str]] = field(default=lambda *_: {})


@dataclass(frozen=True)
class Server:
    """A running server.

    Attributes:
        session: of its processes.
        log: what it wrote.
    """

    kind: Kind
    url: str
    session: int
    log: Path

    @property
    def cpu(self) -> float:
        """CPU-seconds that its processes have used."""
        return cpu_seconds(self.session)

    @property
    def peak(self) -> int:
        """The highest memory of its processes, in bytes."""
        return peak_bytes(self.session)


def jumok_server(name: str, *options: str) -> Kind:
    """`jumok serve` of this environment."""
    return Kind(
        name,
        JUMOK,
        lambda folder, port: [
            *(*OUR_COMMAND, "serve", f"m={folder / 'model'}"),
            *("--port", str(port), "--grace", "0", *options),
        ],
    )


def ctranslate2_server(how: str, variables: Mapping[str, str]) -> Kind:
    """CTranslate2 behind FastAPI."""
    version = version_of("ctranslate2-server", "ctranslate2")
    told = ", AVX512" if variables else ""
    return Kind(
        f"FastAPI + CTranslate2 {version} int8{told}, {how}",
        FASTAPI,
        lambda folder, port: [
            python_of("ctranslate2-server"),
            FOLDER / "workers" / "ctranslate2_server.py",
            *(folder / "packages" / "model", str(port), how),
        ],
        "ctranslate2-server",
        lambda *_: variables,
    )


def libretranslate_server(source: str, target: str) -> Kind:
    """LibreTranslate with Argos Translate, as it starts but for the sentence splitter."""

    def variables(folder: Path, beam: int) -> Mapping[str, str]:
        return {
            "ARGOS_PACKAGES_DIR": str(folder / "packages"),
            "ARGOS_BEAM_SIZE": str(beam),
            "ARGOS_CHUNK_TYPE": "SPACY",
            "XDG_DATA_HOME": str(folder / "argos" / "data"),
            "XDG_CACHE_HOME": str(folder / "argos" / "cache"),
            "XDG_CONFIG_HOME": str(folder / "argos" / "config"),
        }

    return Kind(
        f"LibreTranslate {version_of('libretranslate', 'libretranslate')} + Argos",
        libretranslate(source, target),
        lambda _, port: [
            python_of("libretranslate").parent / "libretranslate",
            *("--host", "127.0.0.1", "--port", str(port), "--disable-files-translation"),
        ],
        "libretranslate",
        variables,
    )


def peers(source: str, target: str) -> list[Kind]:
    """The servers that are compared."""
    return [
        jumok_server("jumok serve"),
        jumok_server("jumok serve --precision int8", "--precision", "int8"),
        ctranslate2_server("each", {}),
        ctranslate2_server("together", {}),
        ctranslate2_server("together", AVX512),
        libretranslate_server(source, target),
    ]


def written_package(bundle: Path, folder: Path, kinds: Sequence[Kind]) -> Path:
    """The folder with the bundle as model/, and as a package of Argos Translate as packages/ if one
    of the servers is not jumok's.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "model").exists():
        (folder / "model").symlink_to(bundle.resolve(), target_is_directory=True)
    config = json.loads((bundle / "config.json").read_text("utf-8"))
    package, cache = folder / "packages" / "model", folder / "argos" / "cache"
    needed = {kind.environment for kind in kinds} - {OURS}
    workers: list[tuple[str, str, list[str | Path]]] = []
    if needed:
        workers.append((OURS, "jumok_weights.py", [folder]))
        workers.append(("ctranslate2-server", "argos_package.py", [folder]))
    if "libretranslate" in needed:
        given = [package, cache, config["source_language"]]
        workers.append(("libretranslate", "libretranslate_sentences.py", given))
    for environment, worker, arguments in workers:
        command = [python_of(environment), FOLDER / "workers" / worker, *arguments]
        subprocess.run(command, check=True)
    return folder


@contextmanager
def started(kind: Kind, folder: Path, beam: int, core: int) -> Iterator[Server]:
    """A server on a free port, which is stopped at the end.

    Raises:
        BenchmarkError: it ended, or does not answer.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = folder / f"{kind.name.split(' ')[0]}-{port}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            pinned(kind.command(folder, port), core),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env=one_thread_environment() | dict(kind.variables(folder, beam)),
            start_new_session=True,
            cwd=folder,
        )
    try:
        server = Server(kind, f"http://127.0.0.1:{port}", process.pid, log)
        _wait(server, process)
        yield server
    finally:
        stop(process)


def _wait(server: Server, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + SECONDS
    while time.monotonic() < until and process.poll() is None:
        with suppress(httpx.TransportError):  # it does not listen yet
            answer = httpx.get(f"{server.url}{server.kind.dialect.ready}", timeout=SECONDS)
            if answer.status_code == 200:
                return
        time.sleep(0.1)
    said = server.log.read_text("utf-8", errors="replace").strip()[-500:]
    raise BenchmarkError(f"{server.kind.name} did not start: {said}")


def hold_to_another_core(core: int) -> None:
    """Keeps this process, which sends the requests, off the core of the servers."""
    others = os.sched_getaffinity(0) - {core}
    if others:
        os.sched_setaffinity(0, others)
