"""What is recorded while a model is used is what it does when everything is run at once."""

from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import numpy as np
import pytest
import torch

import jumok
from jumok.alignment.extract import attention_at_setting
from jumok.alignment.setting import AlignmentSetting
from jumok.attention.observe import sites
from jumok.config import TransformerConfig
from jumok.config.recurrent import RecurrentConfig
from jumok.data.tokenizer import END, PAD, START
from jumok.decoding import DecodingOptions
from jumok.errors import ModelError
from jumok.inspection.page.document import page
from jumok.inspection.trace_file import load_trace
from jumok.models.catalog import DataSizes, build
from jumok.tracing.catalog import load_family
from jumok.tracing.request import NOTHING
from tests.systems.lm import write_lm
from tests.systems.masked import untrained
from tests.systems.pictures import GATED, READER, write_captioner, write_pictures
from tests.systems.untrained import write_classifier, write_rnn, write_text_classifier

THREE = ["the cat sat", "the dog barked and the cat sat", "the dog"]
SHORT = DecodingOptions(beam=3, nbest=1, maximum_length=7)


@pytest.fixture(scope="module")
def rnn(tmp_path_factory) -> Path:
    """A translator with Bahdanau's attention."""
    folder = tmp_path_factory.mktemp("rnn") / "model"
    return write_rnn(folder, attention="additive", order="bahdanau")


@pytest.fixture(scope="module")
def picture(tmp_path_factory) -> str:
    return str(write_pictures(tmp_path_factory.mktemp("pictures"), 1)[0])


def same(found: jumok.Trace, expected: jumok.Trace) -> None:
    """Every site looks at the same, with the same vectors."""
    ours = {site.name: site for site in found.sites}
    assert ours.keys() == {site.name for site in expected.sites}
    for site in expected.sites:
        mine = ours[site.name]
        assert (mine.part, mine.layer, mine.kind) == (site.part, site.layer, site.kind)
        np.testing.assert_allclose(mine.weights, site.weights, atol=1e-5)
        for name in ("norms", "query", "key", "value"):
            np.testing.assert_allclose(getattr(mine, name), getattr(site, name), atol=2e-4)
        if site.allowed is not None:
            np.testing.assert_array_equal(mine.allowed, site.allowed)


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("kind", ["transformer", "rnn"])
def test_a_search_is_recorded_as_the_pass_over_what_it_wrote(tiny_bundle, rnn, kind, beam):
    system = jumok.load(tiny_bundle if kind == "transformer" else rnn, engine="torch")
    options = replace(SHORT, beam=beam)
    (plain,) = system.translate(["the cat sat"], options)
    with jumok.record(system, level="qk") as recording:
        (watched,) = system.translate(["the cat sat"], options)
    trace = recording.trace
    assert watched == plain, "recording changes no output"
    assert trace.axes["target"].tokens[1:] == plain.tokens
    assert trace.axes["source"].texts == ("the", "cat", "sat")
    pieces = trace.findings.written
    same(trace, jumok.trace(system, "the cat sat", pieces))
    values = [step.log_probability for step in trace.steps]
    assert values == pytest.approx(plain.token_log_probabilities, abs=1e-4)
    (_,) = recording.traces  # the second pass, which reads alignments, is no other sentence


def test_hypotheses_that_lost_are_recorded_once_each(tiny_bundle):
    system = jumok.load(tiny_bundle)
    with jumok.record(system, level="qk") as recording:
        system.translate(["the cat sat"], SHORT)
    trace = recording.trace
    tree = trace.tree
    axis = tree.axes["target"]
    leaves = set(range(len(axis.tokens))) - set(axis.parents)
    assert len(leaves) >= 3
    paths = [axis.path(node) for node in range(len(axis.tokens))]
    written = [tuple(axis.tokens[node] for node in path) for path in paths]
    assert len(set(written)) == len(written), "no hypothesis is copied"
    ids = {piece: number for number, piece in enumerate(system.tokenizer.pieces(range(350)))}
    for leaf in sorted(leaves)[:4]:
        alone = tree.hypothesis(leaf)
        pieces = [ids[token] for token in alone.axes["target"].tokens[1:]]
        same(alone, jumok.trace(system, "the cat sat", pieces))
        expected = jumok.trace(system, "the cat sat", pieces).steps[: len(pieces)]
        assert [step.log_probability for step in alone.steps] == pytest.approx(
            [step.log_probability for step in expected], abs=1e-4
        )


@pytest.mark.parametrize(
    "setting",
    [
        AlignmentSetting(1, at_input=False),
        AlignmentSetting(2, at_input=False, head=1),
        AlignmentSetting(1, at_input=True, norms=True),
        AlignmentSetting(0, at_input=True, head=2, norms=True),
    ],
)
def test_a_recorded_search_has_its_alignments_by_the_setting(tiny_bundle, setting):
    system = jumok.load(tiny_bundle)
    system._hold(system.models, [setting])
    with jumok.record(system, level="qk") as recording:
        system.translate(["the cat sat"], SHORT)
    search = recording.trace.findings.search
    paths: list[list] = []
    for node in search.nodes:
        paths.append([*(paths[node.parent] if node.parent >= 0 else []), node])
        total = sum(each.log_probability for each in paths[-1])
        assert node.total == pytest.approx(total, abs=1e-4)
    model = system.models[0]
    memory = model.encode(torch.tensor([[*system.tokenizer.encode("the cat sat"), END]]))
    for leaf in search.leaves[:3]:
        pieces = [node.token for node in paths[leaf.node] if node.token != END]
        rows = attention_at_setting(model, memory, torch.tensor([[START, *pieces]]), setting)[0]
        np.testing.assert_allclose(leaf.weights, rows, atol=1e-4)
    assert "tab" in page(recording.trace)


def test_a_recording_is_saved_with_its_tree_and_other_sentences(tiny_bundle, tmp_path):
    system = jumok.load(tiny_bundle)
    texts = ["the cat sat", "the dog barked and the cat sat"]
    with jumok.record(system, level="full") as recording:
        found = system.translate(texts, SHORT)
    trace = recording.trace
    both = recording.traces
    assert {each.output for each in both} == {each.text for each in found}
    assert {len(each.axes["source"].texts) for each in both} == {3, 7}
    longer, shorter = sorted(both, key=lambda each: -len(each.text))
    same(shorter, jumok.trace(system, texts[0], shorter.findings.written))
    same(longer, jumok.trace(system, texts[1], longer.findings.written))
    recording.save(tmp_path / "t.npz")
    first, second = jumok.Recording.load(tmp_path / "t.npz").traces
    assert [first.head(), second.head()] == [each.head() for each in both]
    np.testing.assert_array_equal(first.tree.sites[-1].weights, trace.tree.sites[-1].weights)
    np.testing.assert_array_equal(second.streams["decoder"], both[1].streams["decoder"])
    assert load_trace(tmp_path / "t.npz").head() == trace.head()


def test_streams_of_a_search_are_those_of_the_pass(tiny_bundle):
    system = jumok.load(tiny_bundle)
    with jumok.record(system, level="full") as recording:
        system.translate(["the cat sat"], SHORT)
    trace = recording.trace
    whole = jumok.trace(system, "the cat sat", trace.findings.written, level="full", extras=NOTHING)
    assert trace.streams.keys() == {"encoder", "decoder"}
    for stack, stream in whole.streams.items():
        np.testing.assert_allclose(trace.streams[stack], stream, atol=1e-4)


@pytest.mark.parametrize("changes", [{}, {"decoder": GATED}, {"reader": READER}])
def test_captions_are_recorded_with_their_gates(tmp_path, picture, changes):
    folder = write_captioner(tmp_path / "c", **changes)
    system = jumok.load(folder)
    with jumok.record(system, level="qk") as recording:
        (caption,) = system.caption([picture], beam=3, looks=True)
    trace = recording.trace
    expected = load_family(folder).trace(picture, trace.findings.written, extras=NOTHING)
    assert trace.output == caption.text
    same(trace, expected)
    assert trace.picture == expected.picture
    assert trace.axes["picture"].grid == (4, 4)
    ours = [step.gate for step in trace.steps]
    theirs = [step.gate for step in expected.steps][: len(ours)]
    assert ours == (theirs if "decoder" not in changes else pytest.approx(theirs, abs=1e-5))


@pytest.mark.parametrize("options", [{"beam": 1}, {"beam": 2}, {"sample": True, "beam": 1}])
def test_a_language_model_is_recorded_while_it_writes(tmp_path, options):
    folder = write_lm(tmp_path / "lm")
    system = jumok.load(folder)
    decoding = DecodingOptions(**options)
    plain = "".join(system.generate("ab", decoding, max_tokens=4))
    with jumok.record(system, level="qk") as recording:
        assert "".join(system.generate("ab", decoding, max_tokens=4)) == plain
    trace = recording.trace
    ids = list(trace.findings.written)
    assert ids[:2] == system.tokenizer.encode("ab")
    same(trace, load_family(folder).trace("ab", ids[2:]))


def test_readers_and_classifiers_are_recorded(tmp_path, picture):
    system = untrained()
    with jumok.record(system, level="qk") as recording:
        system.fill(["the [MASK] sat on ___"])
    trace = recording.trace
    expected = jumok.trace(system, "the [MASK] sat on ___", extras=NOTHING)
    same(trace, expected)
    assert trace.axes == expected.axes
    for folder, given in (
        (write_text_classifier(tmp_path / "texts"), "the cat sat"),
        (write_classifier(tmp_path / "cnn"), picture),
    ):
        system = jumok.load(folder)
        with jumok.record(system, level="qk") as recording:
            (said,) = system.classify([given])
        trace = recording.trace
        assert trace.output == said.label
        assert dict(trace.steps[0].best) == pytest.approx(
            {label: np.log(value) for label, value in said.probabilities.items()}, abs=1e-4
        )
        same(trace, load_family(folder).trace(given))


def test_weights_are_those_before_dropout_while_training():
    """Rows sum to 1 although half the weights are dropped; filling is left out."""
    torch.manual_seed(3)
    config = TransformerConfig(
        dim=24, heads=3, encoder_layers=1, decoder_layers=1, feedforward=17, attention_dropout=0.5
    )
    model = build(config, DataSizes(vocabulary=31)).train()
    source = torch.tensor([[5, 6, 7, END], [5, 6, END, PAD]])
    target = torch.tensor([[START, 8, 9], [START, 8, PAD]])
    with jumok.record(model) as recording:
        logits = model.decoder(model.encode(source, source != PAD), target)
        logits.sum().backward()
    trace = recording.trace
    other = recording.traces[1]
    assert trace.axes["source"].tokens == ("5", "6", "7", "</s>")
    assert other.axes["target"].tokens == ("<s>", "8")
    for each in (trace, other):
        for site in each.sites:
            np.testing.assert_allclose(site.weights.sum(-1), 1.0, atol=1e-5)
    assert next(model.parameters()).grad is not None, "the model goes on learning"


def test_nobody_listens_after_the_block(tiny_bundle):
    system = jumok.load(tiny_bundle)
    model = system.models[0]
    before = dict(model.decoder.__dict__)
    with pytest.raises(ZeroDivisionError), jumok.record(system, level="full"):
        _ = 1 / 0
    assert model.decoder.__dict__.keys() == before.keys()
    assert not any({"step", "forward"} & block.__dict__.keys() for block in model.decoder.blocks)
    assert not model.__dict__.keys() & {"encode"}
    assert all(not site.observers for site in sites(model).values())
    assert all(not each._forward_hooks and not each._forward_pre_hooks for each in model.modules())


def test_what_happens_to_nothing_is_an_empty_recording(tiny_bundle, tmp_path):
    with jumok.record(jumok.load(tiny_bundle)) as recording:
        assert recording.traces == ()
    with pytest.raises(ModelError, match="nothing was recorded"):
        _ = recording.trace
    with pytest.raises(ModelError, match=r"use the model inside the block of jumok\.record"):
        recording.save(tmp_path / "t.npz")


def test_a_trace_does_not_change(tiny_bundle):
    with jumok.record(system := jumok.load(tiny_bundle)) as recording:
        system.translate(["the cat sat"], SHORT)
    with pytest.raises(FrozenInstanceError):
        recording.trace.output = "another"


def test_a_model_without_attention_cannot_be_recorded():
    model = build(RecurrentConfig(dim=16, embedding=12, attention="none"), DataSizes(vocabulary=31))
    with pytest.raises(ModelError, match="has no attention"), jumok.record(model):
        pass


def test_no_norms_and_vectors_are_kept_of_weights_alone(tiny_bundle):
    with jumok.record(system := jumok.load(tiny_bundle)) as recording:
        system.translate(["the cat sat"], SHORT)
    trace = recording.trace
    assert all(site.query is None and site.norms is None for site in trace.sites)


def test_a_model_of_another_library_is_called_by_its_name() -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(vocab_size=11, n_embd=8, n_layer=1, n_head=2)
    with pytest.raises(ModelError) as caught, jumok.record(transformers.GPT2Model(config)):
        pass
    assert "this is a model of transformers" in str(caught.value)
    assert "GPT2Model of transformers.models.gpt2" in str(caught.value)
