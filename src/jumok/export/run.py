"""Writing a model in a format of others: all of it, or nothing."""

import shutil
from pathlib import Path

from jumok.bundle.reading import Bundle
from jumok.data.files.atomic import force_to_disk, partial_of, sweep
from jumok.errors import BundleError, ConfigError, Location
from jumok.export.format import ExportFormat, ExportOptions


def export_model(bundle: Bundle, format: ExportFormat, output: Path, options: ExportOptions) -> str:
    """Writes the model; what was compared with the owner's code, in words.

    Raises:
        ConfigError: the output exists, or the format does not hold the model.
        BundleError: it cannot be written, or the owner's code computes other numbers.
        MissingExtraError: a package is not installed.
    """
    if output.exists():
        raise ConfigError(
            "the output exists already, and is not replaced.",
            place=Location(output),
            do="remove it, or choose another --output",
        )
    obstacle = format.obstacle(bundle)
    if obstacle is not None:
        raise ConfigError(
            f"this model cannot be exported to {format.name}, which is read by {format.reads}.",
            got=str(obstacle),
            do=f"see what it can become: jumok export {bundle.folder}",
            place=Location(bundle.folder),
        )
    return _write(bundle, format, output, options)


def _write(bundle: Bundle, format: ExportFormat, output: Path, options: ExportOptions) -> str:
    partial = partial_of(output.absolute())
    try:
        output.absolute().parent.mkdir(parents=True, exist_ok=True)
        sweep(output.absolute().parent, output.name)
        compared = format.write(bundle, partial, options)
        for path in [*(partial.rglob("*") if partial.is_dir() else ()), partial]:
            force_to_disk(path)
        partial.rename(output)
        force_to_disk(output.absolute().parent)
    except OSError as error:
        raise BundleError(
            "the export could not be written; nothing is left of it.",
            got=str(error.strerror or error),
            do="free some space, or choose a folder that you may write to",
            place=Location(output),
        ) from error
    finally:
        _remove(partial)
    return compared


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
