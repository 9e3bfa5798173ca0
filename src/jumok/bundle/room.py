"""Whether a model fits into the memory that is free, before its weights are read.

Most systems promise more memory than they have, and end the process that uses it. So an allocation
that succeeds is no sign that there is room.
"""

from pathlib import Path

from jumok.bundle.reading import WEIGHTS, Bundle
from jumok.errors import BundleError, Place
from jumok.machine_memory import free_memory


def check_room(bundle: Bundle, needed: int, system: Path = Path("/")) -> None:
    """Checks the memory that is free.

    Args:
        needed: bytes.
        system: the root of the files that tell how much is free.

    Raises:
        BundleError: it is less than the model needs.
    """
    free = free_memory(system)
    if needed > free:
        smaller = "" if bundle.precision == "int8" else ", or a smaller file: jumok quantize"
        raise BundleError(
            "the model does not fit into the memory that is free.",
            expected=f"{needed / 1e9:,.2f} GB for the weights",
            got=f"{free / 1e9:,.2f} GB free",
            do=f"end other programs, or use a machine with more memory{smaller}",
            place=Place(bundle.folder / WEIGHTS),
        )
