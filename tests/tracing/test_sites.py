"""The sites of every kind of model: their names, parts, layers and the sequences they connect.

Traces are saved with these names and parts, so the tables do not change.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import jumok
from jumok.attention.observe import Attention, Observable
from jumok.attention.role import Role
from jumok.bundle.card import BundleConfig, Card
from jumok.bundle.writing import write_bundle
from jumok.config.pictures import ImageClassifierConfig
from jumok.errors import ModelError
from jumok.inspection.heads.measures import HeadMeter
from jumok.models.catalog import DataSizes, build
from jumok.models.memory import SequenceToSequence
from jumok.tracing.catalog import load_family
from tests.systems.lm import write_lm
from tests.systems.pictures import GATED, GIVEN, READER, write_captioner, write_noise
from tests.systems.untrained import write_masked, write_rnn, write_text_classifier

Row = tuple[str, str, int, str, str]


def decoder_rows(layers: int, source: str) -> list[Row]:
    return [
        row
        for layer in range(layers)
        for row in (
            (f"decoder.blocks.{layer}.self_attention", "decoder", layer, "target", "target"),
            (f"decoder.blocks.{layer}.cross_attention", "cross", layer, "target", source),
        )
    ]


TABLES: dict[str, list[Row]] = {
    "translator": [
        ("encoder.blocks.0.self_attention", "encoder", 0, "source", "source"),
        *decoder_rows(3, "source"),
    ],
    "rnn": [("decoder.attention", "cross", 0, "target", "source")],
    "gnmt": [("decoder.attention", "cross", 0, "target", "source")],
    "captioner": [
        ("reader.blocks.0.self_attention", "image", 0, "picture", "picture"),
        ("reader.blocks.1.self_attention", "image", 1, "picture", "picture"),
        *decoder_rows(2, "picture"),
    ],
    "captioner, one vector": decoder_rows(2, "picture"),
    "captioner, rnn": [("decoder.attention", "cross", 0, "target", "picture")],
    "language model": [("decoder.blocks.0.self_attention", "decoder", 0, "text", "text")],
    "masked model": [
        ("encoder.blocks.0.self_attention", "encoder", 0, "text", "text"),
        ("encoder.blocks.1.self_attention", "encoder", 1, "text", "text"),
    ],
    "text classifier": [
        ("encoder.blocks.0.self_attention", "encoder", 0, "text", "text"),
        ("encoder.blocks.1.self_attention", "encoder", 1, "text", "text"),
    ],
    "image classifier": [
        ("stack.stages.0.1", "image", 0, "grid 8x8", "grid 8x8"),
        ("stack.stages.2.2", "image", 2, "grid 2x2", "grid 2x2"),
    ],
}

CROSS_SITES: dict[str, tuple[str, ...]] = {
    "translator": tuple(f"decoder.blocks.{layer}.cross_attention" for layer in range(3)),
    "rnn": ("decoder.attention",),
    "gnmt": ("decoder.attention",),
    "captioner": ("decoder.blocks.0.cross_attention", "decoder.blocks.1.cross_attention"),
    "captioner, one vector": (),  # one vector of the whole image: nothing to choose from
    "captioner, rnn": ("decoder.attention",),
}


def write_pixels(folder: Path) -> Path:
    """A classifier of images with attention after the first and the third of its stages."""
    config = ImageClassifierConfig(
        height=8, width=8, channels=(8, 12, 8), attention_after=(1, 3), attention_heads=2
    )
    torch.manual_seed(1)
    weights = build(config, DataSizes(labels=2)).state_dict()
    labels = ("blue", "red")
    told = BundleConfig("image-classification", config.model_dump(mode="json"), labels=labels)
    return write_bundle(folder, weights, told, None, Card("untrained"))


WRITE: dict[str, Callable[[Path], Path]] = {
    "rnn": lambda to: write_rnn(to, decoder_layers=2),
    "gnmt": lambda to: write_rnn(to, order="gnmt", decoder_layers=3),
    "captioner": lambda to: write_captioner(to, reader=READER),
    "captioner, one vector": lambda to: write_captioner(to, memory="one"),
    "captioner, rnn": lambda to: write_captioner(to, decoder=GATED),
    "language model": write_lm,
    "masked model": write_masked,
    "text classifier": write_text_classifier,
    "image classifier": write_pixels,
}


def rows(trace: jumok.Trace) -> list[Row]:
    return [(each.name, each.part, each.layer, each.queries, each.keys) for each in trace.sites]


@pytest.fixture(params=TABLES)
def used(request, tiny_bundle, tmp_path):
    """A system's kind, the system, and an input for it."""
    kind = request.param
    folder = tiny_bundle if kind == "translator" else WRITE[kind](tmp_path / "model")
    system = jumok.load(folder, device="cpu")
    if system.task in ("captioning", "image-classification"):
        return kind, system, str(write_noise(tmp_path / "noise.png"))
    return kind, system, "the [MASK]" if system.task == "masked-lm" else "the c"


def test_the_sites_of_a_trace(used):
    kind, system, given = used
    assert rows(jumok.trace(system, given)) == TABLES[kind]


@pytest.mark.parametrize("alone", [False, True])
def test_the_sites_of_a_recording(used, alone):
    kind, system, given = used
    with jumok.record(system.modules()[0] if alone else system) as recording:
        system.score([given]) if kind == "language model" else system.answer([given])
    assert rows(recording.trace) == TABLES[kind]


def test_the_cross_attentions_of_models_that_write(used):
    kind, system, _ = used
    (model,) = system.modules()
    assert isinstance(model, SequenceToSequence) == (kind in CROSS_SITES)
    if kind in CROSS_SITES:
        assert model.cross_sites == CROSS_SITES[kind]


def test_the_sites_of_a_captioner_of_features(tmp_path):
    system = jumok.load(write_captioner(tmp_path / "model", encoder=GIVEN, reader=READER))
    with jumok.record(system) as recording:
        system.caption([torch.zeros(6, 5)])
    assert rows(recording.trace) == TABLES["captioner"]


def test_the_sites_of_a_pretrained_bert(tmp_path):
    pytest.importorskip("transformers")
    from tests.interop.bert import LAYERS, bert, save

    family = load_family(save(bert().bert, tmp_path / "small-bert"), device="cpu")
    assert rows(family.trace("the cats sat")) == [
        (f"encoder.blocks.{layer}.self_attention", "encoder", layer, "text", "text")
        for layer in range(LAYERS)
    ]


class Evenly(Observable):
    """A user's own attention: every position attends to all others alike."""

    def forward(self, queries, keys, allowed=None):
        del queries, allowed
        every = keys[:, None]  # one head
        weights = torch.full((len(keys), 1, keys.shape[1], keys.shape[1]), 1 / keys.shape[1])
        for observer in self.observers:
            observer(Attention(every, every, every, weights, kind="even", scale=None))
        return (weights @ every)[:, 0]


UNKNOWN = (
    "the role of this attention module is not known.\n"
    "  expected: encoder, decoder, cross or image, and the number of the layer\n"
    "  got:      Evenly at 'encoder.blocks.0.self_attention'\n"
    '  do:       set it where the module is built: module.role = Role("encoder", layer), with Role '
    "from jumok.attention.role"
)


@pytest.fixture
def own(tiny_bundle) -> jumok.Translator:
    system = jumok.load(tiny_bundle, kind=jumok.Translator, device="cpu")
    system.models[0].encoder.blocks[0].self_attention = Evenly()
    return system


def record_it(system: jumok.Translator) -> None:
    with jumok.record(system):
        system.translate(["the cat"])


def change_it(system: jumok.Translator) -> None:
    with jumok.changed(system, "encoder 1.1"):
        system.translate(["the cat"])


@pytest.mark.parametrize(
    "use",
    [
        lambda system: jumok.trace(system, "the cat"),
        record_it,
        change_it,
        lambda system: HeadMeter(system.models[0]),
        lambda system: system.models[0].cross_sites,
    ],
    ids=["trace", "record", "changed", "head cards", "alignment"],
)
def test_attention_without_a_role_is_refused(own, use):
    with pytest.raises(ModelError) as error:
        use(own)
    assert str(error.value) == UNKNOWN


def test_attention_of_a_users_own_is_a_site_once_it_has_a_role(own):
    module = own.models[0].encoder.blocks[0].self_attention
    module.role = Role("encoder", 0)
    trace = jumok.trace(own, "the cat")
    assert rows(trace) == TABLES["translator"]
    assert (trace.sites[0].kind, trace.sites[0].weights.shape[0]) == ("even", 1)
    with jumok.changed(own, "encoder 1.1"):
        pass
    module.role = Role("image", 0)
    with pytest.raises(ModelError) as error:
        jumok.trace(own, "the cat")
    assert str(error.value) == (
        "this kind of model has no attention with this role.\n"
        "  expected: encoder, decoder, cross\n"
        "  got:      image, at 'encoder.blocks.0.self_attention'"
    )


def test_heads_named_by_their_paths_need_no_role(own):
    path = "encoder.blocks.0.self_attention"
    with jumok.changed(own, {path: [0]}):
        gate = own.models[0].get_submodule(path).gate
    assert gate.tolist() == [0.0]
