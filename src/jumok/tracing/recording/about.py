"""What `jumok.record` has to know of each kind of model: names, axes, and who attends to whom."""

from collections.abc import Callable, Sequence

from torch import nn

from jumok.alignment.setting import AlignmentSetting, default_setting
from jumok.attention.role import Part
from jumok.data.tokenizer import END, START
from jumok.errors import ModelError
from jumok.inspection.hooks.recording import Pass
from jumok.inspection.sites import Sequences, of_writers
from jumok.inspection.trace import Axis, grid_axis
from jumok.kinds import KINDS
from jumok.models.captioner import CaptionerModel as CaptionModel
from jumok.models.causal import CausalLanguageModel
from jumok.models.classifier import TextClassifier
from jumok.models.image_classifier import ImageClassifier
from jumok.models.masked import MaskedLanguageModel
from jumok.models.memory import SequenceToSequence
from jumok.places import resolve
from jumok.systems.base import System
from jumok.systems.captioner import Captioner
from jumok.systems.image_classifier import ImageClassification
from jumok.systems.language_model import LanguageModel
from jumok.systems.masked_model import MaskedModel
from jumok.systems.text_classifier import TextClassification
from jumok.systems.translation.translator import Translator
from jumok.tracing.axes import Names, text_axis
from jumok.tracing.language_model import AT_WHAT_WAS_WRITTEN
from jumok.tracing.recording.recorded_sites import About
from jumok.tracing.texts import AT_ITSELF, WithMask


def about(system: System | nn.Module, name: str) -> About:
    """The facts about a system, or about a model that is given alone.

    Raises:
        ModelError: this kind of system cannot be recorded.
    """
    if isinstance(system, System):
        place = KINDS[system.task].about
        if place is None:
            raise ModelError(
                "this kind of model cannot be recorded.", got=system.task, do="use jumok.trace"
            )
        found: About = resolve(place)(system, name)
        return found
    for kind, facts in ALONE.items():
        if isinstance(system, kind):
            return facts(system, name)
    raise ModelError(
        "this is not one of jumok's models.",
        expected="what jumok.load returns, or a model of it",
        got=type(system).__name__,
    )


def about_translator(system: Translator, name: str) -> About:
    """Sentences read by an encoder, and written by a decoder."""
    reading = system.aligner.readings[0]
    return _sequences(system.models[0], name, system.tokenizer, reading)


def about_captioner(system: Captioner, name: str) -> About:
    """Images read as cells of a grid, and captions written."""
    return _sequences(system.model, name, system.tokenizer, system.reading)


def about_language_model(system: LanguageModel, name: str) -> About:
    """Texts, read and written by one stack."""
    return _language_model(system.model, name, system.tokenizer)


def about_masked_model(system: MaskedModel, name: str) -> About:
    """Texts, read as a whole."""
    names = WithMask(system.tokenizer, system.model.mask)
    return _texts(system.model, "masked-lm", name, names)


def about_text_classifier(system: TextClassification, name: str) -> About:
    """Texts, read as a whole, and labels."""
    return _texts(system.model, "text-classification", name, system.tokenizer, system.labels)


def about_image_classifier(system: ImageClassification, name: str) -> About:
    """Images, read as feature maps, and labels."""
    return _pictures(system.models[0], name, system.labels)


class _Numbers:
    """The token names of a model that has no tokenizer: their ids."""

    def pieces(self, ids: Sequence[int]) -> list[str]:
        named = {START: "<s>", END: "</s>"}
        return [named.get(id, str(id)) for id in ids]

    def words(self, ids: Sequence[int]) -> list[int]:
        return list(range(len(ids)))

    def decode(self, ids: Sequence[int]) -> str:
        return " ".join(self.pieces(ids))


def _sequences(
    model: SequenceToSequence, name: str, names: Names, reading: AlignmentSetting | None
) -> About:
    if isinstance(model, CaptionModel):
        axis = {"picture": grid_axis(*model.grid)}
        sequences = of_writers("picture", "image")
        return About(
            model, "captioning", name, names, sequences, lambda _, __: axis, "target", True,
            reading=reading,
        )  # fmt: skip
    return About(
        model, "translation", name, names, of_writers(), _tokens(names, "source"),
        "target", True, reading=reading,
    )  # fmt: skip


def _language_model(model: CausalLanguageModel, name: str, names: Names) -> About:
    return About(
        model, "language-model", name, names, AT_WHAT_WAS_WRITTEN, lambda _, __: {}, "text"
    )


def _texts(
    model: nn.Module, task: str, name: str, names: Names, labels: Sequence[str] = ()
) -> About:
    return About(model, task, name, names, AT_ITSELF, _tokens(names, "text"), labels=labels)


def _tokens(names: Names, axis: str) -> Callable[[Pass, int], dict[str, Axis]]:
    """Returns a function for the axis of the input: the real tokens; START and END in no word."""

    def made(heard: Pass, row: int) -> dict[str, Axis]:
        if heard.source is None:
            return {}
        ids = heard.source[row].tolist()
        if heard.allowed is not None:
            ids = ids[: int(heard.allowed[row].sum())]
        before = ids[:1] if ids[0] == START else []
        after = ids[-1:] if ids[-1] == END else []
        return {axis: text_axis(names, ids[len(before) : len(ids) - len(after)], before, after)}

    return made


def _pictures(model: ImageClassifier, name: str, labels: Sequence[str]) -> About:
    def sequences(site: str, _: Part) -> Sequences:
        return Sequences(site, site)

    def grids(heard: Pass, _: int) -> dict[str, Axis]:
        return {site: grid_axis(*grid) for site, grid in heard.reading.grids.items()}

    return About(model, "image-classification", name, _Numbers(), sequences, grids, labels=labels)


def _sequences_alone(model: nn.Module, name: str) -> About:
    assert isinstance(model, SequenceToSequence)
    return _sequences(model, name, _Numbers(), default_setting(len(model.cross_sites)))


def _language_model_alone(model: nn.Module, name: str) -> About:
    assert isinstance(model, CausalLanguageModel)
    return _language_model(model, name, _Numbers())


def _pictures_alone(model: nn.Module, name: str) -> About:
    assert isinstance(model, ImageClassifier)
    return _pictures(model, name, ())


ALONE: dict[type[nn.Module], Callable[[nn.Module, str], About]] = {
    SequenceToSequence: _sequences_alone,
    CausalLanguageModel: _language_model_alone,
    ImageClassifier: _pictures_alone,
    MaskedLanguageModel: lambda model, name: _texts(model, "masked-lm", name, _Numbers()),
    TextClassifier: lambda model, name: _texts(model, "text-classification", name, _Numbers()),
}
"""Models without their systems: tokens are shown by their ids."""
