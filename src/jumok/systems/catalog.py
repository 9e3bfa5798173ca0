"""Opening and loading of models from their folders."""

from dataclasses import dataclass
from pathlib import Path
from typing import overload

from jumok.bundle.reading import Bundle, read_bundle
from jumok.errors import BundleError, ConfigError, Location
from jumok.interop.layouts.catalog import is_foreign
from jumok.kinds import KINDS, Kind
from jumok.systems.base import AnySystem, System
from jumok.systems.device import EngineName, EnginePrecision

Stamp = tuple[tuple[str, int, int, int], ...]


@dataclass(frozen=True)
class OpenedModel:
    """Folders of models, read up to their weights; several are to become an ensemble.

    Attributes:
        task: what the first one is for.
        parts: the bundles; a folder of transformers was imported for this process.
    """

    task: str
    parts: tuple[Bundle, ...]

    @property
    def kind(self) -> Kind:
        return KINDS[self.task]

    @property
    def folders(self) -> tuple[Path, ...]:
        return tuple(part.folder for part in self.parts)

    @property
    def stamp(self) -> Stamp:
        """Which files are in its folders now; another one if a model was put into their place."""
        files = [file for folder in self.folders for file in sorted(folder.glob("*"))]
        try:
            status = [(str(file), file.stat()) for file in files]
        except OSError:  # it is being put there
            return ()
        return tuple((name, each.st_ino, each.st_size, each.st_mtime_ns) for name, each in status)

    @property
    def name(self) -> str:
        """The first model's name, on its card."""
        return self.parts[0].card.name

    def load(
        self,
        device: str = "auto",
        precision: EnginePrecision = "auto",
        engine: EngineName = "torch",
        threads: int = 0,
    ) -> System:
        """The system, with its weights; arguments as of `load`.

        Raises:
            BundleError: the weights are damaged, or the models do not form an ensemble.
            ConfigError: the device does not exist, or the engine does not serve the model.
        """
        system: type[System] = self.kind.entry("system")
        return system.load_on(
            engine, *self.parts, device=device, precision=precision, threads=threads
        )

    def check_verb(self, verb: str) -> None:
        """Raises a BundleError if a model is for another command."""
        for part, folder in zip(self.parts, self.folders, strict=True):
            its = KINDS[_task_of(part)].verb
            if its != verb:
                raise BundleError(
                    f"this model cannot {verb}.",
                    place=Location(folder),
                    do=f"it was trained for something else: jumok {its} {folder}",
                )


def for_languages(system: AnySystem, source: str | None, target: str | None) -> AnySystem:
    """The system for a pair of its languages; None is any (`Translator.between`).

    Raises:
        ConfigError: there is no such pair, or there are several; it is no translator.
    """
    between = getattr(system, "between", None)
    if between is not None:
        return between(source or "", target or "")
    if source or target:
        raise ConfigError(
            "only a translator has languages to choose from.",
            got=f"--from and --to for {system.task}",
            do="leave them out",
        )
    return system


def open_model(*folders: Bundle | Path | str) -> OpenedModel:
    """Reads everything of the models but their weights; a bundle that was read is not read again.

    A folder or file may also be a model of others, which is then imported (`jumok.interop`).

    Raises:
        BundleError: no folder is given; a bundle is missing, damaged or unsafe; its task is not
            known.
    """
    if not folders:
        raise BundleError("there is no model to load.", do="give the folder of a bundle")
    parts = tuple(map(_open_part, folders))
    for part in parts:
        _task_of(part)
    return OpenedModel(_task_of(parts[0]), parts)


@overload
def load(
    *folders: Path | str,
    device: str = ...,
    precision: EnginePrecision = ...,
    engine: EngineName = ...,
    threads: int = ...,
) -> System: ...


@overload
def load(
    *folders: Path | str,
    kind: type[AnySystem],
    device: str = ...,
    precision: EnginePrecision = ...,
    engine: EngineName = ...,
    threads: int = ...,
) -> AnySystem: ...


def load(
    *folders: Path | str,
    kind: type[System] = System,
    device: str = "auto",
    precision: EnginePrecision = "auto",
    engine: EngineName = "auto",
    threads: int = 0,
) -> System:
    """Loads the trained model in this folder, ready for its task; several become an ensemble.

        model = jumok.load("runs/NAME/model", kind=jumok.Translator)

    Args:
        folders: bundles, such as "runs/NAME/model".
        kind: the expected class, which is also the type for type checkers. None: any model; a
            translation model becomes a Translator.
        device: "auto" is a GPU if one is available.
        precision: "bf16" is faster on CPUs that support bfloat16; "int8" needs the native engine;
            "auto" is the bundle's format on the native engine, and "fp32" on torch.
        engine: "auto" is the native engine if it supports the model and the device is a CPU,
            otherwise torch. The native engine is faster, and gives the same answers in "fp32". The
            models on torch are loaded at the first access (`model.models`, `model.modules()`,
            `jumok.record`); once they are hooked or changed, torch computes, with all hooks and
            changes.
        threads: threads of the native engine; 0: one per core.

    Raises:
        BundleError: a bundle is missing, damaged or unsafe, its task is unknown, or it is not of
            the expected kind.
        ConfigError: the device does not exist, or the engine does not support the model.
    """
    opened = open_model(*folders)
    system = opened.kind.entry("system")
    if not issubclass(system, kind):
        raise BundleError(
            "this bundle holds another kind of model.",
            expected=kind.__name__,
            got=system.__name__,
            place=Location(Path(folders[0])),
        )
    return opened.load(device, precision, engine, threads)


def _open_part(folder: Bundle | Path | str) -> Bundle:
    if isinstance(folder, Bundle):
        return folder
    if not is_foreign(Path(folder)):
        return read_bundle(Path(folder))
    from jumok.interop.importing import imported_bundle

    return imported_bundle(Path(folder))


def _task_of(part: Bundle) -> str:
    """The task of a bundle."""
    if part.config.task not in KINDS:
        raise BundleError(
            "this jumok does not know what the bundle is for.",
            place=Location(part.folder),
            expected=", ".join(KINDS),
            got=part.config.task,
            do="pip install --upgrade jumok",
        )
    return part.config.task
