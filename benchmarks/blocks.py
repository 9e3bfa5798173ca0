"""What each part of today's blocks buys at this size: a model with it against the same without.

    python -m benchmarks.blocks                                  # shakespeare, seeds 1, 2, 3
    python -m benchmarks.blocks --recipe smallworld-en-ko --set training.minutes=5
    python -m benchmarks.blocks --only sinks relu2 --seeds 1 --set training.steps=100

Every run is one `jumok train` with the keys of the part, for the same steps or minutes; runs are
kept as PART-s1, PART-s2, ..., and an existing one is not trained again. The table has the change of
the lowest validation loss, seed against seed, as a mean with its sample standard deviation, the
parameters, and the processor time of a run against that without the part. A change is worth
something where it is more than twice its deviation; with three seeds, even that happens by chance.
"""

import argparse
import json
import statistics
from dataclasses import dataclass
from pathlib import Path

from benchmarks.seeds import jumok

PLAIN = "plain"

PARTS: dict[str, tuple[str, ...]] = {
    "relu2": ("model.activation=relu2",),
    "swiglu": ("model.feedforward_kind=gated", "model.activation=silu"),
    "rms": ("model.norm_kind=rms",),
    "qk-norm": ('model.process_heads=["qk-norm"]',),
    "score-cap": ("model.score_cap=30.0",),
    "logit-cap": ("model.logit_cap=15.0",),
    "sinks": ("model.sinks=true",),
    "head-gate": ('model.process_output=["head-gate"]',),
    "element-gate": ('model.process_output=["element-gate"]',),
    "value-residual": ("model.value_residual=true",),
    "experts": ("model.experts=8",),
    "differential": ("model.attention_kind=differential",),
    "latent": ("model.attention_kind=latent",),
    "linear": ("model.attention_kind=linear",),
}
"""By name, the keys that turn a part on. SwiGLU has a third matrix: give it two thirds of the width
by `--set` for the same parameters."""


@dataclass(frozen=True)
class Run:
    """One training.

    Attributes:
        loss: the lowest of its validations, in nats per target.
        parameters: those of the model.
        cpu_seconds: of its steps.
    """

    loss: float
    parameters: int
    cpu_seconds: float


def main() -> None:
    """Trains what is missing, and prints the table as it grows."""
    given = _arguments()
    chosen = given.only or list(PARTS)
    plain = [_run(given, PLAIN, (), seed) for seed in given.seeds]
    print(heading(given.recipe, plain), flush=True)
    for name in chosen:
        runs = [_run(given, name, PARTS[name], seed) for seed in given.seeds]
        print(line(name, runs, plain), flush=True)


def heading(recipe: str, plain: list[Run]) -> str:
    """The model without any part, and the head of the table."""
    losses = [run.loss for run in plain]
    each = ", ".join(f"{loss:.4f}" for loss in losses)
    return (
        f"{recipe}: {plain[0].parameters:,} parameters, loss {_spread(losses, '')} ({each})\n\n"
        "| part | change of the loss | each seed | parameters | processor time |\n"
        "|---|---|---|---|---|"
    )


def line(name: str, runs: list[Run], plain: list[Run]) -> str:
    """A part's row: seed against seed."""
    changes = [run.loss - other.loss for run, other in zip(runs, plain, strict=True)]
    times = [run.cpu_seconds / other.cpu_seconds for run, other in zip(runs, plain, strict=True)]
    each = ", ".join(f"{change:+.4f}" for change in changes)
    return (
        f"| {name} | {_spread(changes, '+')} | {each} "
        f"| x {runs[0].parameters / plain[0].parameters:.2f} | x {statistics.mean(times):.2f} |"
    )


def _spread(values: list[float], sign: str) -> str:
    """The mean, and the deviation if there is more than one value."""
    mean = f"{statistics.mean(values):{sign}.4f}"
    return f"{mean} ± {statistics.stdev(values):.4f}" if len(values) > 1 else mean


def _run(given: argparse.Namespace, part: str, keys: tuple[str, ...], seed: int) -> Run:
    name = f"{part}-s{seed}"
    folder = given.runs / given.recipe / name
    kept = folder / "blocks.json"
    if not kept.is_file():
        sets = [f"seed={seed}", "training.threads=1", *given.set, *keys]
        words = [word for each in sets for word in ("--set", each)]
        jumok("train", given.recipe, "--name", name, "--runs", str(folder.parent), *words)
        sizes = json.loads(jumok("info", str(folder / "model"), "--json"))["sizes"]
        kept.write_text(json.dumps(_facts(folder / "log.jsonl") | {"sizes": sizes}))
    facts = json.loads(kept.read_text())
    return Run(facts["loss"], facts["sizes"]["parameters"], facts["cpu_seconds"])


def _facts(log: Path) -> dict[str, float]:
    """The lowest validation loss, and the processor time of all steps."""
    records = [json.loads(each) for each in log.read_text(encoding="utf-8").splitlines()]
    losses = [each["loss"] for each in records if each["kind"] == "validation"]
    times = [each["cpu_seconds"] for each in records if each["kind"] == "step"]
    return {"loss": min(losses), "cpu_seconds": times[-1]}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.blocks", description=__doc__)
    parser.add_argument("--recipe", default="shakespeare")
    parser.add_argument("--only", nargs="+", choices=list(PARTS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--runs", type=Path, default=Path("runs/blocks"))
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    return parser.parse_args()


if __name__ == "__main__":
    main()
