"""Steps against forward, padding against none, what may be looked at, and decoding: all kinds."""

import pytest
import torch

from jumok.attention.observe import Attention, observe
from jumok.decoding import DecodingOptions, decode
from jumok.decoding.score import score_pairs
from jumok.models.memory import Memory, SequenceToSequence, TrainableDecoder
from tests.models.sequences import MODELS, VOCABULARY, build

SOURCE = torch.tensor(
    [[5, 6, 7, 8, 9, 10, 3], [11, 12, 13, 3, 0, 0, 0], [14, 15, 16, 17, 18, 3, 0]]
)
LENGTHS = (7, 4, 6)
ALLOWED = torch.arange(7) < torch.tensor(LENGTHS)[:, None]
TARGET = torch.tensor([[2, 21, 22, 23, 24], [2, 25, 26, 27, 28], [2, 29, 30, 19, 20]])
BEAM = DecodingOptions(beam=4, nbest=3, maximum_length=9, maximum_ratio=1.5, maximum_extra=1)

every_model = pytest.mark.parametrize("name", MODELS)
pytestmark = pytest.mark.usefixtures("inference")


@pytest.fixture
def inference():
    with torch.inference_mode():
        yield


def assert_close(found: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)


def alone(model: SequenceToSequence, row: int) -> Memory:
    """What is read of one sentence without its padding."""
    return model.encode(SOURCE[row : row + 1, : LENGTHS[row]])


@every_model
@pytest.mark.parametrize("padded", [False, True])
def test_steps_give_the_logits_of_forward(name, padded):
    model = build(name)
    memory = model.encode(SOURCE, ALLOWED if padded else None)
    expected = model.decoder(memory, TARGET)
    state = model.decoder.start(memory)
    for t in range(5):
        logits, state = model.decoder.step(TARGET[:, t], state)
        assert_close(logits, expected[:, t])


@every_model
def test_learning_computes_what_decoding_computes(name):
    """While gradients are kept, faster kernels may be at work."""
    model = build(name)
    expected = model.decoder(model.encode(SOURCE, ALLOWED), TARGET)
    with torch.inference_mode(False), torch.enable_grad():
        learning = build(name)
        source, target, allowed = SOURCE.clone(), TARGET.clone(), ALLOWED.clone()
        found = learning.decoder(learning.encode(source, allowed), target)
    assert found.requires_grad
    assert_close(found.detach(), expected)


@every_model
def test_reordered_steps_are_those_of_the_reordered_sentences(name):
    """Rows repeat, change places and leave, as in a beam; a twin recomputes all from the start."""
    model = build(name)
    memory = model.encode(SOURCE, ALLOWED)
    state = model.decoder.start(memory)
    written, kept = TARGET[:, :0], memory
    moves = [[0, 1, 2], [2, 0, 0, 1, 2], [1, 0, 2, 3, 4], [4, 3, 3, 1], [2]]
    for t, move in enumerate(moves):
        rows = torch.tensor(move)
        state = model.decoder.reorder(state, rows)
        following = torch.arange(len(move)) * 7 % 23 + 4 + t  # a word of its own for every row
        written, kept = torch.cat([written[rows], following[:, None]], 1), kept.select(rows)
        logits, state = model.decoder.step(written[:, -1], state)
        assert_close(logits, model.decoder(kept, written)[:, -1])


@every_model
def test_padding_changes_nothing_for_the_sentence(name):
    model = build(name)
    together = model.decoder(model.encode(SOURCE, ALLOWED), TARGET)
    for row in range(3):
        assert_close(model.decoder(alone(model, row), TARGET[row : row + 1])[0], together[row])


@every_model
def test_logits_do_not_see_the_future(name):
    model = build(name)
    memory = model.encode(SOURCE, ALLOWED)
    changed = TARGET.clone()
    changed[:, 3:] = 4
    before, after = model.decoder(memory, TARGET), model.decoder(memory, changed)
    assert_close(after[:, :3], before[:, :3])
    assert not torch.allclose(after[:, 3], before[:, 3], atol=1e-3)


@every_model
def test_what_is_written_depends_on_the_source(name):
    model = build(name)
    other = SOURCE.clone()
    other[:, 0] = 20
    before, after = (
        model.decoder(model.encode(source, ALLOWED), TARGET) for source in (SOURCE, other)
    )
    assert (before - after).abs().amax(dim=(1, 2)).min() > 1e-4


@every_model
def test_looks_are_the_attentions_over_the_source(name):
    model = build(name)
    seen: list[str] = []
    lengths = set()

    def watch(site: str, attention: Attention) -> None:
        seen.append(site)
        lengths.add(attention.weights.shape[-1])

    memory = model.encode(SOURCE, ALLOWED)
    with observe(model, watch, lambda site: site in model.cross_sites):
        model.decoder(memory, TARGET)
    assert tuple(dict.fromkeys(seen)) == model.cross_sites
    assert lengths <= {SOURCE.shape[1]}


@every_model
def test_a_beam_of_one_is_greedy(name):
    model = build(name)
    memory = model.encode(SOURCE, ALLOWED)
    limits = {"maximum_length": 9, "maximum_ratio": 1.5, "maximum_extra": 1}
    plain = decode(model.decoder, memory, DecodingOptions(beam=1, **limits))
    wide = decode(model.decoder, memory, DecodingOptions(beam=1, patience=None, **limits))
    for (one,), (other,) in zip(plain, wide, strict=True):
        assert one.tokens == other.tokens
    tokens = torch.tensor([[2, *plain[0][0].tokens]])
    best = model.decoder(memory.select(torch.tensor([0])), tokens)[0].clone()
    best[:, [0, 2]] = -torch.inf  # PAD and START are never written
    written = [*plain[0][0].tokens, *([3] if plain[0][0].finished else [])]
    assert best.argmax(1).tolist()[: len(written)] == written


@every_model
def test_a_batch_is_decoded_as_its_sentences_are(name):
    model = build(name)
    together = decode(model.decoder, model.encode(SOURCE, ALLOWED), BEAM)
    for row in range(3):
        (single,) = decode(model.decoder, alone(model, row), BEAM)
        assert [one.tokens for one in together[row]] == [one.tokens for one in single]
        for one, other in zip(together[row], single, strict=True):
            assert one.score == pytest.approx(other.score, abs=1e-4)


@every_model
def test_hypotheses_come_best_first_with_the_scores_of_forced_decoding(name):
    model = build(name)
    memory = model.encode(SOURCE, ALLOWED)
    for row, found in enumerate(decode(model.decoder, memory, BEAM)):
        ranks = [(one.finished, one.score) for one in found]  # those that were cut come last
        assert ranks == sorted(ranks, reverse=True)
        assert len({one.tokens for one in found}) == len(found) == 3
        rows = torch.full((len(found),), row)
        forced = score_pairs(model.decoder, memory.select(rows), [one.tokens for one in found])
        for one, given in zip(found, forced, strict=True):
            count = len(one.token_log_probabilities)
            assert one.token_log_probabilities == pytest.approx(
                given.token_log_probabilities[:count], abs=1e-4
            )


@every_model
def test_drawn_hypotheses_are_drawn_again_with_their_seed(name):
    model = build(name)
    memory = model.encode(SOURCE, ALLOWED)
    options = DecodingOptions(sample=True, nbest=2, maximum_length=9, seed=7)
    once, again = (decode(model.decoder, memory, options) for _ in range(2))
    assert once == again
    assert all(len(found) == 2 for found in once)


@every_model
def test_dropout_shows_in_training_and_repeats_with_its_key(name):
    model = build(name).train()

    def run(*key: int) -> torch.Tensor:
        model.noise.rekey(*key)
        return model.decoder(model.encode(SOURCE, ALLOWED), TARGET)

    assert torch.equal(run(1, 2), run(1, 2))
    assert not torch.allclose(run(1, 2), run(1, 3))


@every_model
def test_every_decoder_is_a_writer(name):
    decoder = build(name).decoder
    assert isinstance(decoder, TrainableDecoder)
    assert decoder.vocabulary_size == VOCABULARY
