"""Fingerprints: a short name for a model, computed from its weights and sizes.

    3f2a91c07b1d-8e21          the weights, and the sizes and labels in config.json
    3f2a91c07b1d               the weights alone, of a model without its bundle
    3f2a91c07b1d-8e21+0c4d...  an ensemble

Each tensor has a SHA-256 digest of its shape and its numbers in float32; the fingerprint is the
SHA-256 of all these digests, sorted and without duplicates. So the names, storage types and memory
layouts of the tensors do not affect it. Importing this imports no torch.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from jumok.bundle.arrays import read_arrays
from jumok.bundle.reading import WEIGHTS, Bundle, read_bundle
from jumok.errors import BundleError, Place
from jumok.late import late_imports

with late_imports():
    import torch
    from torch import nn

OF_WEIGHTS, OF_CONFIG = 12, 4
"""The digits of each digest that are shown: 48 bits and 16."""

TOGETHER = "+"
"""The separator between the fingerprints of an ensemble's members."""


class Origin:
    """The bundle of a loaded model; its weights are read again when the fingerprint is needed."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._stamp = self._stamp_now()

    @property
    def folder(self) -> Path:
        """The bundle's."""
        return self._bundle.folder

    @cached_property
    def fingerprint(self) -> str:
        """The fingerprint of the bundle as it was when it was loaded.

        Raises:
            BundleError: its weights have changed since then.
        """
        self.check()
        config = self._bundle.config
        told = json.dumps([config.model, config.labels], sort_keys=True).encode()
        weights = _digest_of_arrays(read_arrays(self._bundle).values())
        return f"{weights}-{hashlib.sha256(told).hexdigest()[:OF_CONFIG]}"

    def check(self) -> None:
        """Raises a BundleError if the weights on disk have changed since the bundle was loaded."""
        if self._stamp_now() != self._stamp:
            raise BundleError(
                "the bundle on disk changed after loading, so the model in memory can no longer be "
                "identified.",
                do="load it again",
                place=Place(self._bundle.folder / WEIGHTS),
            )

    def _stamp_now(self) -> tuple[int, ...]:
        try:
            found = (self._bundle.folder / WEIGHTS).stat()
        except OSError:
            return ()
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def digest_of(tensors: Iterable[torch.Tensor]) -> str:
    """The digest of the weights, in any order; duplicates count once."""
    return _digest_of_arrays(
        tensor.detach().float().cpu().contiguous().numpy() for tensor in tensors
    )


def _digest_of_arrays(arrays: Iterable[npt.NDArray[np.float32]]) -> str:
    found = set()
    for numbers in arrays:
        digest = hashlib.sha256(str(numbers.shape).encode())
        digest.update(np.ascontiguousarray(numbers).data)
        found.add(digest.digest())
    return hashlib.sha256(b"".join(sorted(found))).hexdigest()[:OF_WEIGHTS]


def fingerprint_of(model: nn.Module) -> str:
    """The fingerprint of a model in memory, whose config is not known.

    A model cast to bfloat16 is not the model that it was cast from.
    """
    return digest_of(model.state_dict().values())


def together(fingerprints: Iterable[str]) -> str:
    """The fingerprint of an ensemble."""
    return TOGETHER.join(fingerprints)


def fingerprint_in(folder: Path | str) -> str:
    """The fingerprint of the bundle in this folder.

    Raises:
        BundleError: see `read_bundle`.
    """
    return Origin(read_bundle(Path(folder))).fingerprint
