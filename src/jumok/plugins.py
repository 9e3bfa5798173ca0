"""Plugins: Python files that register parts, formats and kinds of models of your own.

A recipe names its plugins (`plugins = ["my_attention.py"]`), which run before the rest of the
recipe is read. A bundle contains the names and digests of the plugins of its recipe, but never
their code: loading a bundle runs no code that its user did not choose. So load the plugin before
the bundle, with `jumok --plugin FILE` or `jumok.load_plugin(FILE)`.
"""

import hashlib
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, NamedTuple

from jumok import kinds, parts
from jumok.environment import is_named_pipe
from jumok.errors import BundleError, ConfigError, JumokError, Location
from jumok.kinds import Kind, register_kind
from jumok.specs import Spec


class Plugin(NamedTuple):
    """A plugin that has run: its file, the SHA-256 of its content, and its registrations by role
    and name.
    """

    file: Path
    digest: str
    registered: frozenset[tuple[str, str]] = frozenset()

    @property
    def in_models(self) -> bool:
        """Whether models may need the plugin; formats are needed by data only."""
        return any(role != "format" for role, _ in self.registered)


LOADED: dict[str, Plugin] = {}
"""The plugins of this process by the names of their files."""

REGISTERED: ContextVar[set[tuple[str, str]] | None] = ContextVar("jumok_registered", default=None)
"""The registrations of the plugin that is running."""


def register(
    role: str, name: str, part: Callable[..., object] | str | Kind, spec: Spec | None = None
) -> None:
    """Adds a part, a format or a kind of model of your own, under a name for recipes.

        jumok.register("score", "cosine", CosineScore)

    Args:
        role: a role of the table in `jumok.parts`, which shows how each is built, or "kind"
            (`jumok.kinds`).
        part: the builder of the part, or its place as "module:name"; for "kind", the record.
        spec: the record of the part (`jumok.specs`). None: `jumok plan` and the native engine
            reject models with this part.

    Raises:
        ConfigError: the role does not exist, or another part has the name.
    """
    if role == "kind":
        if not isinstance(part, Kind):
            raise ConfigError("a kind of model is a jumok.Kind.", got=type(part).__name__)
        register_kind(name, part)
    elif isinstance(part, Kind) or not (callable(part) or isinstance(part, str)):
        raise ConfigError(
            f"this cannot be a {role}.",
            expected='something that can be called, or "module:name"',
            got=type(part).__name__,
        )
    else:
        parts.register(role, name, part, spec)
    registered = REGISTERED.get()
    if registered is not None:
        registered.add((role, name))


def load_plugin(file: Path | str) -> str:
    """Runs a plugin, a Python file that calls `jumok.register`, once per process. If the plugin
    raises an error, its registrations are undone.

    Returns:
        The name of the plugin, which is the name of the file.

    Raises:
        ConfigError: the file does not exist or raises an error, or another plugin has its name.
    """
    file = Path(file)
    if is_named_pipe(file):  # it is read more than once
        raise ConfigError("the plugin is a pipe, not a file.", place=Location(file))
    try:
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError as error:
        raise ConfigError(
            "the plugin cannot be read.", got=str(error.strerror), place=Location(file)
        ) from error
    known = LOADED.get(file.name)
    if known is not None and known.digest != digest:
        raise ConfigError(
            "another plugin of this name has been loaded.",
            do="rename one of the two files",
            place=Location(file),
        )
    if known is not None:
        return file.name
    spec = spec_from_file_location(f"jumok_plugin_{file.stem}", file.resolve())
    if spec is None or spec.loader is None:
        raise ConfigError(
            "a plugin is a Python file.", expected="NAME.py", got=file.name, place=Location(file)
        )
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    before = {role: frozenset(table) for role, table in _tables().items()}
    registered: set[tuple[str, str]] = set()
    outer = REGISTERED.set(registered)
    try:
        spec.loader.exec_module(module)
        LOADED[file.name] = Plugin(file.absolute(), digest, frozenset(registered))
    except JumokError:
        raise
    except Exception as error:
        line = _line_of(error, file)
        raise ConfigError(
            "the plugin raised an error.",
            got=f"{type(error).__name__}: {error}",
            place=Location(file, line),
        ) from error
    finally:
        REGISTERED.reset(outer)
        if file.name not in LOADED:
            for role, name in registered:
                if name not in before[role]:
                    del _tables()[role][name]
    return file.name


def _tables() -> dict[str, dict[str, Any]]:
    """What plugins add to, by role."""
    return {**parts.PARTS, "kind": kinds.KINDS}


def loaded() -> Mapping[str, Plugin]:
    """The plugins of this process, by the names of their files."""
    return LOADED


def digests_of(files: Iterable[Path]) -> dict[str, str]:
    """The names and digests of the plugins of a recipe, for its bundle. Plugins that only register
    formats are left out, because the model does not need them.
    """
    known = {file.name: LOADED[file.name] for file in files}
    return {name: plugin.digest for name, plugin in known.items() if plugin.in_models}


def file_of(name: str) -> Path:
    """The file of a loaded plugin."""
    return LOADED[name].file


def require(needed: Mapping[str, str], bundle: Path) -> None:
    """Checks that the plugins of a bundle are loaded; warns if the content of one differs.

    Raises:
        BundleError: a plugin is missing.
    """
    for name, digest in needed.items():
        if name not in LOADED:
            raise BundleError(
                f"this bundle needs the plugin {name}, which has not been loaded.",
                do=f"jumok --plugin PATH/{name} ..., or export JUMOK_PLUGINS=PATH/{name}; in "
                f'Python jumok.load_plugin("PATH/{name}")',
                place=Location(bundle),
            )
        if LOADED[name].digest != digest:
            warnings.warn(
                f"{bundle}: the plugin {name} is not the one that the model was trained with; "
                "the model may compute something else",
                stacklevel=2,
            )


def _line_of(error: BaseException, file: Path) -> int | None:
    """The line of the plugin where the error was raised."""
    trace, line = error.__traceback__, getattr(error, "lineno", None)
    while trace is not None:
        if Path(trace.tb_frame.f_code.co_filename) == file.resolve():
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
