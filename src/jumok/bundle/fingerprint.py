"""Fingerprints: a short name for a model, computed from its weights and sizes.

    3f2a91c07b1d-8e21          the weights, and the sizes and labels in config.json
    3f2a91c07b1d               the weights alone, of a model without its bundle
    3f2a91c07b1d-8e21+0c4d...  an ensemble

It is the SHA-256 of the digests of all tensors' shapes and float32 numbers, sorted and without
duplicates: names, storage types and memory layouts do not affect it. Importing this imports no
torch.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from jumok.bundle.arrays import read_arrays
from jumok.bundle.reading import WEIGHTS, Bundle, read_bundle
from jumok.errors import BundleError, Location

if TYPE_CHECKING:
    import torch
    from torch.nn import Module

OF_WEIGHTS, OF_CONFIG = 12, 4
"""The digits of each digest that are shown: 48 bits and 16."""


class Origin:
    """The bundle of a loaded model; its weights are read again when the fingerprint is needed."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._stamp = self._stamp_now()
        self._digests: dict[torch.dtype, dict[str, bytes]] = {}

    @property
    def folder(self) -> Path:
        return self._bundle.folder

    @cached_property
    def fingerprint(self) -> str:
        """The fingerprint of the bundle as it was when it was loaded.

        Raises:
            BundleError: its weights have changed since then.
        """
        self.check()
        config = self._bundle.config
        described = json.dumps([config.model, config.labels], sort_keys=True).encode()
        weights = _digest_of_arrays(read_arrays(self._bundle).values())
        return f"{weights}-{hashlib.sha256(described).hexdigest()[:OF_CONFIG]}"

    def holds(self, model: Module) -> bool:
        """Whether each weight of the model is the bundle's, in the model's number format.

        Raises:
            BundleError: the bundle's have changed since it was loaded.
        """
        dtype = next(model.parameters()).dtype
        if dtype not in self._digests:
            self.check()
            import torch

            self._digests[dtype] = {
                name: _array_digest(_as_floats(torch.from_numpy(array).to(dtype)))
                for name, array in read_arrays(self._bundle).items()
            }
        known, state = self._digests[dtype], model.state_dict()
        own = {name: _array_digest(_as_floats(tensor)) for name, tensor in state.items()}
        # the file has tied weights once, under one of their names
        return known.items() <= own.items() and set(known.values()) == set(own.values())

    def check(self) -> None:
        """Raises a BundleError if the weights on disk have changed since the bundle was loaded."""
        if self._stamp_now() != self._stamp:
            raise BundleError(
                "the bundle on disk changed after loading, so the model in memory can no longer be "
                "identified.",
                do="load it again",
                place=Location(self._bundle.folder / WEIGHTS),
            )

    def _stamp_now(self) -> tuple[int, ...]:
        try:
            status = (self._bundle.folder / WEIGHTS).stat()
        except OSError:
            return ()
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def weights_digest(tensors: Iterable[torch.Tensor]) -> str:
    """The digest of the weights, in any order; duplicates count once."""
    return _digest_of_arrays(map(_as_floats, tensors))


def _as_floats(tensor: torch.Tensor) -> npt.NDArray[np.float32]:
    numbers: npt.NDArray[np.float32] = tensor.detach().float().cpu().contiguous().numpy()
    return numbers


def _array_digest(numbers: npt.NDArray[np.float32]) -> bytes:
    digest = hashlib.sha256(str(numbers.shape).encode())
    digest.update(np.ascontiguousarray(numbers).data)
    return digest.digest()


def _digest_of_arrays(arrays: Iterable[npt.NDArray[np.float32]]) -> str:
    digests = set(map(_array_digest, arrays))
    return hashlib.sha256(b"".join(sorted(digests))).hexdigest()[:OF_WEIGHTS]


def fingerprint_of(model: Module) -> str:
    """The fingerprint of a model in memory, without its config; it depends on the precision."""
    return weights_digest(model.state_dict().values())


def joined_fingerprint(fingerprints: Iterable[str]) -> str:
    """The fingerprint of an ensemble."""
    return "+".join(fingerprints)


def fingerprint_in(folder: Path | str) -> str:
    """The fingerprint of the bundle in this folder; see `read_bundle`."""
    return Origin(read_bundle(Path(folder))).fingerprint
