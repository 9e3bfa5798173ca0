"""Quantized classifiers: accuracy and equal labels."""

from dataclasses import replace

from jumok.bundle.reading import Bundle
from jumok.cli.options import Machine
from jumok.cli.quality.check import ComparedModels, QualityCheck
from jumok.cli.verbs.evaluate import Evaluation, Judged
from jumok.errors import ConfigError, Location
from jumok.evaluation.agreement import Agreement
from jumok.kinds import KINDS
from jumok.systems.catalog import OpenedModel

GIVE = "--data FILE, what jumok evaluate MODEL --data FILE reads"


def measure_labels(asked: QualityCheck) -> ComparedModels:
    """The accuracy of both models on torch, and how many labels are equal.

    Raises:
        ConfigError: --data is missing.
        DataError: the data cannot be read.
    """
    if asked.check is not None:
        raise ConfigError("--check names pairs, and a classifier has labels.", do=GIVE)
    if asked.data is None:
        raise ConfigError(
            "there is no data to measure what the model loses.",
            do=GIVE,
            place=Location(asked.model.folder),
        )
    first, second = (_evaluated(asked, each) for each in (asked.model, asked.quantized))
    equal = sum(one == other for one, other in zip(first.outputs, second.outputs, strict=True))
    on = f"{asked.data.name}: {first.examples}"
    before, after = (
        tuple(replace(each, on=on) for each in judged.scores if each.name == "accuracy")
        for judged in (first, second)
    )
    return ComparedModels(on, before, after, Agreement(len(first.outputs), equal), unit="labels")


def _evaluated(asked: QualityCheck, bundle: Bundle) -> Judged:
    task = bundle.config.task
    judged: Judged = KINDS[task].entry("evaluate")(
        Evaluation(
            data=asked.data,
            columns=asked.columns,
            model=str(bundle.folder),
            machine=Machine(asked.batch, "cpu"),
            opened=OpenedModel(task, (bundle,)),
        )
    )
    return judged
