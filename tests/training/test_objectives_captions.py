"""The loss of captioned pictures, by hand."""

import pytest
import torch
import torch.nn.functional as F

from jumok.attention.observe import observe
from jumok.config import CaptionerConfig
from jumok.data.captions.batches import CaptionBatch, CaptionedPictures
from jumok.models.captioner import CaptionerModel
from jumok.training.objectives import captioning, overlooked
from tests.parity.torch_weights import roughen

CNN = {"kind": "cnn", "size": 8, "patch": 2, "channels": [8], "blocks": 1}
STACK = {
    "kind": "transformer",
    "dim": 12,
    "heads": 3,
    "feedforward": 29,
    "layers": 2,
    "dropout": 0.0,
}


def model(weight: float = 0.0, **stack: str) -> CaptionerModel:
    torch.manual_seed(1)
    values = {"encoder": CNN, "decoder": STACK | stack, "doubly_stochastic": weight}
    return roughen(CaptionerModel(CaptionerConfig.model_validate(values), 31)).eval()


def batch() -> CaptionBatch:
    torch.manual_seed(2)
    inputs = torch.randint(256, (3, 3, 8, 8), dtype=torch.uint8).numpy()
    captions = [[[5, 6], [7]], [[8, 9, 10]], [[11]]]
    data = CaptionedPictures(inputs, captions, "key")
    return data.batch([(0, [0, 1]), (2, [0]), (1, [0])])


def test_captions_of_a_picture_stand_in_one_row():
    """3 + 2 tokens of the first picture, 2 of the next and 4 of the last, START or END counted."""
    packed = batch().packed
    assert packed.tokens.tolist() == [[2, 5, 6, 2, 7], [2, 11, 0, 0, 0], [2, 8, 9, 10, 0]]
    assert packed.documents.tolist() == [[0, 0, 0, 1, 1], [2, 2, -1, -1, -1], [3, 3, 3, 3, -1]]
    assert packed.real.tolist() == (packed.documents >= 0).tolist()


def test_captions_share_no_row_where_attention_knows_its_place_in_it():
    """Linear attention compares rotated keys by more than products, so their place would matter."""
    linear = model(positions="rotary", attention_kind="linear")
    pictures = torch.randint(256, (1, 3, 8, 8), dtype=torch.uint8).numpy()
    captions = [[5, 6], [7, 9]]
    data = CaptionedPictures(pictures, [captions], "key")
    together = captioning(linear, data.batch([(0, [0, 1])]), 0.1)
    apart = [captioning(linear, data.batch([(0, [caption])]), 0.1) for caption in (0, 1)]
    assert float(together.detach()) == pytest.approx(float(sum(apart).detach()), rel=1e-6)
    linear.decoder.packs = True
    packed = captioning(linear, data.batch([(0, [0, 1])]), 0.1)
    assert float(packed.detach()) != pytest.approx(float(together.detach()), rel=1e-4)


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_captions_in_one_row_learn_as_if_each_had_its_own(weight):
    packed, apart, given = model(weight), model(weight), batch()
    one = captioning(packed, given, 0.1)
    one.backward()
    apart.decoder.packs = False
    other = captioning(apart, given, 0.1)
    other.backward()
    assert float(one.detach()) == pytest.approx(float(other.detach()), rel=1e-5)
    for (name, first), (_, second) in zip(
        packed.named_parameters(), apart.named_parameters(), strict=True
    ):
        torch.testing.assert_close(first.grad, second.grad, rtol=1e-4, atol=1e-5, msg=name)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_captioning_is_the_cross_entropy_of_the_real_tokens(smoothing):
    trained, given = model(), batch()
    actual = captioning(trained, given, smoothing)
    expected = 0.0
    with torch.no_grad():
        for row, target in enumerate([[5, 6], [7], [11], [8, 9, 10]]):
            picture = given.pictures[given.rows[row]][None]
            log_p = trained.decoder(trained.encode(picture), torch.tensor([[2, *target]]))
            log_p = F.log_softmax(log_p[0], -1)
            for t, word in enumerate([*target, 3]):
                expected -= (1 - smoothing) * float(log_p[t, word])
                expected -= smoothing * float(log_p[t].mean())
    assert float(actual.detach()) == pytest.approx(expected, rel=1e-4)


def test_overlooked_is_the_square_of_what_each_cell_lacks():
    # Two steps of a caption over three cells, and one of another.
    weights = torch.tensor([[0.5, 0.5, 0.0], [0.25, 0.75, 0.0], [0.0, 0.5, 0.5]])
    # sums 0.75, 1.25 and 0: 0.0625 + 0.0625 + 1; and 1 + 0.25 + 0.25
    assert float(overlooked(weights, torch.tensor([0, 0, 1]), 2)) == pytest.approx(1.125 + 1.5)


def test_cells_that_are_all_looked_at_once_cost_nothing():
    assert float(overlooked(torch.eye(4), torch.zeros(4, dtype=torch.long), 1)) == 0.0


def test_the_term_has_its_weight_and_reaches_the_attention():
    """The observer keeps the graph: the term alone moves the queries of the last layer."""
    plain, given = captioning(model(), batch(), 0.0), batch()
    weighted = model(weight=2.0)
    loss = captioning(weighted, given, 0.0)
    half = captioning(model(weight=1.0), given, 0.0)
    assert float((loss - plain).detach()) == pytest.approx(
        2 * float((half - plain).detach()), rel=1e-3
    )
    (loss - plain.detach()).backward()
    query = weighted.decoder.blocks[1].cross_attention.query.weight.grad
    only_words = model()
    captioning(only_words, given, 0.0).backward()
    other = only_words.decoder.blocks[1].cross_attention.query.weight.grad
    assert not torch.allclose(query, other, atol=1e-4)


def test_the_term_is_the_mean_over_layers_and_heads_of_what_is_looked_at():
    trained, given = model(weight=1.0), batch()
    actual = captioning(trained, given, 0.0) - captioning(model(), given, 0.0)
    expected = 0.0
    with torch.no_grad():
        memory = trained.encode(given.pictures).select(given.rows)
        seen = []
        with observe(trained, lambda site, each: seen.append((site, each.weights))):
            trained.decoder.hidden(memory, given.target_input)
        real = (given.target_output != 0)[..., None]
        layers = [weights.mean(1) for site, weights in seen if site.endswith("cross_attention")]
        for weights in layers:
            expected += float(((1 - (weights * real).sum(1)) ** 2).sum()) / len(layers)
    assert float(actual.detach()) == pytest.approx(expected, rel=1e-3)


def test_an_rnn_that_looks_step_by_step_is_asked_for_the_same():
    torch.manual_seed(1)
    decoder = {"kind": "rnn", "dim": 12, "embedding": 8, "dropout": 0.0}
    values = {"encoder": CNN, "decoder": decoder, "doubly_stochastic": 1.0}
    trained, given = (
        roughen(CaptionerModel(CaptionerConfig.model_validate(values), 31)).eval(),
        batch(),
    )
    actual = captioning(trained, given, 0.0).detach()
    trained.doubly_stochastic = 0.0
    plain = captioning(trained, given, 0.0).detach()
    expected = 0.0
    with torch.no_grad():
        memory = trained.encode(given.pictures).select(given.rows)
        state = trained.decoder.start(memory)
        looked = torch.zeros(memory.states.shape[:2])
        for t in range(given.target_input.shape[1]):
            _, weights = trained.decoder.attention(
                state.seen[:, None], state.keys, memory.states, None, None
            )
            looked += weights[:, 0] * (given.target_output[:, t, None] != 0)
            _, state = trained.decoder.step(given.target_input[:, t], state)
        expected = float(((1 - looked) ** 2).sum())
    assert float(actual - plain) == pytest.approx(expected, rel=1e-3)
