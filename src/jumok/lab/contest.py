"""Variants of one model, trained in the same way, which many labs compare."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jumok.lab.findings import Bars, Chart, Column, Series, Setting, TableCell
from jumok.lab.judging import half_width, mean
from jumok.lab.small import Small, Trained, trained
from jumok.lab.text import Text

HALF = Column(Text("± (95 %)", "± (95%)"), ".3f")
COLUMNS = (
    Column(Text("parameters", "매개변수"), ",d"),
    Column(Text("loss on unseen sentences", "처음 보는 문장의 손실"), ".3f"),
    HALF,
)


@dataclass(frozen=True)
class Contest:
    """The results of each variant, one a seed.

    Attributes:
        names: what a variant is called; their order is that of the table.
    """

    names: Mapping[str, Text]
    runs: Mapping[str, Sequence[Trained]]

    def losses(self, name: str) -> list[float]:
        """The validation loss of each seed, nats a target token."""
        return [run.validation_loss for run in self.runs[name]]

    def loss(self, name: str) -> float:
        """Its mean."""
        return mean(self.losses(name))

    def row(self, name: str) -> list[TableCell]:
        """The cells of COLUMNS."""
        losses = self.losses(name)
        return [self.runs[name][0].parameters, mean(losses), half_width(losses)]

    def figures(self) -> dict[str, object]:
        """What the JSON keeps of each variant."""
        return {
            name: {
                "parameters": runs[0].parameters,
                "validation_loss": self.losses(name),
                "training_loss": [run.curve() for run in runs],
            }
            for name, runs in self.runs.items()
        }

    def bars(self) -> Bars:
        """The losses, with their intervals over the seeds."""
        return Bars(
            Text("Loss on unseen sentences", "처음 보는 문장의 손실"),
            Text(
                "nats per token; lower is better; ± 95 % over the seeds",
                "토큰당 nat, 낮을수록 좋음, ± 시드 간 95%",
            ),
            [(self.names[name], self.loss(name)) for name in self.runs],
            spread=[half_width(self.losses(name)) or 0.0 for name in self.runs],
            form=".3f",
        )

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


def contest(variants: Mapping[str, Small], names: Mapping[str, Text], setting: Setting) -> Contest:
    """Trains every variant with every seed."""
    setting.say(f"training: {', '.join(names[name].en for name in variants)}")
    runs = trained(list(variants.values()), setting)
    return Contest(names, dict(zip(variants, runs, strict=True)))
