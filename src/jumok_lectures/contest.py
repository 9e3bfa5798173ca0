"""Variants of one model, trained in the same way."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jumok_lectures.findings import Bars, Chart, Series, Setting, TableCell
from jumok_lectures.judging import cells, mean
from jumok_lectures.small import Small, Trained, trained
from jumok_lectures.text import Text
from jumok_lectures.texts import Texts

T = Texts("contest")

COLUMNS = (T.column("parameters"), T.column("loss_on_unseen_sentences"), T.column("n95"))


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
        return [self.runs[name][0].parameters, *cells(self.losses(name))]

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
        return T.bars([(self.names[name], self.losses(name)) for name in self.runs], form=".3f")

    def curves(self, title: Text) -> Chart:
        """Training loss over the steps: the mean over the seeds, with their range as a band."""
        series = []
        for name in self.names:
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
        return T.chart(
            title=title,
            series=series,
            least=0.0,
            # a curve that begins far away must not flatten the others
            most=1.25 * min(each.points[0][1] for each in series),
        )


def contest(variants: Mapping[str, Small], names: Mapping[str, Text], setting: Setting) -> Contest:
    """Trains every variant with every seed."""
    setting.say(f"training: {', '.join(names[name].en for name in variants)}")
    return Contest(names, trained(variants, setting))
