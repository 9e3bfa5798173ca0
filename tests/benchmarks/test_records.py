"""The first validated model that has a score, and the processor time until then."""

import json
from pathlib import Path

from benchmarks import records

RECIPE = Path("recipes/shakespeare.toml")


def write_run(folder: Path, losses: list[float]) -> Path:
    """A log as `jumok train` writes it: a validation after every two records of steps."""
    lines = []
    for number, loss in enumerate(losses, start=1):
        for step in (200 * number - 100, 200 * number):
            lines.append({"kind": "step", "step": step, "loss": 9.0, "cpu_seconds": 0.6 * step})
        lines.append({"kind": "validation", "step": step, "loss": loss, "took": 3.0})
    folder.mkdir()
    folder.joinpath("log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def test_the_first_model_that_has_the_loss_counts(tmp_path):
    runs = [
        records.kept_models(RECIPE, write_run(tmp_path / str(seed), losses), "loss")
        for seed, losses in enumerate([[1.9, 1.7, 1.6, 1.65], [1.8, 1.75, 1.7, 1.61]])
    ]
    assert runs[0][1] == records.Kept(step=400, minutes=4.0, score=1.7)
    assert records.table("shakespeare", "loss", [1.7, 1.6], runs).split("\n") == [
        "shakespeare, 2 runs",
        "  loss 1.7: 5.0 ± 1.4 processor minutes: 4.0 (step 400), 6.0 (step 600)",
        "  loss 1.6: 6.0 (step 600), not reached",
        "  best loss: 1.605 ± 0.0071: 1.6 (6.0 minutes), 1.61 (8.0 minutes)",
    ]


def test_of_other_scores_more_is_better_and_the_evaluation_has_them(tmp_path):
    run = write_run(tmp_path / "run", [1.9, 1.7, 1.6])
    for step, score in ((200, 36.0), (400, 38.6), (600, 38.4)):
        report = {"scores": [{"name": "chrF", "on": "", "value": 60.0}]}
        report["scores"].append({"name": "BLEU", "on": "", "value": score})
        run.joinpath(f"evaluation-{step:06d}.json").write_text(json.dumps(report))
    models = records.kept_models(RECIPE, run, "BLEU")
    lines = records.table("multi30k", "BLEU", [38.5], [models]).split("\n")
    assert lines[1:] == [
        "  BLEU 38.5: 4.0 processor minutes: 4.0 (step 400)",
        "  best BLEU: 38.6: 38.6 (4.0 minutes)",
    ]
