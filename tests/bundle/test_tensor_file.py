"""Files of tensors are byte by byte those of the safetensors library."""

import hashlib

import torch
from safetensors.torch import load_file, save

from jumok.bundle.tensor_file import DTYPES, write_tensors


def test_the_bytes_are_those_of_the_library(tmp_path):
    generator = torch.Generator().manual_seed(7)
    tensors = {
        f"{name}.{dtype}": (torch.randn(sizes, generator=generator) * 90).to(dtype)
        for dtype in DTYPES
        for name, sizes in (("b", (3, 5)), ("ä", (7,)), ("one", ()), ("none", (0, 2)))
    }
    tensors["turned"] = torch.randn(5, 3, generator=generator).t()
    digest = write_tensors(tmp_path / "file", tensors)
    written = (tmp_path / "file").read_bytes()
    expected = save({name: each.contiguous() for name, each in tensors.items()}, {"format": "pt"})
    assert written == expected
    assert digest == hashlib.sha256(written).hexdigest()
    for name, tensor in load_file(tmp_path / "file").items():
        assert torch.equal(tensor, tensors[name]), name
