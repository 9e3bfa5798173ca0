"""A loaded model is an ordinary torch module: seen, hooked, edited, copied and trained."""

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import jumok
from jumok.bundle.card import BundleConfig, Card
from jumok.bundle.reading import read_bundle
from jumok.bundle.weights import load_model
from jumok.bundle.writing import write_bundle
from jumok.config import TransformerConfig
from jumok.config.recurrent import RecurrentConfig
from jumok.data.tokenizer import Tokenizer
from jumok.decoding import DecodingOptions
from jumok.models.catalog import DataSizes, build
from jumok.systems.language_model import LanguageModel
from tests.conftest import TINY_TEXT
from tests.parity.torch_weights import roughen
from tests.systems.lm import write_lm
from tests.systems.pictures import READER, write_captioner, write_pictures
from tests.systems.untrained import write_classifier, write_masked, write_text_classifier

TEXTS = ["the cat sat", "the dog barked and the cat sat"]
OPTIONS = DecodingOptions(beam=1, maximum_length=7)
GATED = {"kind": "rnn", "dim": 16, "embedding": 12, "attention": "additive", "gate": True}


def write_translator(folder: Path, config: Any) -> Path:
    tokenizer = Tokenizer.train(TINY_TEXT, "bpe", 350)
    torch.manual_seed(1)
    model = roughen(build(config, DataSizes(vocabulary=tokenizer.size)))
    told = BundleConfig("translation", config.model_dump(), tokenizer.size, max_tokens=61)
    return write_bundle(folder, model.state_dict(), told, tokenizer, Card("untrained"))


def transformer(folder: Path, **changes: Any) -> Path:
    sizes = {"dim": 48, "heads": 3, "encoder_layers": 1, "decoder_layers": 2, "feedforward": 32}
    return write_translator(folder, TransformerConfig(**{**sizes, **changes}))


def recurrent(folder: Path, **changes: Any) -> Path:
    return write_translator(folder, RecurrentConfig(dim=16, embedding=12, **changes))


def translate(system: Any, _: str, beam: int) -> Any:
    return [each.text for each in system.translate(TEXTS, OPTIONS, beam=beam)]


def caption(system: Any, picture: str, beam: int) -> Any:
    return [each.text for each in system.caption([picture], beam=beam)]


def generate(system: Any, _: str, beam: int) -> Any:
    options = DecodingOptions(beam=beam, sample=False)
    return "".join(system.generate("the", options, max_tokens=5))


def fill(system: Any, _: str, __: int) -> Any:
    return system.fill(["the ___ sat"])


def classify(system: Any, _: str, __: int) -> Any:
    return system.classify(["the cat sat"])


def classify_picture(system: Any, picture: str, _: int) -> Any:
    return system.classify([picture])


FAMILIES: dict[str, tuple[Callable[[Path], Path], Callable[[Any, str, int], Any], set[str]]] = {
    "transformer": (transformer, translate, set()),
    "pre-norm, gelu": (lambda to: transformer(to, norm="pre", activation="gelu"), translate, set()),
    "rotary": (lambda to: transformer(to, positions="rotary"), translate, set()),
    "alibi": (lambda to: transformer(to, positions="alibi"), translate, set()),
    "bahdanau": (
        lambda to: recurrent(to, attention="additive", order="bahdanau"), translate, set()
    ),
    "luong, lstm": (
        lambda to: recurrent(to, attention="bilinear", order="luong", cell="lstm"), translate, set()
    ),
    "feeding": (
        lambda to: recurrent(to, attention="dot", order="luong", input_feeding=True),
        translate, set(),
    ),
    # its layers look one by one: nothing calls them as a stack
    "gnmt": (
        lambda to: recurrent(to, attention="additive", order="gnmt", decoder_layers=2),
        translate, {"decoder.cells"},
    ),
    "one vector": (lambda to: recurrent(to, attention="none"), translate, set()),
    "captioner": (lambda to: write_captioner(to, reader=READER), caption, set()),
    "captioner, rnn": (lambda to: write_captioner(to, decoder=GATED), caption, set()),
    "language model": (write_lm, generate, set()),
    "masked": (write_masked, fill, set()),
    "texts": (write_text_classifier, classify, set()),
    "pictures": (write_classifier, classify_picture, set()),
}  # fmt: skip


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> Callable[[str], Path]:
    made: dict[str, Path] = {}

    def folder(family: str) -> Path:
        if family not in made:
            made[family] = FAMILIES[family][0](tmp_path_factory.mktemp("families") / "model")
        return made[family]

    return folder


@pytest.fixture(scope="module")
def picture(tmp_path_factory) -> str:
    return str(write_pictures(tmp_path_factory.mktemp("pictures"), 1)[0])


@pytest.fixture
def translator(folders) -> Any:
    return jumok.load(folders("transformer"), device="cpu", engine="torch")  # to the last bit


def takes_part(model: nn.Module, path: str) -> bool:
    """Whether a module is ever called.

    A list of modules cannot be. Nothing follows a cross-attention that a block does not have, and
    nothing stands between the cells of one layer.
    """
    module, parent = model.get_submodule(path), model.get_submodule(path.rpartition(".")[0])
    if path.endswith("after_cross"):
        return parent.cross_attention is not None
    if path.endswith("cells.dropout"):
        return len(parent.cells) > 1
    return type(module).forward is not nn.Module.forward


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("family", FAMILIES)
def test_hooks_of_all_modules_fire(folders, picture, family, beam):
    _, use, apart = FAMILIES[family]
    system = jumok.load(folders(family), device="cpu")
    use(system, picture, beam)
    (model, *_) = system.modules()
    fired: dict[str, set[str]] = {"before": set(), "after": set()}
    expected = set()
    for path, module in model.named_modules():
        if takes_part(model, path) and path not in apart:
            expected.add(path)
        module.register_forward_pre_hook(lambda *_, path=path: fired["before"].add(path))
        module.register_forward_hook(lambda *_, path=path: fired["after"].add(path))
    use(system, picture, beam)
    assert fired["before"] == expected
    assert fired["after"] == expected


@pytest.mark.parametrize("family", ["transformer", "bahdanau", "captioner", "language model"])
def test_steps_are_heard_one_by_one(folders, picture, family):
    """A hook on a decoder, and on a part of it, fires at every step and not once."""
    _, use, _ = FAMILIES[family]
    system = jumok.load(folders(family), device="cpu")
    decoder = system.modules()[0].decoder
    part = decoder.blocks[0].self_attention.query if hasattr(decoder, "blocks") else decoder.readout
    counts = {"decoder": 0, "part": 0}

    def count(name: str) -> Callable[..., None]:
        return lambda *_: counts.update({name: counts[name] + 1})

    decoder.register_forward_hook(count("decoder"))
    part.register_forward_hook(count("part"))
    use(system, picture, 1)
    assert counts["decoder"] >= 4
    assert counts["part"] >= 4


@pytest.mark.parametrize("beam", [1, 3])
def test_a_steering_hook_changes_what_is_written(translator, beam):
    before = translator.translate(TEXTS, OPTIONS, beam=beam)
    block = translator.models[0].decoder.blocks[0]
    direction = torch.randn(48, generator=torch.Generator().manual_seed(7))
    steer = block.register_forward_hook(lambda *call: tuple(x + 100 * direction for x in call[-1]))
    steered = translator.translate(TEXTS, OPTIONS, beam=beam)
    assert [each.score for each in steered] != [each.score for each in before]
    inner = block.feedforward.outer.register_forward_hook(lambda *call: call[-1] * 0)
    steer.remove()
    assert translator.translate(TEXTS, OPTIONS, beam=beam) != before
    inner.remove()
    assert translator.translate(TEXTS, OPTIONS, beam=beam) == before


def test_global_hooks_and_patches_and_other_parts_are_seen(translator):
    before = translator.translate(TEXTS, OPTIONS)
    block = translator.models[0].decoder.blocks[0]
    seen: list[nn.Module] = []
    handle = nn.modules.module.register_module_forward_hook(lambda module, *_: seen.append(module))
    try:
        translator.translate(TEXTS, OPTIONS)
    finally:
        handle.remove()
    assert block.cross_attention.query in seen

    block.feedforward.forward = torch.zeros_like
    patched = translator.translate(TEXTS, OPTIONS)
    assert patched != before
    del block.feedforward.forward
    assert translator.translate(TEXTS, OPTIONS) == before

    class Nothing(nn.Module):
        def forward(self, states):
            return torch.zeros_like(states)

    kept, block.feedforward = block.feedforward, Nothing()
    assert translator.translate(TEXTS, OPTIONS) == patched
    block.feedforward = kept
    assert translator.translate(TEXTS, OPTIONS) == before


WAYS: dict[str, Callable[[nn.Linear], Any]] = {
    "in place": lambda layer: layer.weight.detach().mul_(0),
    "data": lambda layer: layer.weight.data.mul_(0),
    "numpy": lambda layer: np.copyto(layer.weight.detach().numpy(), 0),
    "another tensor": lambda layer: setattr(layer.weight, "data", torch.zeros(48, 48)),
    "another parameter": lambda layer: setattr(layer, "weight", nn.Parameter(torch.zeros(48, 48))),
}


@pytest.mark.parametrize("way", WAYS)
def test_edited_weights_take_effect(translator, way):
    before = translator.translate(TEXTS, OPTIONS)
    trace = jumok.trace(translator, TEXTS[0])
    for block in translator.models[0].decoder.blocks:
        WAYS[way](block.cross_attention.value)
    after = translator.translate(TEXTS, OPTIONS)
    assert [each.score for each in after] != [each.score for each in before]
    plain = translator.models[0].decoder
    assert not any(block.cross_attention.value.weight.any() for block in plain.blocks)
    edited = jumok.trace(translator, TEXTS[0])
    values = [site.value for site in edited.sites if site.part == "cross"]
    assert all(np.ptp(value, axis=1).max() < 1e-6 for value in values), "only the bias is left"
    assert edited.fingerprint != trace.fingerprint, "it is another model now"


@pytest.mark.parametrize("beam", [1, 3])
def test_edited_weights_take_effect_in_the_next_text(tmp_path, beam):
    """Token by token, and in a search."""
    folder = write_lm(tmp_path / "lm")
    before, after = LanguageModel.load(folder), LanguageModel.load(folder)
    first = generate(before, "", beam)
    for system in (before, after):
        for parameter in system.model.parameters():
            array = parameter.detach().numpy()
            np.copyto(array, -2 * array)
    assert generate(before, "", beam) == generate(after, "", beam) != first


def test_what_was_edited_is_what_the_plain_modules_compute(translator):
    """Every weight of the model, doubled behind torch's back, against a model built with it."""
    model = translator.models[0]
    translator.translate(TEXTS, OPTIONS)
    other = copy.deepcopy(translator)
    for parameter in model.parameters():
        parameter.data.mul_(1.25)
    with torch.no_grad():
        for parameter in other.models[0].parameters():
            parameter.mul_(1.25)
    assert translator.translate(TEXTS, OPTIONS) == other.translate(TEXTS, OPTIONS)


@pytest.mark.parametrize("family", FAMILIES)
def test_parameters_and_state_are_those_of_the_model_built_plainly(folders, picture, family):
    _, use, _ = FAMILIES[family]
    system = jumok.load(folders(family), device="cpu")
    use(system, picture, 1)
    plain = load_model(read_bundle(folders(family)), "cpu")
    (model, *_) = system.modules()
    assert len(list(model.parameters())) == len(list(plain.parameters()))
    state = model.state_dict()
    assert state.keys() == plain.state_dict().keys()
    for name, tensor in plain.state_dict().items():
        assert torch.equal(state[name], tensor), name
    assert all(parameter.requires_grad for parameter in model.parameters())


@pytest.mark.parametrize("family", FAMILIES)
def test_models_and_systems_are_copied_and_pickled(folders, picture, family):
    _, use, _ = FAMILIES[family]
    system = jumok.load(folders(family), device="cpu")
    expected = use(system, picture, 3)
    (model, *_) = system.modules()
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        for mine, theirs in zip(other.parameters(), model.parameters(), strict=True):
            assert torch.equal(mine, theirs)
            assert mine.data_ptr() != theirs.data_ptr()
    for other in (copy.deepcopy(system), pickle.loads(pickle.dumps(system))):
        assert use(other, picture, 3) == expected
        assert other.fingerprint == system.fingerprint


def test_a_loaded_model_learns_and_translates_with_what_it_learnt(translator):
    before = translator.translate(TEXTS, OPTIONS)
    model = translator.models[0].train()
    source = torch.tensor([[5, 6, 7, 3], [8, 9, 10, 3]])
    target, wanted = torch.tensor([[2, 11, 12]] * 2), torch.tensor([[11, 12, 3]] * 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    losses = []
    for _ in range(5):
        logits = model.decoder(model.encode(source), target)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), wanted.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < losses[0]
    model.eval()
    after = translator.translate(TEXTS, OPTIONS)
    assert [each.score for each in after] != [each.score for each in before]
    assert after == pickle.loads(pickle.dumps(translator)).translate(TEXTS, OPTIONS)
