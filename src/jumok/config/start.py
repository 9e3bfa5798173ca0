"""The section [start]: a run that trains a trained model further."""

from jumok.config.section import DataPath, Section, Share


class StartConfig(Section):
    """The trained model, and how much of the data that it was trained on is mixed in."""

    model: DataPath
    mix: Share = 0.0
    recipe: DataPath | None = None
