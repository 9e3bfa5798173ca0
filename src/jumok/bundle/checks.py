"""Checks before a bundle's weights are read: their sizes, and the free memory. Imports no torch."""

from collections.abc import Mapping
from pathlib import Path

from jumok.bundle.reading import CONFIG, WEIGHTS, Bundle
from jumok.config.section import ModelSection
from jumok.errors import BundleError, Location, ModelError
from jumok.models.size import BYTES, check_memory, memory

COMPUTED = 1 << 30
"""The most bytes of tables that are computed, not stored: those of positions."""
KIB = 1024


def check_config_size(bundle: Bundle, config: ModelSection) -> None:
    """Raises a BundleError for a model that is much larger than the weights."""
    file = bundle.config
    most = COMPUTED + 2 * BYTES * bundle.parameters
    try:
        check_memory(config, file.vocabulary_size, len(file.labels), most)
    except ModelError as error:
        raise BundleError(
            "the sizes in config.json are not those of the weights.",
            expected=f"the sizes of a model of {bundle.parameters:,} numbers",
            got=f"{error.what} {error.got}",
            do="get an undamaged copy: config.json and model.safetensors belong together",
            place=Location(bundle.folder / CONFIG),
        ) from error


def check_alignment(bundle: Bundle, layers: int) -> None:
    """Raises a BundleError if the alignment setting names a layer or head that is not there.

    Args:
        layers: the number of the decoder's cross-attentions.
    """
    config, heads = bundle.config, bundle.config.model.get("heads")
    for what, index, count in (
        ("layer", config.alignment_layer, layers),
        ("head", config.alignment_head, heads),
    ):
        if index is not None and isinstance(count, int) and index >= count:
            raise BundleError(
                f"the alignment setting names a {what} that this model does not have.",
                expected=f"alignment_{what} below {count}, or null",
                got=str(index),
                do="get an undamaged copy of the bundle",
                place=Location(bundle.folder / CONFIG),
            )


def check_tensors(bundle: Bundle, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Raises a BundleError if a tensor of the bundle is not in `shapes`, or has another shape."""
    if unknown := [name for name in bundle.tensors if name not in shapes]:
        more = f" and {len(unknown) - 1} more" if unknown[1:] else ""
        raise BundleError(
            "this model was trained with other code: it has weights that config.json does not "
            "describe.",
            place=Location(bundle.folder / WEIGHTS),
            expected="the tensors of the model that config.json describes",
            got=f"{unknown[0]}{more}",
            do="load it with the code that it was trained with: a newer jumok, or your own parts",
        )
    for name, tensor in bundle.tensors.items():
        if tensor.shape != shapes[name]:
            raise unfit(bundle, f"{name} of shape {tensor.shape}, not {shapes[name]}")


def unfit(bundle: Bundle, got: str) -> BundleError:
    """The error for weights that are not those of the described model."""
    return BundleError(
        "the weights do not fit the model that config.json describes.",
        place=Location(bundle.folder / WEIGHTS),
        got=got,
        do="get an undamaged copy: config.json and model.safetensors belong together",
    )


def check_free_memory(bundle: Bundle, needed: int, system: Path = Path("/")) -> None:
    """Raises a BundleError if the free memory is less than `needed` bytes.

    Most systems promise more memory than they have, and end the process that uses it, so an
    allocation that succeeds is no sign.

    Args:
        system: the root of the files that tell how much is free.
    """
    free = free_memory(system)
    if needed > free:
        smaller = "" if bundle.precision == "int8" else ", or a smaller file: jumok quantize"
        raise BundleError(
            "the model does not fit into the memory that is free.",
            expected=f"{needed / 1e9:,.2f} GB for the weights",
            got=f"{free / 1e9:,.2f} GB free",
            do=f"end other programs, or use a machine with more memory{smaller}",
            place=Location(bundle.folder / WEIGHTS),
        )


def free_memory(system: Path = Path("/")) -> int:
    """The bytes that this process can still use, within the limit of its container; elsewhere than
    on Linux, all of the machine's. What a file cache holds counts as free.

    Source: proc(5), MemAvailable; the kernel's documentation of control groups, memory.max.
    """
    meminfo = _numbers_in(system / "proc" / "meminfo")
    free = meminfo["MemAvailable:"] * KIB if "MemAvailable:" in meminfo else memory()
    group = system / "sys" / "fs" / "cgroup"
    limit, used = (_number_in(group / name) for name in ("memory.max", "memory.current"))
    if limit is None or used is None:  # no limit, or not version 2
        return free
    return min(
        free, max(0, limit - used + _numbers_in(group / "memory.stat").get("inactive_file", 0))
    )


def _number_in(file: Path) -> int | None:
    try:
        return int(file.read_text("ascii"))
    except (OSError, ValueError):
        return None


def _numbers_in(file: Path) -> dict[str, int]:
    try:
        lines = (line.split() for line in file.read_text("ascii").splitlines())
        return {name: int(number) for name, number, *_ in lines if number.isdecimal()}
    except (OSError, ValueError):
        return {}
