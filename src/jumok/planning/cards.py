"""Graphics cards by their data sheets, and the share of the peak that training reaches."""

import difflib
from dataclasses import dataclass, replace

from jumok.errors import ConfigError

T, GB = 1e12, 1e9

LINK_SHARE = 0.78
"""The share of a link's data-sheet rate that sums over cards reach: 350 of the H100's 450 GB/s."""


@dataclass(frozen=True)
class Accelerator:
    """One device.

    Attributes:
        name: as --card names it.
        bf16: peak of dense products in bfloat16 with float32 sums, FLOP/s; None: it has none.
        fp32: peak of products in float32 outside of tensor cores, FLOP/s.
        memory: bytes.
        bandwidth: of its memory, bytes/s.
        link: to the other cards of a node, in one direction, bytes/s.
        network: its share of a usual node's network, in one direction, bytes/s.
        share: of the peak that training reaches, where nothing else is known.
        because: where that share comes from.
        source: of the other figures.
    """

    name: str
    bf16: float | None
    fp32: float
    memory: float
    bandwidth: float
    link: float
    network: float
    share: float
    because: str
    source: str

    def peak(self, precision: str) -> float:
        """FLOP/s in "bf16" or "fp32"; in float32 where there is no bfloat16."""
        return self.fp32 if precision == "fp32" or self.bf16 is None else self.bf16


_MEASURED = (
    "published runs of models of 10^8 parameters on {} reach {}; jumok is not measured on it"
)
_NOT_MEASURED = "an assumption, as on the A100; jumok is not measured on it"
_SHEET = "NVIDIA's data sheet"

CARDS: dict[str, Accelerator] = {
    each.name: each
    for each in (
        Accelerator(
            *("v100", None, 15.7 * T, 32 * GB, 900 * GB, 150 * GB, 6.25 * GB, 0.6),
            "an assumption for float32: tensor cores compute float16, which jumok does not use",
            f"{_SHEET} (SXM2, 32 GB); network: DGX-1, 4 x 100 Gb/s",
        ),
        Accelerator(
            *("a100", 312 * T, 19.5 * T, 80 * GB, 2039 * GB, 300 * GB, 25 * GB, 0.33),
            _MEASURED.format("an A100", "28 to 33 %"),
            f"{_SHEET} (SXM, 80 GB); network: DGX A100, 8 x 200 Gb/s",
        ),
        Accelerator(
            *("h100", 989 * T, 67 * T, 80 * GB, 3350 * GB, 450 * GB, 50 * GB, 0.35),
            _MEASURED.format("an H100", "32 to 46 %"),
            f"{_SHEET} (SXM); network: DGX H100, 8 x 400 Gb/s",
        ),
        Accelerator(
            *("h200", 989 * T, 67 * T, 141 * GB, 4800 * GB, 450 * GB, 50 * GB, 0.35),
            "measured: 33 % in a Transformer of base size, 42 % in GPT-2's 124 M "
            "(docs/benchmarks/gpu.md)",
            f"{_SHEET} (SXM); network: DGX H200, 8 x 400 Gb/s",
        ),
        Accelerator(
            *("l4", 121 * T, 30.3 * T, 24 * GB, 300 * GB, 32 * GB, 1.56 * GB, 0.33),
            _NOT_MEASURED,
            f"{_SHEET} (half of its figure with sparsity; PCIe 4); network: 100 Gb/s for 8 cards",
        ),
        Accelerator(
            *("t4", None, 8.1 * T, 16 * GB, 320 * GB, 16 * GB, 1.56 * GB, 0.6),
            "an assumption for float32: tensor cores compute float16, which jumok does not use",
            f"{_SHEET} (PCIe 3); network: 100 Gb/s for 8 cards",
        ),
        Accelerator(
            *("rtx-4090", 165 * T, 82.6 * T, 24 * GB, 1008 * GB, 32 * GB, 1.56 * GB, 0.33),
            _NOT_MEASURED,
            "NVIDIA's paper on the Ada architecture (PCIe 4); network: 100 Gb/s for 8 cards",
        ),
        Accelerator(
            *("cpu", 0.206 * T, 0.087 * T, 4 * GB, 20 * GB, 20 * GB, 0.16 * GB, 0.65),
            "measured: 65 to 68 % of the speed of a core's products, at a width of 256; narrower "
            "models reach less",
            "one core: products of a Zen 4, measured; 4 GB and 20 GB/s of the machine's memory, "
            "10 Gb/s for 8 cores",
        ),
    )
}
"""By their names; the cores of processors are counted as cards."""


def card_named(name: str, memory: float | None = None) -> Accelerator:
    """The card of this name.

    Args:
        memory: bytes, of a card with another memory.

    Raises:
        ConfigError: there is none; the text names the nearest.
    """
    wanted = name.lower()
    if wanted not in CARDS:
        near = difflib.get_close_matches(wanted, CARDS, n=1)
        raise ConfigError(
            "there is no card of this name in the table.",
            expected=", ".join(CARDS),
            got=name,
            do=f"did you mean {near[0]}?" if near else "choose the nearest of these",
        )
    card = CARDS[wanted]
    return card if memory is None else replace(card, memory=memory)
