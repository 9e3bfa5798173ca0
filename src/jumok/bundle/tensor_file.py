"""Writing of safetensors files tensor by tensor: the library's own writer holds all of them once
more as bytes, and its errors do not say that a disk is full.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

DTYPES = {
    torch.int64: "I64",
    torch.float32: "F32",
    torch.int32: "I32",
    torch.bfloat16: "BF16",
    torch.float16: "F16",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}
"""The types of tensors in bundles as safetensors names them, in the order that it writes them."""
ALIGNMENT = 8
"""The first byte after the header is a multiple of it."""


def write_tensors(file: Path, tensors: Mapping[str, Tensor]) -> str:
    """Writes the file, as the library would; its SHA-256.

    Raises:
        OSError: it cannot be written.
    """
    order = list(DTYPES)
    names = sorted(tensors, key=lambda name: (order.index(tensors[name].dtype), name))
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name in names:
        tensor, start = tensors[name], end
        end += tensor.numel() * tensor.element_size()
        header[name] = {
            "dtype": DTYPES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [start, end],
        }
    head = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    head += b" " * (-len(head) % ALIGNMENT)
    digest = hashlib.sha256()
    with file.open("wb") as stream:
        for part in (len(head).to_bytes(8, "little"), head):
            digest.update(part)
            stream.write(part)
        for name in names:
            numbers = tensors[name].detach().cpu().contiguous().flatten()
            data = numbers.view(torch.uint8).numpy().data
            digest.update(data)
            stream.write(data)
    return digest.hexdigest()
