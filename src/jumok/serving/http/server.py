"""One server process: the address, the signals, the engines, and the end."""

import asyncio
import contextlib
import math
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable

import uvicorn

try:
    import resource
except ImportError:  # Windows has none
    resource = None  # type: ignore[assignment]

from jumok.errors import ConfigError
from jumok.serving.http.app import application
from jumok.serving.http.connections import HEAD_BYTES, Connection
from jumok.serving.http.engine import EngineBroken
from jumok.serving.http.models import Service, Serving
from jumok.serving.http.monitoring import log
from jumok.serving.http.reloading import Reloader

EXIT_BROKEN = 70
"""The exit code after an engine's failure (EX_SOFTWARE), for whoever restarts the process."""

RELOAD: signal.Signals | None = getattr(signal, "SIGHUP", None)
"""The signal at which changed models are loaded again; Windows has none."""

BACKLOG = 1024

SWITCH_SECONDS = 0.0005
"""After which a thread that computes lets the one that answers go on. Python's own 5 ms would be
added to each of the few steps of an answer."""

OTHER_FILES = 64
"""Open files of the process that are no connections."""


def handle_signals(
    service: Service, server: uvicorn.Server, reload: Callable[[], Awaitable[None]]
) -> None:
    """Lets signals end the server in steps, and SIGHUP call `reload`; called in its event loop.

    The first SIGTERM: not ready, but requests are answered for the seconds of `grace`; then no new
    ones are, and the process ends when the running ones have their answers. SIGINT (Ctrl-C) skips
    the grace. A second signal ends the process at once. At the end uvicorn gives the signals back,
    and does not know of them, so that the exit code is 0.
    """
    loop = asyncio.get_running_loop()

    def close() -> None:
        service.closed = server.should_exit = True

    def handle(number: int, _: object) -> None:
        if service.draining:
            server.force_exit = server.should_exit = True
            return
        service.draining = True
        grace = 0.0 if number == signal.SIGINT else service.settings.grace
        loop.call_soon_threadsafe(loop.call_later, grace, close)

    reloading = set[asyncio.Task[None]]()

    def begin() -> None:
        task = asyncio.ensure_future(reload(), loop=loop)
        reloading.add(task)
        task.add_done_callback(reloading.discard)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handle)
    if RELOAD is not None:
        signal.signal(RELOAD, lambda *_: loop.call_soon_threadsafe(begin))
        let_reload(True)


def let_reload(lets: bool) -> None:
    """Whether the signal RELOAD reaches this thread; what it starts begins so. It waits meanwhile,
    and does not end a process that is being started."""
    if RELOAD is not None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK if lets else signal.SIG_BLOCK, {RELOAD})


def listen(host: str, port: int, shared: bool = False) -> socket.socket:
    """A socket that listens at the address.

    Args:
        shared: whether the system spreads connections over several sockets there.

    Raises:
        ConfigError: the address does not exist here, or the port is taken.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        # asyncio turns off Nagle's delay (40 ms an answer) only where the protocol is named.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as error:
        raise ConfigError(
            "cannot listen at this address.",
            got=f"{host}, port {port}: {error.strerror}",
            do="choose another --port; 0 is any free one",
        ) from error
    return listener


def allow_files(connections: int) -> None:
    """Permits this process files for so many connections, and as many that are refused."""
    if resource is not None:
        now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = 2 * connections + OTHER_FILES
        if most != resource.RLIM_INFINITY:
            wanted = min(wanted, most)
        if now != resource.RLIM_INFINITY and now < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def address_of(listener: socket.socket) -> str:
    """As a browser names it."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve_forever(serving: Serving, listener: socket.socket) -> int:
    """Serves the models until a signal ends it; returns the exit code.

    Raises:
        JumokError: a model cannot be loaded. Any other error of loading or of the start is raised
            as well.
    """
    failed: list[BaseException] = []

    def fatal(error: BaseException) -> None:
        failed.append(error)
        server.should_exit = True

    @contextlib.asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[None]:
        try:
            handle_signals(service, server, Reloader(serving, service, fatal).reload)
        except Exception as error:  # uvicorn only logs it
            fatal(error)
            raise
        yield
        service.reader.close()

    service = serving.service(fatal)
    limits = serving.settings.limits
    config = uvicorn.Config(
        application(service, lifespan),
        http=Connection,
        h11_max_incomplete_event_size=HEAD_BYTES - 1,
        log_config=None,
        log_level="critical",  # what uvicorn reports is in the log already
        access_log=False,
        server_header=False,
        timeout_keep_alive=math.ceil(limits.idle_seconds),
        lifespan="on",
        ws="none",
    )
    server = uvicorn.Server(config)
    allow_files(limits.connections)
    sys.setswitchinterval(SWITCH_SECONDS)
    for model in service.models.values():
        model.engine.start()
    try:
        server.run(sockets=[listener])
    except SystemExit as ended:  # uvicorn's end after an error of the lifespan
        fatal(RuntimeError(f"the server did not start (uvicorn ended with {ended.code})"))
    if not failed:
        return 0
    if not isinstance(failed[0], EngineBroken):
        raise failed[0]
    log({"event": "end", "error": str(failed[0])})
    print(f"error: {failed[0]}", file=sys.stderr)
    return EXIT_BROKEN
