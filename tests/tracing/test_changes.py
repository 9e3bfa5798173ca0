"""`jumok.changed`: everything in the block is done without the heads, and nothing outside."""

import threading
from pathlib import Path

import pytest
import torch

import jumok
from jumok.attention.observe import sites
from jumok.errors import ModelError
from jumok.inspection.hooks.intervene import Change, RowEdit
from tests.inspection.pages import inside
from tests.parity.torch_weights import roughen
from tests.systems.lm import write_lm
from tests.systems.pictures import READER, write_captioner, write_noise
from tests.systems.untrained import write_classifier, write_masked, write_text_classifier

TEXTS = ["the cat sat on the mat", "the dog barked"]
CROSS = "decoder.blocks.1.cross_attention"


@pytest.fixture
def translator(tiny_bundle) -> jumok.Translator:
    system = jumok.load(tiny_bundle, kind=jumok.Translator, device="cpu")
    torch.manual_seed(2)
    roughen(system.models[0])
    return system


def without_columns(system: jumok.Translator, path: str, heads: list[int]) -> None:
    """Removes heads by hand: their part of the output projection becomes 0."""
    attention = system.models[0].get_submodule(path)
    with torch.no_grad():
        for each in attention.output.weight.chunk(attention.heads, dim=1)[heads[0] : heads[-1] + 1]:
            each.zero_()


def scores(system: jumok.Translator) -> list[float]:
    found = system.score(TEXTS, ["고양이가 앉았다", "개가 짖었다"])
    return [value for each in found for value in each.token_log_probabilities]


@pytest.mark.parametrize("name", ["cross 2.3", "cross.2.3"])
def test_a_head_is_ablated_as_if_its_projection_were_zero(translator, tiny_bundle, name):
    plain = scores(translator)
    with jumok.changed(translator, [name]):
        ablated = scores(translator)
    assert scores(translator) == plain
    without_columns(translator, CROSS, [2])
    assert ablated == pytest.approx(scores(translator), abs=1e-5)
    assert ablated != pytest.approx(plain, abs=1e-3)


def test_a_layer_is_all_of_its_heads_and_paths_count_from_0(translator):
    with jumok.changed(translator, "cross 2"):
        layer = scores(translator)
    with jumok.changed(translator, {CROSS: [0, 1, 2]}):
        assert scores(translator) == layer
    with (
        jumok.changed(translator, ["cross 2.1", "cross 2.2"]),
        jumok.changed(translator, ["cross 2.3"]),
    ):
        assert scores(translator) == layer


def test_translating_and_tracing_in_the_block_are_changed_alike(translator):
    off = jumok.trace(translator, TEXTS[0], change=Change(off={CROSS: (2,)}))
    with jumok.changed(translator, ["cross 2.3"]):
        traced = jumok.trace(translator, TEXTS[0])
        written = translator.translate([TEXTS[0]], beam=5)[0]
        forced = jumok.trace(translator, TEXTS[0], "고양이")
    assert traced.output == off.output
    assert traced.output.strip() == written.text
    for one, other in zip(traced.sites, off.sites, strict=True):
        assert (one.weights == other.weights).all()
    assert forced.steps != jumok.trace(translator, TEXTS[0], "고양이").steps


def test_traces_name_the_changes_of_the_model(translator, tmp_path):
    off, steered = "cross 2.3", {"decoder.blocks.1": lambda stream: stream + 1}
    with jumok.changed(translator, off, words_off=[0]), jumok.patched(translator, steered):
        changed = jumok.trace(translator, TEXTS[0])
    assert changed.changes == ("head off: cross 2.3", "word off: 1", "patched: decoder.blocks.1")
    assert jumok.trace(translator, TEXTS[0]).changes == ()
    changed.save(tmp_path / "changed.npz")
    assert jumok.load_trace(tmp_path / "changed.npz").changes == changed.changes
    jumok.page(changed).save(tmp_path / "changed.html")
    assert "head off: cross 2.3" in inside((tmp_path / "changed.html").read_text("utf-8"))
    with jumok.changed(translator, weights={("cross 2.1", 0): [1.0]}):
        assert jumok.trace(translator, TEXTS[0]).changes == ("weights set: cross 2.1, query 1",)

    with jumok.record(translator) as recording:  # also where only some of it is changed
        translator.translate([TEXTS[0]])
        with jumok.changed(translator, {CROSS: [1]}):
            translator.translate([TEXTS[1]])
    assert [trace.changes for trace in recording.traces] == [(), ("head off: cross 2.2",)]


def test_other_threads_use_the_model_as_it_is(translator):
    plain, elsewhere = scores(translator), []
    with jumok.changed(translator, ["cross 2", "encoder 1"]):
        thread = threading.Thread(target=lambda: elsewhere.append(scores(translator)))
        thread.start()
        thread.join()
        assert scores(translator) != plain
    assert elsewhere == [plain]


def test_words_are_masked_and_weights_are_set(translator):
    row = RowEdit(CROSS, 0, (0.0, 3.0, 1.0), 1)
    wanted = jumok.trace(translator, TEXTS[0], "고양이", change=Change(blank=(1,), rows=(row,)))
    with jumok.changed(translator, words_off=[1], weights={("cross 2.2", 0): [0.0, 3.0, 1.0]}):
        found = jumok.trace(translator, TEXTS[0], "고양이")
    for one, other in zip(found.sites, wanted.sites, strict=True):
        assert (one.weights == other.weights).all()
    site = next(each for each in found.sites if each.name == CROSS)
    assert site.weights[1, 0, :3].tolist() == [0.0, 0.75, 0.25]


def test_every_model_of_an_ensemble_is_changed(tiny_bundle):
    both = jumok.load(tiny_bundle, tiny_bundle, kind=jumok.Translator, device="cpu")
    one = jumok.load(tiny_bundle, kind=jumok.Translator, device="cpu")
    with jumok.changed(both, "cross 1.2"), jumok.changed(one, "cross 1.2"):
        assert scores(both) == pytest.approx(scores(one), abs=1e-5)
    with jumok.changed(one, "cross 1.2"):
        assert scores(both) != pytest.approx(scores(one), abs=1e-4)


def test_a_module_alone_is_changed_by_the_same_names(translator):
    model = translator.models[0]
    source, target = torch.tensor([[5, 6, 7]]), torch.tensor([[1, 8]])
    with torch.no_grad():
        with jumok.changed(model, ["cross 2.3"]):
            found = model.decoder(model.encode(source), target)
        with jumok.changed(model, {CROSS: [2]}):
            assert torch.equal(found, model.decoder(model.encode(source), target))
        assert not torch.allclose(found, model.decoder(model.encode(source), target), atol=1e-4)


def caption(system, folder: Path) -> object:
    return jumok.trace(system, str(write_noise(folder / "noise.png")), "the cat")


def text(system, _: Path) -> object:
    return jumok.trace(system, "the c", "at" if system.task == "language-model" else None)


def picture(system, folder: Path) -> object:
    return jumok.trace(system, str(write_noise(folder / "noise.png")))


KINDS = {
    "language-model": (write_lm, text, "1.2", "decoder.blocks.0.self_attention"),
    "masked-lm": (write_masked, text, "2.3", "encoder.blocks.1.self_attention"),
    "text-classification": (
        write_text_classifier, text, "encoder 2.3", "encoder.blocks.1.self_attention"
    ),
    "captioning": (
        lambda to: write_captioner(to, reader=READER), caption,
        "image 2.1", "reader.blocks.1.self_attention",
    ),
    "image-classification": (write_classifier, picture, "image 2.2", None),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_heads_of_every_kind_have_the_names_of_their_cards(kind, tmp_path):
    """By the name, the very module and head go off whose weights are in the trace."""
    write, traced, name, site = KINDS[kind]
    system = jumok.load(write(tmp_path / "model"), device="cpu")
    (model,) = system.modules()
    roughen(model)
    site = site or next(iter(sites(model)))
    plain = traced(system, tmp_path)
    (there,) = [each for each in plain.sites if each.name == site]
    layer, head = (int(number) for number in name.split()[-1].split("."))
    assert (there.layer + 1, name.split()[0]) in [(layer, there.part), (layer, name)]
    gates = []
    with jumok.changed(system, [name]):
        gates.append(sites(model)[site].gate.tolist())
        found = traced(system, tmp_path)
    assert gates == [[float(each != head - 1) for each in range(len(there.weights))]]
    last = plain.steps[-1] if plain.steps else None
    if last is not None:
        assert found.steps[-1].best != last.best
    assert sites(model)[site].gate is None


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (
            "2.3",
            "the name of a head needs its attention kind in this model.\n"
            "  expected: cross 2.3 or decoder 2.3 or encoder 2.3\n  got:      2.3",
        ),
        (
            "cross 4.1",
            "the model has no such head.\n"
            "  expected: the attention kind, the layer and the head, from 1: "
            "cross 1.1 to 1.3, cross 2.1 to 2.3, cross 3.1 to 3.3, "
            "decoder 1.1 to 1.3, decoder 2.1 to 2.3, decoder 3.1 to 3.3, encoder 1.1 to 1.3\n"
            "  got:      cross 4.1\n"
            "  do:       jumok heads and the page list the heads by these names",
        ),
    ],
)
def test_a_name_that_no_head_has_is_answered_with_the_right_form(translator, name, told):
    with pytest.raises(ModelError) as error, jumok.changed(translator, [name]):
        pass
    assert str(error.value) == told


@pytest.mark.parametrize("name", ["cross 1.4", "cross 0.1", "cross 1.0", "third", "image 1.1", ""])
def test_other_wrong_names_list_the_heads_too(translator, name):
    listed = pytest.raises(ModelError, match=r"encoder 1\.1 to 1\.3")
    with listed, jumok.changed(translator, [name]):
        pass


def test_a_model_without_attention_has_no_heads():
    with pytest.raises(ModelError, match="no attention"), jumok.changed(torch.nn.Linear(2, 3)):
        pass
