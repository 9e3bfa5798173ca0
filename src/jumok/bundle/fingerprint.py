"""Which model it was: a short name that is made of what a model computes with.

    3f2a91c07b1d-8e21          the weights, and the sizes and labels in config.json
    3f2a91c07b1d               the weights alone, of a model that comes without its bundle
    3f2a91c07b1d-8e21+0c4d...  models that work together

Of each tensor the SHA-256 of its shape and its numbers in float32 is taken, and of all of these, in
order and each once, the SHA-256 again. So a model has one fingerprint however its bundle stores it,
whatever its tensors are called, and in whatever layout they lie in memory.
"""

import hashlib
import json
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

from safetensors.torch import load_file
from torch import Tensor, nn

from jumok.bundle.reading import WEIGHTS, Bundle, read_bundle
from jumok.errors import BundleError, Place

OF_WEIGHTS, OF_CONFIG = 12, 4
"""Digits that are shown of each digest: 48 bits and 16."""

TOGETHER = "+"
"""Stands between the fingerprints of models that work together."""


class Origin:
    """A bundle that a model was loaded from; its weights are read again when somebody asks."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._stamp = self._stamp_now()

    @cached_property
    def fingerprint(self) -> str:
        """Of the bundle as it was when it was loaded.

        Raises:
            BundleError: its weights were written anew since then.
        """
        file = self._bundle.folder / WEIGHTS
        if self._stamp_now() != self._stamp:
            raise BundleError(
                "the bundle was written anew since it was loaded: nobody can say any more which "
                "model is in memory.",
                do="load it again",
                place=Place(file),
            )
        config = self._bundle.config
        told = json.dumps([config.model, config.labels], sort_keys=True).encode()
        weights = digest_of(load_file(file).values())
        return f"{weights}-{hashlib.sha256(told).hexdigest()[:OF_CONFIG]}"

    def _stamp_now(self) -> tuple[int, ...]:
        try:
            found = (self._bundle.folder / WEIGHTS).stat()
        except OSError:
            return ()
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def digest_of(tensors: Iterable[Tensor]) -> str:
    """Of the weights, in whatever order they come; one that comes twice counts once."""
    found = set()
    for tensor in tensors:
        numbers = tensor.detach().float().cpu().contiguous().numpy()
        digest = hashlib.sha256(str(numbers.shape).encode())
        digest.update(numbers.data)
        found.add(digest.digest())
    return hashlib.sha256(b"".join(sorted(found))).hexdigest()[:OF_WEIGHTS]


def fingerprint_of(model: nn.Module) -> str:
    """Of a model in memory, whose config nobody knows.

    One that computes in bfloat16 is another model than the one that it was made of.
    """
    return digest_of(model.state_dict().values())


def together(fingerprints: Iterable[str]) -> str:
    """Of models that work together."""
    return TOGETHER.join(fingerprints)


def fingerprint_in(folder: Path | str) -> str:
    """Of the bundle in this folder.

    Raises:
        BundleError: see `read_bundle`.
    """
    return Origin(read_bundle(Path(folder))).fingerprint
