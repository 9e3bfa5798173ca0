"""Steps against forward, padding against none, what may be looked at, and decoding: all kinds."""

import pytest
import torch

from jumok.attention.observe import Attention, observe
from jumok.decoding import DecodingOptions, decode
from jumok.decoding.score import score_pairs
from jumok.models.memory import TrainableDecoder
from tests.models.sequences import (
    MODELS,
    TARGET,
    VOCABULARY,
    alone,
    assert_close,
    build,
    sources,
)

BEAM = DecodingOptions(beam=4, nbest=3, maximum_length=9, maximum_ratio=1.5, maximum_extra=1)

every_model = pytest.mark.parametrize("name", MODELS)
pytestmark = pytest.mark.usefixtures("inference")


@every_model
@pytest.mark.parametrize("padded", [False, True])
def test_steps_give_the_logits_of_forward(name, padded):
    model, (source, allowed) = build(name), sources(name)
    memory = model.encode(source, allowed if padded else None)
    expected = model.decoder(memory, TARGET)
    state = model.decoder.start(memory)
    for t in range(5):
        logits, state = model.decoder.step(TARGET[:, t], state)
        assert_close(logits, expected[:, t])


@every_model
def test_learning_computes_what_decoding_computes(name):
    """While gradients are kept, faster kernels may be at work."""
    model = build(name)
    expected = model.decoder(model.encode(*sources(name)), TARGET)
    with torch.inference_mode(False), torch.enable_grad():
        learning = build(name)
        found = learning.decoder(learning.encode(*sources(name)), TARGET.clone())
    assert found.requires_grad
    assert_close(found.detach(), expected)


@every_model
def test_reordered_steps_are_those_of_the_reordered_sentences(name):
    """Rows repeat, change places and leave, as in a beam; a twin recomputes all from the start."""
    model = build(name)
    memory = model.encode(*sources(name))
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
def test_a_source_is_read_alone_as_among_others(name):
    model = build(name)
    together = model.decoder(model.encode(*sources(name)), TARGET)
    for row in range(3):
        single = model.decoder(alone(name, model, row), TARGET[row : row + 1])
        assert_close(single[0], together[row])


@every_model
def test_logits_do_not_see_the_future(name):
    model = build(name)
    memory = model.encode(*sources(name))
    changed = TARGET.clone()
    changed[:, 3:] = 4
    before, after = model.decoder(memory, TARGET), model.decoder(memory, changed)
    assert_close(after[:, :3], before[:, :3])
    assert not torch.allclose(after[:, 3], before[:, 3], atol=1e-3)


@every_model
def test_what_is_written_depends_on_the_source(name):
    model = build(name)
    source, allowed = sources(name)
    other, least = source.roll(1, 0), 1e-3
    if source.dtype == torch.long:
        other, least = torch.cat([torch.full((3, 1), 20), source[:, 1:]], 1), 1e-4
    before, after = (model.decoder(model.encode(each, allowed), TARGET) for each in (source, other))
    assert (before - after).abs().amax(dim=(1, 2)).min() > least


@every_model
def test_looks_are_the_attentions_over_the_source(name):
    model = build(name)
    seen: list[str] = []
    lengths = set()

    def watch(site: str, attention: Attention) -> None:
        seen.append(site)
        lengths.add(attention.weights.shape[-1])

    memory = model.encode(*sources(name))
    with observe(model, watch, lambda site: site in model.cross_sites):
        model.decoder(memory, TARGET)
    assert tuple(dict.fromkeys(seen)) == model.cross_sites
    assert lengths <= {memory.states.shape[1]}


@every_model
def test_a_beam_of_one_is_greedy(name):
    model = build(name)
    memory = model.encode(*sources(name))
    limits = {"maximum_length": 9, "maximum_ratio": 1.5, "maximum_extra": 1}
    plain = decode(model.decoder, memory, DecodingOptions(beam=1, **limits))
    wide = decode(model.decoder, memory, DecodingOptions(beam=1, patience=None, **limits))
    for row, ((one,), (other,)) in enumerate(zip(plain, wide, strict=True)):
        assert one.tokens == other.tokens
        tokens = torch.tensor([[2, *one.tokens]])
        best = model.decoder(memory.select(torch.tensor([row])), tokens)[0].clone()
        best[:, [0, 2]] = -torch.inf  # PAD and START are never written
        written = [*one.tokens, *([3] if one.finished else [])]
        assert best.argmax(1).tolist()[: len(written)] == written


@every_model
def test_a_batch_is_decoded_as_its_sentences_are(name):
    model = build(name)
    together = decode(model.decoder, model.encode(*sources(name)), BEAM)
    for row in range(3):
        (single,) = decode(model.decoder, alone(name, model, row), BEAM)
        assert [one.tokens for one in together[row]] == [one.tokens for one in single]
        for one, other in zip(together[row], single, strict=True):
            assert one.score == pytest.approx(other.score, abs=1e-4)


@every_model
def test_hypotheses_come_best_first_with_the_scores_of_forced_decoding(name):
    model = build(name)
    memory = model.encode(*sources(name))
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
    memory = model.encode(*sources(name))
    options = DecodingOptions(sample=True, nbest=2, maximum_length=9, seed=7)
    once, again = (decode(model.decoder, memory, options) for _ in range(2))
    assert once == again
    assert all(len(found) == 2 for found in once)


@every_model
def test_dropout_shows_in_training_and_repeats_with_its_key(name):
    model = build(name).train()

    def run(*key: int) -> torch.Tensor:
        model.noise.rekey(*key)
        return model.decoder(model.encode(*sources(name)), TARGET)

    assert torch.equal(run(1, 2), run(1, 2))
    assert not torch.allclose(run(1, 2), run(1, 3))


@every_model
def test_every_decoder_is_a_writer(name):
    decoder = build(name).decoder
    assert isinstance(decoder, TrainableDecoder)
    assert decoder.vocabulary_size == VOCABULARY
