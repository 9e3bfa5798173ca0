"""One GPU: how fast jumok trains on it, and whether it computes there what it computes elsewhere.

    make bench-gpu
    python -m benchmarks.gpu --minutes 8 --json gpu.json
    python -m benchmarks.gpu --tiny --device cpu      # what the tests run: the code, not the card

Rows: a Transformer of base size (6 + 6 layers of 512, 32,000 subwords), and GPT-2's 124 M with
rows of 1,024 tokens, both in bfloat16, with CUDA graphs and without; beside them Hugging Face's
Marian and GPT-2 with the same sizes and batches, eager and compiled, if transformers is installed.
Sentences are random and of one length: what is measured is arithmetic, and not data.

Without a GPU it says so and exits with 2; with 1 if a check fails.
"""

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from unittest.mock import patch

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.gpu_checks import checks
from benchmarks.gpu_peers import PEERS, Update
from jumok.attention import fused
from jumok.config import TrainingConfig, TransformerConfig
from jumok.config.causal import CausalConfig
from jumok.data.pairs.batches import Batch, collate, on_device
from jumok.data.planned import Planned
from jumok.data.texts.windows import TextBatch
from jumok.models.catalog import DataSizes, build
from jumok.training.devices.prefetch import prefetch
from jumok.training.learner import Learner
from jumok.training.objectives import next_token, translation
from jumok.training.task import MicroBatch, Objective

NO_CARD = 2
PEAKS = {"H100": 989e12, "H200": 989e12, "A100": 312e12, "V100": 125e12}
"""The data sheets' FLOP/s of bfloat16 products (V100: float16), without sparsity."""


@dataclass(frozen=True)
class Shape:
    """One model, and its micro-batches.

    Attributes:
        rows, length: sentences of a micro-batch, and tokens of each.
        micro: micro-batches of an update.
    """

    name: str
    section: TransformerConfig | CausalConfig
    vocabulary: int
    rows: int
    length: int
    micro: int

    @property
    def objective(self) -> Objective:
        """What is minimized."""
        return translation if isinstance(self.section, TransformerConfig) else next_token

    def batches(self, seed: int) -> list[MicroBatch]:
        """The micro-batches of an update, of random tokens."""
        random = torch.Generator().manual_seed(seed)
        return [self._batch(random) for _ in range(self.micro)]

    def _batch(self, random: torch.Generator) -> Batch | TextBatch:
        shape = (self.rows, self.length)
        if isinstance(self.section, TransformerConfig):
            sides = torch.randint(4, self.vocabulary, (2, *shape), generator=random)[:, :, 1:]
            return collate(*sides.tolist())
        tokens = torch.randint(4, self.vocabulary, shape, generator=random)
        following = tokens.roll(-1, 1)
        return TextBatch(tokens, following, None, tokens.numel())


BASE = TransformerConfig(
    dim=512, heads=8, encoder_layers=6, decoder_layers=6, feedforward=2048, dropout=0.1
)
GPT2 = CausalConfig(
    dim=768,
    heads=12,
    layers=12,
    feedforward=3072,
    activation="gelu",
    positions="learned",
    max_length=1024,
    dropout=0.0,
)
SHAPES = (
    Shape("base en-de", BASE, 32_000, 1024, 32, 1),
    Shape("GPT-2 124M", GPT2, 50_304, 16, 1024, 2),
)
TINY = (
    Shape("base en-de", TransformerConfig(dim=32, heads=2, encoder_layers=1, decoder_layers=1,
          feedforward=32), 61, 3, 5, 2),
    Shape("GPT-2 124M", CausalConfig(dim=32, heads=2, layers=1, feedforward=32,
          positions="learned", max_length=8, dropout=0.0), 61, 2, 8, 2),
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """What one trainer reached.

    Attributes:
        tokens: target tokens a second.
        share, measured: of the data sheet's FLOP/s, and of those of a large product; None: unknown.
        memory: peak bytes on the card.
        waits: for the card, an update; None: it was not counted.
    """

    shape: str
    trainer: str
    tokens: float
    share: float | None
    measured: float
    memory: int
    waits: float | None


def main(given: Sequence[str] | None = None) -> int:
    """Measure, print the table, and check; see the module."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--tiny", action="store_true", help="tiny sizes, for tests")
    parser.add_argument("--minutes", type=float, default=8.0, help="what does not fit is left out")
    parser.add_argument("--json", type=Path, help="also write the rows here")
    options = parser.parse_args(given)
    device = torch.device(options.device)
    if device.type == "cuda" and not torch.cuda.is_available():
        print("there is no GPU with CUDA here: nothing was measured.", file=sys.stderr)
        return NO_CARD
    ends = time.monotonic() + 60 * options.minutes
    failed = 0
    for name, fault in checks(device):
        print(f"{name}: {fault or 'yes'}", flush=True)
        failed += fault is not None
    product = product_rate(device, 64 if options.tiny else 8192)
    print(f"\n{card_name(device)}: {product / 1e12:.3g} TFLOP/s in a large product")
    print("\n| model | trainer | tokens/s | of peak | of a product | memory | waits |")
    print("|---|---|---|---|---|---|---|", flush=True)
    rows = []
    for row in measured(TINY if options.tiny else SHAPES, device, product, ends):
        rows.append(row)
        print(line(row), flush=True)
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n")
    return 1 if failed else 0


def measured(
    shapes: Sequence[Shape], device: torch.device, product: float, ends: float
) -> Iterator[Row]:
    """A row for each trainer of each shape, as long as there is time; on a CPU, of each tool."""
    for shape in shapes:
        flops = flops_per_token(shape, device)
        for name, make in trainers(shape).items():
            if device.type == "cpu" and name.endswith((", compiled", ", without CUDA graphs")):
                continue
            if time.monotonic() > ends:
                print(f"no time was left for {shape.name}, {name}", file=sys.stderr)
                continue
            if device.type == "cuda":
                torch.cuda.empty_cache()
                torch.cuda.reset_peak_memory_stats(device)
            rate, waits = rate_of(make(device), shape, device, min(ends, time.monotonic() + 60))
            peak = peak_of(device)
            yield Row(
                shape.name,
                name,
                rate,
                None if peak is None else rate * flops / peak,
                rate * flops / product,
                torch.cuda.max_memory_allocated(device) if device.type == "cuda" else 0,
                waits,
            )


def trainers(shape: Shape) -> dict[str, Callable[[torch.device], Update]]:
    """What makes an update of the shape, by name; a peer that is not installed is left out."""
    peers = {
        f"{name}, compiled" if compiled else name: partial(
            make, shape.section, shape.vocabulary, compiled=compiled
        )
        for name, make in PEERS[shape.section.kind].items()
        for compiled in (False, True)
    }
    ours = {
        "jumok": partial(jumok, shape, recorded=True),
        "jumok, without CUDA graphs": partial(jumok, shape, recorded=False),
    }
    return {**ours, **peers}


def jumok(shape: Shape, device: torch.device, *, recorded: bool) -> Update:
    """An update by the Learner, with batches made ahead."""
    learner = learner_of(shape, device, recorded=recorded)
    steps = iter(range(1, 1 << 30))
    return lambda batches: float(learner.update(batches, next(steps), 1e-4).loss)


def learner_of(shape: Shape, device: torch.device, *, recorded: bool = True) -> Learner:
    """The training of the shape's model, the same each time."""
    config = TrainingConfig(cuda_graphs=recorded, weight_decay=0.1)
    return Learner(model_of(shape, device), shape.objective, config, 1, torch.bfloat16)


def model_of(shape: Shape, device: torch.device) -> nn.Module:
    """The model, the same each time."""
    torch.manual_seed(1)
    return build(shape.section, DataSizes(vocabulary=shape.vocabulary)).to(device)


class _Batches:
    """Random updates without end, made before: four, again and again."""

    epoch_steps = 1.0

    def __init__(self, shape: Shape) -> None:
        self._updates = [shape.batches(number) for number in range(4)]
        self._made = 0

    def __next__(self) -> list[MicroBatch]:
        return [each.collate() for each in self.planned()]

    def planned(self) -> list[Planned[MicroBatch]]:
        """The next update."""
        self._made += 1
        batches = self._updates[self._made % 4]
        return [Planned(batch.work, partial(_itself, batch)) for batch in batches]

    @property
    def cursor(self) -> dict[str, object]:
        """The number of updates."""
        return {"update": self._made}

    def restore(self, cursor: dict[str, int]) -> None:
        """Goes on after so many updates."""
        self._made = cursor["update"]


def _itself(batch: MicroBatch) -> MicroBatch:
    return batch


def rate_of(
    update: Update, shape: Shape, device: torch.device, ends: float
) -> tuple[float, float | None]:
    """Target tokens a second over 20 updates after 5, fewer at the end; and waits an update."""
    source = prefetch(_Batches(shape), device, lambda batches: range(len(batches)))
    for _ in range(5):
        update(next(source))
    wait(device)
    began, tokens, count = time.perf_counter(), 0, 0
    while count < 20 and (count < 3 or time.monotonic() < ends):
        batches = next(source)
        update(batches)
        tokens += sum(batch.targets for batch in batches)
        count += 1
    wait(device)
    rate = tokens / (time.perf_counter() - began)
    return rate, waits_of(lambda: update(next(source)), device)


def waits_of(once: Callable[[], object], device: torch.device) -> float | None:
    """How often torch says that the host waits for the card; None: there is no card."""
    if device.type != "cuda":
        return None
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        try:
            once()
        finally:
            torch.cuda.set_sync_debug_mode("default")
    return float(sum("synchronizing" in str(each.message) for each in said))


def flops_per_token(shape: Shape, device: torch.device) -> float:
    """Of both passes, counted in their products; on a CPU without the attention of C kernels."""
    model = model_of(shape, device).to(torch.bfloat16).train()
    batch = on_device(shape.batches(0)[0], device)
    in_place = {torch.ops.aten.addmm_: addmm_flops}
    counter = FlopCounterMode(display=False, custom_mapping=in_place)
    # Products of Triton's kernels are not counted, so attention is computed by torch here.
    with patch.object(fused, "in_sentences", lambda *_: None), counter as counted:
        shape.objective(model, batch, 0.1).backward()
    return float(counted.get_total_flops() / batch.targets)


def addmm_flops(
    _into: Sequence[int], left: Sequence[int], right: Sequence[int], **_: object
) -> int:
    """The operations of a product that is added in place, unknown to torch's counter."""
    return 2 * left[0] * left[1] * right[1]


def product_rate(device: torch.device, size: int) -> float:
    """FLOP/s of a product of two square matrices in bfloat16: the best of ten."""
    left, right = torch.randn(2, size, size, device=device).to(torch.bfloat16)
    best = float("inf")
    for _ in range(12):
        wait(device)
        began = time.perf_counter()
        left @ right
        wait(device)
        best = min(best, time.perf_counter() - began)
    return float(2 * size**3 / best)


def wait(device: torch.device) -> None:
    """Until the card has done everything."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def card_name(device: torch.device) -> str:
    """What torch calls it."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type


def peak_of(device: torch.device) -> float | None:
    """The FLOP/s of the card's data sheet; None: it is not in PEAKS."""
    return next((peak for part, peak in PEAKS.items() if part in card_name(device)), None)


def line(row: Row) -> str:
    """A row of the table."""
    share = "-" if row.share is None else f"{row.share:.0%}"
    waits = "-" if row.waits is None else f"{row.waits:.0f}"
    return (
        f"| {row.shape} | {row.trainer} | {row.tokens:,.0f} | {share} | {row.measured:.0%} | "
        f"{row.memory / 2**30:.1f} GiB | {waits} |"
    )


if __name__ == "__main__":
    sys.exit(main())
