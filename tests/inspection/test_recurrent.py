"""What the layers of an RNN know and would say, redone from the stored weights by torch's RNNs."""

from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import nn

from jumok.bundle.reading import WEIGHTS
from jumok.data.tokenizer import END, START, Tokenizer
from jumok.inspection.findings import StackPositions
from jumok.inspection.hooks.intervene import Change
from jumok.inspection.position_encodings import position_facts
from jumok.tracing.catalog import Family, load_family
from jumok.tracing.comparison import context_similarity
from jumok.tracing.request import NOTHING, Analyses
from tests.conftest import TINY_TEXT
from tests.systems.pictures import write_captioner, write_pictures
from tests.systems.untrained import write_rnn

ONLY_LAYERS = Analyses(ablation=False, attribution=False, search_tree=False)
SOURCE, TARGET = "the cat sat", "개가 짖었다"
DEEP = {"encoder_layers": 2, "decoder_layers": 3, "order": "luong", "attention": "dot"}
KINDS = {
    "bahdanau": {"cell": "lstm"},
    "gated": {"gate": True, "decoder_layers": 2},
    "covering": {"coverage": True, "decoder_layers": 2},
    "luong": DEEP,
    "feeding": {"order": "luong", "input_feeding": True, "decoder_layers": 2, "cell": "rnn"},
    "one way": {"bidirectional": False, "embedding": 17},
}


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(TINY_TEXT, "bpe", 350)


@pytest.fixture(scope="module")
def deep(tmp_path_factory, tokenizer) -> Path:
    return write_rnn(tmp_path_factory.mktemp("bundles") / "deep", dim=14, embedding=13, **DEEP)


@pytest.fixture(scope="module")
def family(deep) -> Family:
    return load_family(deep, device="cpu")


@pytest.fixture(scope="module")
def trace(family):
    return family.trace(SOURCE, TARGET, level="full", extras=ONLY_LAYERS)


def layer_of(stored: dict[str, torch.Tensor], path: str) -> nn.GRU:
    """One direction of one layer, as torch has it."""
    weights = [stored[f"{path}.{name}"] for name in ("input.weight", "state.weight")]
    biases = [stored[f"{path}.{name}"] for name in ("input.bias", "state.bias")]
    layer = nn.GRU(weights[0].shape[1], weights[1].shape[1], batch_first=True)
    with torch.no_grad():
        for ours, theirs in zip(layer.parameters(), [*weights, *biases], strict=True):
            ours.copy_(theirs)
    return layer


@torch.no_grad()
def encoder_by_torch(stored: dict[str, torch.Tensor], ids: list[int]) -> list[torch.Tensor]:
    """What each layer knows, (positions dim), the embedding first."""
    states = stored["encoder.embedding.table"][ids][None] * 13**0.5
    layers = [states[0]]
    for number in range(2):
        path = f"encoder.readers.{number}"
        forwards, _ = layer_of(stored, f"{path}.forwards")(states)
        backwards, _ = layer_of(stored, f"{path}.backwards")(states.flip(1))
        states = torch.cat([forwards, backwards.flip(1)], dim=2)
        layers.append(states[0])
    return layers


@torch.no_grad()
def decoder_by_torch(
    stored: dict[str, torch.Tensor], memory: torch.Tensor, ids: list[int]
) -> list[torch.Tensor]:
    """As the encoder's; Luong's order, in which what is found changes no state."""
    first = torch.tanh(
        memory.mean(0) @ stored["decoder.first.weight"].T + stored["decoder.first.bias"]
    ).view(3, 14)
    states = stored["encoder.embedding.table"][ids][None] * 13**0.5
    layers = [states[0]]
    for number in range(3):
        layer = layer_of(stored, f"decoder.cells.cells.{number}")
        states, _ = layer(states, first[number][None, None])
        layers.append(states[0])
    return layers


def sides(family: Family) -> tuple[list[int], list[int]]:
    encode = family.system.tokenizer.encode
    return [*encode(SOURCE), END], [START, *encode(TARGET)]


def test_streams_are_the_states_of_torchs_layers(trace, deep, family):
    stored = load_file(deep / WEIGHTS)
    read, wrote = sides(family)
    encoded = encoder_by_torch(stored, read)
    decoded = decoder_by_torch(stored, encoded[-1], wrote)
    for stack, layers in (("encoder", encoded), ("decoder", decoded)):
        found = torch.from_numpy(trace.streams[stack])
        assert found.shape == (len(layers), len(layers[0]), 14)
        torch.testing.assert_close(found[0, :, :13], layers[0], msg="the embedding is narrower")
        assert not found[0, :, 13:].any()
        torch.testing.assert_close(found[1:], torch.stack(layers[1:]), atol=1e-5, rtol=1e-4)


def test_a_word_is_compared_with_itself_read_alone(trace, deep, family):
    stored = load_file(deep / WEIGHTS)
    read, wrote = sides(family)
    memory = encoder_by_torch(stored, read)[-1]
    alone = {
        "encoder": [encoder_by_torch(stored, [each]) for each in read],
        "decoder": [decoder_by_torch(stored, memory, [each]) for each in wrote],
    }
    together = {
        "encoder": encoder_by_torch(stored, read),
        "decoder": decoder_by_torch(stored, memory, wrote),
    }
    for stack, layers in together.items():
        expected = [
            [
                float(F.cosine_similarity(states[at], single[number][0], dim=0))
                for at, single in enumerate(alone[stack])
            ]
            for number, states in enumerate(layers)
        ]
        found = np.array(trace.findings.layers.stacks[stack].moved)
        np.testing.assert_allclose(found, expected, atol=2e-5)
        np.testing.assert_allclose(found[0], 1.0, atol=1e-5)
        assert (found[1:, 1:] < 0.9999).all()
    np.testing.assert_allclose(
        [layer[0] for layer in trace.findings.layers.stacks["decoder"].moved], 1.0, atol=1e-5
    )


def test_every_layer_is_read_out_in_the_place_of_the_top(trace, deep, family):
    """tanh(W [state, found]) E^T, with the state of each layer, and with none."""
    stored = load_file(deep / WEIGHTS)
    read, wrote = sides(family)
    memory = encoder_by_torch(stored, read)[-1]
    states = decoder_by_torch(stored, memory, wrote)
    found = (states[-1] @ memory.T).softmax(-1) @ memory  # the score is a dot product
    stack = trace.findings.layers.stacks["decoder"]
    assert stack.read == "recurrent"
    written = [*wrote[1:], END]
    for layer, state in enumerate([torch.zeros_like(states[-1]), *states[1:]]):
        known = torch.cat([state, found], dim=1)
        shown = torch.tanh(
            known @ stored["decoder.readout.weight"].T + stored["decoder.readout.bias"]
        )
        expected = (shown @ stored["encoder.embedding.table"].T).softmax(-1)
        chosen = expected[range(len(written)), written]
        np.testing.assert_allclose(stack.written[layer], chosen, atol=2e-5)
        for place, best in enumerate(stack.best[layer]):
            values = [value for _, value in best]
            np.testing.assert_allclose(values, expected[place].topk(5).values, atol=2e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_at_the_top_layer_the_prediction_is_the_models_own(kind, tmp_path, tokenizer):
    """Whatever order it looks in; also of a model that is changed."""
    family = load_family(write_rnn(tmp_path / "model", dim=14, **KINDS[kind]), device="cpu")
    for change in (Change(), Change(off={"decoder.attention": [0]}), Change(blank=(1,))):
        trace = family.trace(SOURCE, TARGET, change=change, extras=ONLY_LAYERS)
        stacks = trace.findings.layers.stacks
        layers = KINDS[kind].get("decoder_layers", 1)
        assert np.array(stacks["decoder"].written).shape == (layers + 1, len(trace.steps))
        for step, best, written in zip(
            trace.steps, stacks["decoder"].best[-1], stacks["decoder"].written[-1],
            strict=True,
        ):  # fmt: skip
            expected = np.exp([value for _, value in step.best])
            np.testing.assert_allclose([value for _, value in best], expected, atol=2e-5)
            assert written == pytest.approx(np.exp(step.log_probability), abs=2e-5)
        assert stacks["encoder"].best is None, "an encoder predicts nothing"


def test_one_word_in_two_sentences(deep, family):
    """Cosines of torch's states; the embeddings of one word are the same, for it has no place."""
    stored = load_file(deep / WEIGHTS)
    texts = ("the cat sat", "and the cat")
    one, other = (family.trace(text, "개가", level="full", extras=NOTHING) for text in texts)
    found = context_similarity(one, other)
    assert found["encoder"].texts == ("and", "the", "cat")
    assert found["encoder"].cosines[0][1][2] == pytest.approx(1.0, abs=1e-5)
    encode = family.system.tokenizer.encode
    layers = [encoder_by_torch(stored, [*encode(text), END]) for text in texts]
    words = [
        [at for at, word in enumerate(each.axes["source"].words) if word == number]
        for each, number in ((one, 1), (other, 2))
    ]
    for layer in range(3):
        cat = [states[layer][at].mean(0) for states, at in zip(layers, words, strict=True)]
        expected = float(F.cosine_similarity(cat[0], cat[1], dim=0))
        assert found["encoder"].cosines[layer][1][2] == pytest.approx(expected, abs=2e-5)
    assert np.array(found["decoder"].cosines).shape == (4, 1, 1)
    assert found["decoder"].axis == "target"


def test_an_rnn_knows_places_by_the_order_itself(family):
    assert position_facts(family.system.models[0]) == {
        "encoder": StackPositions("recurrent-both"),
        "decoder": StackPositions("recurrent"),
    }


def test_a_captioner_with_an_rnn_has_its_decoders_layers(tmp_path):
    decoder = {"kind": "rnn", "dim": 12, "embedding": 13, "layers": 2}
    folder = write_captioner(tmp_path / "captioner", decoder=decoder)
    (picture,) = write_pictures(tmp_path / "pictures", 1)
    trace = load_family(folder, device="cpu").trace(str(picture), extras=ONLY_LAYERS)
    layers = trace.findings.layers
    assert list(layers.stacks) == list(layers.positions) == ["decoder"]
    assert len(layers.stacks["decoder"].best) == 3
    np.testing.assert_allclose(
        layers.stacks["decoder"].written[-1],
        np.exp([step.log_probability for step in trace.steps]),
        atol=2e-5,
    )


def test_nobody_who_does_not_ask_pays(family):
    bare = family.trace(SOURCE, TARGET, extras=NOTHING)
    assert bare.findings.layers is None
    assert not bare.streams
    assert not family.trace(SOURCE, TARGET, level="weights", extras=ONLY_LAYERS).streams
