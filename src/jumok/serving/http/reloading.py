"""Changed bundles are loaded again at SIGHUP, while the server answers."""

import asyncio
import gc
import time
from collections.abc import Callable, Sequence

from jumok.errors import JumokError
from jumok.serving.http.models import ServedModel, Service, Serving
from jumok.serving.http.monitoring import fault_of, log
from jumok.systems.catalog import open_model

LOOK_SECONDS = 0.05
"""Between two looks at whether a model is loaded, and whether a request has ended."""


class Reloader:
    """Puts what is in the models' folders now into the place of what was loaded from them.

    Args:
        fatal: see `Engine`.
    """

    def __init__(
        self, serving: Serving, service: Service, fatal: Callable[[BaseException], None]
    ) -> None:
        self._serving, self._service, self._fatal = serving, service, fatal
        self._turn = asyncio.Lock()

    async def reload(self) -> None:
        """Loads each model whose files have changed; in place of one that cannot be loaded the old
        one stays."""
        replaced: list[ServedModel] = []
        async with self._turn:
            for old in list(self._service.models.values()):
                line: dict[str, object] = {"event": "reload", "model": old.id}
                try:
                    changed = await self._replaced(old)
                except Exception as error:
                    known = isinstance(error, JumokError)
                    line["error"] = str(error) if known else fault_of(error)
                else:
                    line |= {"changed": changed, "digest": self._service.models[old.id].digest}
                    replaced += [old] if changed else []
                log(line)
        if replaced:
            await self._end(replaced)

    async def _replaced(self, old: ServedModel) -> bool:
        """Whether there is another model now."""
        await _loaded(old)
        if old.opened.stamp == old.stamp:
            return False
        opened = await asyncio.to_thread(open_model, *old.opened.folders)
        failed: list[BaseException] = []

        def fail(error: BaseException) -> None:
            serves = self._service.models[old.id] is new
            self._fatal(error) if serves else failed.append(error)

        new = self._serving.served(self._service, old.id, opened, fail)
        new.engine.start()
        await _loaded(new)
        if failed:
            raise failed[0]
        self._service.models[old.id] = new
        return True

    async def _end(self, replaced: Sequence[ServedModel]) -> None:
        """Ends models when the requests that may use them have their answers."""
        before = set(self._service.open)
        until = time.monotonic() + self._service.settings.limits.seconds
        while before & self._service.open and time.monotonic() < until:
            await asyncio.sleep(LOOK_SECONDS)
        for old in replaced:
            old.engine.end()
            old.system = None
        gc.unfreeze()  # what was loaded before: the old weights among it
        await asyncio.to_thread(gc.collect)
        gc.freeze()


async def _loaded(model: ServedModel) -> None:
    while model.engine.state == "loading":
        await asyncio.sleep(LOOK_SECONDS)
