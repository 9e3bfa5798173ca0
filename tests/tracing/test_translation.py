"""What every family looked at, as a trace: of one shape, and true."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import jumok
from jumok.bundle.card import BundleConfig, Card
from jumok.bundle.writing import write_bundle
from jumok.config.pictures import ImageClassifierConfig
from jumok.data.tokenizer import END, SPACE, START
from jumok.errors import DataError, ModelError
from jumok.inspection.explain import choose, explain
from jumok.inspection.hooks.intervene import Change
from jumok.inspection.trace_file import load_trace
from jumok.models.catalog import DataSizes, build
from jumok.tracing.catalog import check_given, load_family
from jumok.tracing.request import Analyses
from tests.systems.lm import write_lm
from tests.systems.masked import untrained
from tests.systems.pictures import GATED, READER, write_captioner, write_pictures
from tests.systems.untrained import write_classifier, write_text_classifier


@pytest.fixture(scope="module")
def picture(tmp_path_factory) -> str:
    return str(write_pictures(tmp_path_factory.mktemp("pictures"), 1)[0])


@pytest.fixture(scope="module")
def captioners(tmp_path_factory):
    """Folders of a captioner for each decoder."""
    folder = tmp_path_factory.mktemp("captioners")
    return {
        "transformer": write_captioner(folder / "t"),
        "rnn": write_captioner(folder / "r", decoder=GATED),
        "vector": write_captioner(folder / "v", memory="one"),
        "reader": write_captioner(folder / "c", reader=READER),
    }


@pytest.fixture(scope="module")
def traced(tmp_path_factory, captioners, picture, tiny_bundle):
    """A trace of each family."""
    folder = tmp_path_factory.mktemp("others")
    lm, cnn = write_lm(folder / "lm"), write_classifier(folder / "cnn")
    texts = write_text_classifier(folder / "texts")
    traces = {
        "translation": load_family(tiny_bundle).trace("the cat sat"),
        "caption by a Transformer": load_family(captioners["transformer"]).trace(picture),
        "caption by an RNN": load_family(captioners["rnn"]).trace(picture),
        "caption from one vector": load_family(captioners["vector"]).trace(picture),
        "caption of cells that look": load_family(captioners["reader"]).trace(picture),
        "language model": load_family(lm).trace("a b", "c"),
        "picture class": load_family(cnn).trace(picture),
        "text class": load_family(texts).trace("the cat sat"),
        "gaps": jumok.trace(untrained(), "the [MASK] sat on ___"),
    }
    return traces


FAMILIES = (
    *("translation", "caption by a Transformer", "caption by an RNN", "caption from one vector"),
    "caption of cells that look",
    *("language model", "picture class", "text class", "gaps"),
)


@pytest.mark.parametrize("family", FAMILIES)
def test_weights_follow_from_the_vectors_and_the_mask(traced, family):
    trace = traced[family]
    assert trace.sites
    for site in trace.sites:
        axes = (trace.axes[site.queries], trace.axes[site.keys])
        assert site.weights.shape[1:] == tuple(len(axis.tokens) for axis in axes)
        if site.energy is None:
            scores = site.query @ site.key.transpose(0, 2, 1) * site.scale
        else:
            scores = np.tanh(site.query[:, :, None] + site.key[:, None]) @ site.energy
        if site.bias is not None:
            scores = scores + site.bias
        if site.allowed is not None:
            scores = np.where(site.allowed, scores, -np.inf)
        expected = torch.from_numpy(scores).softmax(-1).numpy()
        np.testing.assert_allclose(site.weights, expected, atol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_row_can_be_explained(traced, family):
    trace = traced[family]
    site, row = choose(trace, "1", None, None)
    assert explain(trace, site, row).recorded < 1e-5


@pytest.mark.parametrize("family", FAMILIES)
def test_a_saved_trace_keeps_all_of_it(traced, family, tmp_path):
    trace = traced[family]
    trace.save(tmp_path / "t.npz")
    loaded = load_trace(tmp_path / "t.npz")
    assert loaded.head() == trace.head()
    assert loaded.picture == trace.picture
    for ours, theirs in zip(loaded.sites, trace.sites, strict=True):
        np.testing.assert_array_equal(ours.weights, theirs.weights)
        np.testing.assert_array_equal(ours.allowed, theirs.allowed)


@pytest.mark.parametrize("family", FAMILIES)
def test_each_step_has_its_token_and_the_likeliest(traced, family):
    trace = traced[family]
    assert trace.steps
    for step in trace.steps:
        assert step.best == tuple(sorted(step.best, key=lambda pair: -pair[1]))
        assert dict(step.best).get(step.token, -99.0) <= step.best[0][1]
    for changes in trace.findings.ablation.values():
        assert all(len(change) == len(trace.steps) for change in changes)


def test_captions_look_at_the_grid_and_at_themselves(traced):
    for family in ("caption by a Transformer", "caption by an RNN"):
        trace = traced[family]
        (cross, *_) = [site for site in trace.sites if site.part == "cross"]
        assert trace.axes[cross.keys].grid == (4, 4)
        assert trace.axes[cross.queries].tokens[0] == "<s>"
        assert trace.picture.width == trace.picture.height == 8
        assert trace.picture.box(trace.axes["picture"].grid, 6) == (4.0, 2.0, 6.0, 4.0)
        assert trace.picture.png.startswith(b"\x89PNG")
    assert traced["caption from one vector"].axes["picture"].grid == (1, 1)


def test_cells_that_look_at_cells_are_a_part_of_a_captioners_trace(traced):
    sites = traced["caption of cells that look"].sites
    own = [site for site in sites if site.part == "image"]
    assert [site.name for site in own] == [f"reader.blocks.{n}.self_attention" for n in (0, 1)]
    assert {(site.queries, site.keys) for site in own} == {("picture", "picture")}
    assert {site.part for site in sites} == {"image", "decoder", "cross"}


def test_looks_are_those_that_the_captioner_tells(captioners, picture):
    """The board's map of each word, and `Captioner.look`, are the same numbers."""
    captioner = jumok.load(captioners["rnn"])
    trace = load_family(captioners["rnn"]).trace(picture, "the cat sat")
    (looks,) = captioner.look([picture], ["the cat sat"])
    weights = trace.sites[0].weights.mean(0)[:-1]  # row i writes piece i
    words = trace.axes["target"].words[1:]
    for number, word in enumerate(looks.weights):
        mine = weights[[place for place, of in enumerate(words) if of == number]].mean(0)
        np.testing.assert_allclose(mine, word.flatten(), atol=1e-5)


def test_the_gate_of_each_word_is_the_sigmoid_of_the_state(captioners, picture):
    """Redone step by step: sigmoid(w s) with the state before each word."""
    family = load_family(captioners["rnn"])
    trace = family.trace(picture, [7, 9])
    captioner = jumok.load(captioners["rnn"])
    decoder = captioner.model.decoder
    expected = []
    with torch.inference_mode():
        memory = captioner.model.encode(captioner.read(Path(picture))[None])
        state = decoder.start(memory)
        for token in (START, 7, 9):
            expected.append(float(torch.sigmoid(decoder.gate(state.seen))))
            _, state = decoder.step(torch.tensor([token]), state)
    assert [step.gate for step in trace.steps] == pytest.approx(expected, abs=1e-5)
    assert load_family(captioners["transformer"]).trace(picture, [7]).steps[0].gate is None


def test_a_caption_is_the_one_that_the_captioner_writes(captioners, picture):
    for folder in captioners.values():
        (caption,) = jumok.load(folder).caption([picture])
        trace = load_family(folder).trace(picture, extras=Analyses(ablation=False))
        assert trace.output == caption.text
        found = [step.log_probability for step in trace.steps][: len(caption.tokens)]
        assert found == pytest.approx(caption.token_log_probabilities[: len(found)], abs=1e-4)


def test_a_language_model_goes_on_as_it_writes(tmp_path):
    folder = write_lm(tmp_path / "lm")
    system, family = jumok.load(folder), load_family(folder)
    trace = family.trace("a b")
    greedy = replace(family.options, beam=1)
    written = "".join(system.generate("a b", greedy, max_tokens=4))
    assert trace.findings.prompt == 3
    assert trace.findings.setting is None
    assert trace.findings.at_input, "the page shows a word's own row"
    assert len(trace.axes["text"].tokens) <= system.context
    assert written.startswith(trace.output.rstrip("\ufffd"))
    (scored,) = system.score(["a bc"])
    given = family.trace("a b", "c")
    found = [step.log_probability for step in given.steps]
    assert found == pytest.approx(scored.token_log_probabilities[:-1], abs=1e-4)
    assert given.axes["text"].texts == ("a", "bc")


def test_a_prompt_as_long_as_the_context_is_refused(tmp_path):
    family = load_family(write_lm(tmp_path / "lm"))
    assert family.trace("abcdefg").output == ""
    with pytest.raises(DataError, match="cannot be traced in one pass"):
        family.trace("abcdefgh")


def test_gaps_are_filled_as_the_model_fills_them():
    system = untrained()
    trace = jumok.trace(system, "the [MASK] sat on ___")
    (filled,) = system.fill(["the [MASK] sat on ___"], top=1)
    found = [(step.token.replace("▁", ""), step.log_probability) for step in trace.steps]
    for (token, value), gap in zip(found, filled.gaps, strict=True):
        assert token == gap[0].text
        assert value == pytest.approx(np.log(gap[0].probability), abs=1e-4)
    assert trace.axes["text"].tokens.count("[MASK]") == 2
    assert trace.axes["text"].texts[1] == "[MASK]"
    with pytest.raises(DataError, match="every gap needs its token"):
        jumok.trace(system, "the [MASK] sat", [7, 9])


def test_labels_have_the_probabilities_of_the_classifier(traced, tmp_path, picture):
    folder = write_classifier(tmp_path / "cnn")
    (said,) = jumok.load(folder).classify([picture])
    trace = load_family(folder).trace(picture)
    assert trace.output == said.label
    assert dict(trace.steps[0].best) == pytest.approx(
        {label: np.log(value) for label, value in said.probabilities.items()}, abs=1e-4
    )
    assert load_family(folder).trace(picture, "red").steps[0].token == "red"
    with pytest.raises(DataError, match="no such label"):
        load_family(folder).trace(picture, "pink")


def test_pixels_look_at_pixels_through_a_learnt_gate(tmp_path, picture):
    folder = write_classifier(tmp_path / "cnn")
    trace = load_family(folder).trace(picture)
    (site,) = trace.sites
    assert (site.part, site.kind, site.residual_gate) == ("image", "convolution", 0.0)
    assert trace.axes[site.keys].grid == (4, 5)
    assert (trace.picture.width, trace.picture.height) == (10, 8)
    model = jumok.load(folder).models[0]
    module = model.get_submodule(site.name)
    output = module.output.weight.detach().flatten(1).numpy()  # (channels heads*value_dim)
    per_head = output.reshape(len(output), site.value.shape[0], -1)
    given = np.einsum("hqk,hkv,dhv->qkd", site.weights, site.value, per_head)
    np.testing.assert_allclose(site.norms, np.linalg.norm(given, axis=-1), atol=1e-4)


def test_heads_can_be_off_in_every_family(captioners, picture, tmp_path):
    family = load_family(captioners["transformer"])
    whole = family.trace(picture, [7, 9])
    site = "decoder.blocks.1.cross_attention"
    without = family.trace(
        picture, [7, 9], change=Change(off={site: [2]}), extras=Analyses(ablation=False)
    )
    changes = [
        off.log_probability - on.log_probability
        for off, on in zip(without.steps, whole.steps, strict=True)
    ]
    assert whole.findings.ablation[site][2] == pytest.approx(changes, abs=1e-4)
    with pytest.raises(ModelError, match="no such head"):
        family.trace(picture, change=Change(off={site: [3]}))


def test_what_was_forced_stands_before_the_tree(captioners, picture):
    """A leaf's rows are what its own pieces looked at, after those that were forced."""
    family = load_family(captioners["rnn"])
    trace = family.trace(picture, prefix=[7], extras=Analyses(ablation=False))
    nodes = trace.findings.search.nodes
    leaf = next(each for each in trace.findings.search.leaves if each.weights.size)
    pieces, at = [], leaf.node
    while at >= 0:
        pieces.insert(0, nodes[at].token)
        at = nodes[at].parent
    alone = family.trace(picture, [7, *(piece for piece in pieces if piece != END)])
    rows = alone.sites[0].weights.mean(0)[1 : 1 + len(leaf.weights)]
    np.testing.assert_allclose(leaf.weights, rows, atol=1e-4)


@pytest.mark.parametrize("family", ["translation", "language model", "gaps"])
def test_streams_are_what_the_blocks_left(tmp_path, tiny_bundle, family):
    if family == "gaps":
        system = untrained()
        trace = jumok.trace(system, "the [MASK] sat", level="full")
        embedded = system.model.encoder.embedding
        tokens = torch.tensor([[START, *system.encode("the [MASK] sat")[0], END]])
        stack, layers = "encoder", 2
    elif family == "translation":
        trace = load_family(tiny_bundle).trace("the cat sat", [5, 9], level="full")
        embedded = jumok.load(tiny_bundle).models[0].decoder.embedding
        tokens, stack, layers = torch.tensor([[START, 5, 9]]), "decoder", 3
        assert trace.streams["encoder"].shape == (2, len(trace.axes["source"].tokens), 24)
    else:
        folder = write_lm(tmp_path / "lm")
        trace = load_family(folder).trace("a", "b", level="full")
        system = jumok.load(folder)
        tokens = torch.tensor([[START, *system.tokenizer.encode("ab")]])
        embedded, stack, layers = system.model.decoder.embedding, "decoder", 1
    stream = trace.streams[stack]
    assert stream.shape[:2] == (layers + 1, tokens.shape[1])
    with torch.inference_mode():
        np.testing.assert_allclose(stream[0], embedded(tokens)[0], atol=1e-5)
    trace.save(tmp_path / "t.npz")
    np.testing.assert_array_equal(load_trace(tmp_path / "t.npz").streams[stack], stream)


def test_what_does_not_look_says_so(tmp_path, picture):
    sizes = ImageClassifierConfig(height=8, width=10, channels=(8, 12))
    weights = build(sizes, DataSizes(labels=2)).state_dict()
    told = BundleConfig("image-classification", sizes.model_dump(mode="json"), labels=("a", "b"))
    folder = write_bundle(tmp_path / "plain", weights, told, None, Card("plain"))
    with pytest.raises(ModelError, match="this model has no attention that could be shown"):
        load_family(folder).trace(picture)
    plain = write_captioner(tmp_path / "r", memory="one", decoder={"kind": "rnn", "dim": 16})
    with pytest.raises(ModelError, match="this model has no attention that could be shown"):
        load_family(plain).trace(picture)


def test_texts_and_pictures_are_not_taken_for_one_another(tmp_path, picture, tiny_bundle):
    with pytest.raises(DataError, match="this model reads text, and this is an image"):
        check_given(load_family(tiny_bundle), picture)
    captioner = load_family(write_captioner(tmp_path / "c"))
    with pytest.raises(DataError, match="reads images, and there is no such file"):
        check_given(captioner, "a red ball")
    check_given(captioner, picture)
    check_given(load_family(tiny_bundle), "photo.jpg of a cat")


def test_a_search_can_be_ended_at_any_step(tiny_bundle):
    """Whoever heeds may raise, and hears of every step."""
    steps = []

    def heed():
        steps.append(None)
        if len(steps) == 3:
            raise InterruptedError

    family = load_family(tiny_bundle, device="cpu")
    with pytest.raises(InterruptedError):
        family.trace("the cat sat", extras=Analyses(ablation=False, check_cancelled=heed))
    assert len(steps) == 3


def test_without_the_tree_the_output_is_the_same(tiny_bundle):
    family = load_family(tiny_bundle, device="cpu")
    options = replace(family.options, maximum_length=7)
    whole = family.trace("the cat sat", options=options, extras=Analyses(ablation=False))
    bare = family.trace(
        "the cat sat", options=options, extras=Analyses(ablation=False, search_tree=False)
    )
    assert (bare.output, bare.steps) == (whole.output, whole.steps)
    assert bare.findings.search is None
    assert whole.findings.search.nodes


def test_where_nothing_was_written_no_word_mattered(tiny_bundle, monkeypatch):
    translator = jumok.load(tiny_bundle, device="cpu")
    # Otherwise what is empty is searched for again.
    monkeypatch.setattr("jumok.systems.translation.part_writer.search_stricter", lambda *_: None)
    output = translator.models[0].decoder.output
    ends = torch.zeros(output.weight.shape[0]).index_fill(0, torch.tensor([END]), 1e3)
    (space,) = translator.tokenizer.ids([SPACE])  # all that a second search can write
    ends[space] = 500.0
    output.register_forward_hook(lambda *call: call[-1] + ends)
    trace = jumok.trace(translator, "the cat sat")
    assert (trace.output, trace.axes["target"].texts) == ("", ())
    assert trace.findings.attribution is None
