"""Variants of one model, trained in the same way, which many labs compare."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jumok.lab import world
from jumok.lab.findings import Chart, Column, Series, Setting, TableCell, mean, spread
from jumok.lab.small import Small, Trained, train
from jumok.lab.text import Text

COLUMNS = (
    Column(Text("parameters", "매개변수"), ",d"),
    Column(Text("loss on unseen sentences", "처음 보는 문장의 손실"), ".3f"),
    Column(Text("± over seeds", "시드 간 ±"), ".3f"),
    Column(Text("BLEU", "BLEU"), ".1f"),
)


@dataclass(frozen=True)
class Contest:
    """The results of each variant, one a seed.

    Attributes:
        names: what a variant is called; their order is that of the table.
        bleu: of each seed; empty where nothing was translated.
    """

    names: Mapping[str, Text]
    runs: Mapping[str, Sequence[Trained]]
    bleu: Mapping[str, Sequence[float]]

    def losses(self, name: str) -> list[float]:
        """The validation loss of each seed, nats a target token."""
        return [run.validation_loss for run in self.runs[name]]

    def loss(self, name: str) -> float:
        """Its mean."""
        return mean(self.losses(name))

    def row(self, name: str) -> list[TableCell]:
        """The cells of COLUMNS."""
        seeds = len(self.runs[name])
        return [
            self.runs[name][0].parameters,
            self.loss(name),
            spread(self.losses(name)) if seeds > 1 else None,
            mean(self.bleu[name]) if self.bleu.get(name) else None,
        ]

    def figures(self) -> dict[str, object]:
        """What the JSON keeps of each variant."""
        return {
            name: {
                "parameters": runs[0].parameters,
                "validation_loss": self.losses(name),
                "bleu": list(self.bleu.get(name, ())),
                "training_loss": [run.curve() for run in runs],
            }
            for name, runs in self.runs.items()
        }

    def curves(self, title: Text, names: Sequence[str] | None = None) -> Chart:
        """Training loss over the steps: the mean over the seeds, with their range as a band."""
        series = []
        for name in names or self.names:
            curves = [run.curve() for run in self.runs[name]]
            heights = [[point[1] for point in points] for points in zip(*curves, strict=True)]
            steps = [point[0] for point in curves[0]]
            many = len(curves) > 1
            series.append(
                Series(
                    self.names[name],
                    list(zip(steps, map(mean, heights), strict=True)),
                    low=list(map(min, heights)) if many else None,
                    high=list(map(max, heights)) if many else None,
                )
            )
        return Chart(
            title,
            Text("training step", "학습 단계"),
            Text("training loss (nats per token)", "학습 손실 (토큰당 nat)"),
            series,
            least=0.0,
            # a curve that begins far away must not flatten the others
            most=1.25 * min(each.points[0][1] for each in series),
        )


def contest(
    variants: Mapping[str, Small],
    names: Mapping[str, Text],
    setting: Setting,
    translated: int = 100,
) -> Contest:
    """Trains every variant with every seed.

    Args:
        translated: sentences for BLEU; 0 leaves it out.
    """
    sources, references, _ = world.read(setting.cache, "test")
    runs: dict[str, list[Trained]] = {}
    bleu: dict[str, list[float]] = {}
    for name, small in variants.items():
        setting.say(f"training: {names[name].en}")
        runs[name] = [train(small, seed, setting.cache, setting.full) for seed in setting.seeds]
        if translated:
            bleu[name] = [
                run.bleu(sources[:translated], references[:translated]) for run in runs[name]
            ]
    return Contest(names, runs, bleu)
