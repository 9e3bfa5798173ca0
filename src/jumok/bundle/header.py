"""The tensors of model.safetensors by its header alone."""

from collections.abc import Mapping
from pathlib import Path

from jumok.data.files.header import Entry
from jumok.data.files.header import read_header as read_any_header
from jumok.errors import BundleError, Place


def read_header(file: Path) -> Mapping[str, Entry]:
    """The tensors by their names.

    Raises:
        BundleError: not safetensors, or truncated.
    """
    try:
        return read_any_header(file).entries
    except ValueError as error:
        raise BundleError(
            "the weights cannot be read.",
            got=str(error),
            do="copy or download the bundle again",
            place=Place(file),
        ) from error
