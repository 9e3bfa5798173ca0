"""A head that is off is a head that was never there."""

from functools import partial

import pytest
import torch

from jumok.attention.multihead import MultiHeadAttention
from jumok.attention.observe import heads_of, observe, sites
from jumok.config import CaptionerConfig, TransformerConfig
from jumok.config.causal import CausalConfig
from jumok.config.recurrent import RecurrentConfig
from jumok.data.tokenizer import END, START
from jumok.errors import ModelError
from jumok.inspection.hooks.intervene import (
    Change,
    RowEdit,
    blanked,
    changed,
    edited_words,
    embeddings_of,
    set_rows,
    switched_off,
    without_each_head,
)
from jumok.kernels.noise import Noise
from jumok.models.captioner import CaptionerModel
from jumok.models.causal import CausalLanguageModel
from jumok.models.encoder_decoder import Transformer
from jumok.models.recurrent import RecurrentModel
from tests.parity.torch_weights import roughen

SOURCE, TARGET = torch.tensor([[5, 6, 7, END]]), torch.tensor([[START, 8, 9]])


@pytest.fixture(scope="module")
def model() -> Transformer:
    torch.manual_seed(3)
    config = TransformerConfig(dim=24, heads=3, encoder_layers=1, decoder_layers=2, feedforward=17)
    return Transformer(config, 31).eval().requires_grad_(False)


def predicted(model: Transformer, rows: int = 1) -> torch.Tensor:
    """The log-probabilities after every prefix of the target, in equal rows."""
    with torch.inference_mode():
        memory = model.encode(SOURCE.expand(rows, -1))
        return model.decoder(memory, TARGET.expand(rows, -1)).float().log_softmax(dim=-1)


def count(model: Transformer) -> dict[str, int]:
    return dict.fromkeys(sites(model), 3)


def step_by_step(model, memory) -> torch.Tensor:
    """The logits after each token of the target, written with a cache."""
    state, rows = model.decoder.start(memory), []
    for token in TARGET[0]:
        logits, state = model.decoder.step(token[None], state)
        rows.append(logits[0])
    return torch.stack(rows)


def at_once(model) -> torch.Tensor:
    return model.decoder(model.encode(SOURCE), TARGET)[0]


def test_a_head_that_is_off_is_one_whose_part_of_the_projection_is_zero():
    """Gating comes before the output projection: its columns of the head can as well be 0."""
    torch.manual_seed(5)
    attention = MultiHeadAttention(15, 3, 5, 5, Noise()).eval()
    states = torch.randn(2, 7, 15)
    with torch.no_grad(), switched_off(attention, {"": [1]}, {"": 3}):
        off = attention(states, states)
    with torch.no_grad():
        attention.output.weight[:, 5:10] = 0.0
        torch.testing.assert_close(off, attention(states, states))


def test_every_site_is_switched_and_comes_back(model):
    plain = predicted(model)
    for site in sites(model):
        with switched_off(model, {site: [0, 2]}, count(model)):
            assert not torch.allclose(predicted(model), plain, atol=1e-4), site
        torch.testing.assert_close(predicted(model), plain)


def test_a_fault_inside_leaves_no_head_off(model):
    plain = predicted(model)
    with pytest.raises(ZeroDivisionError), switched_off(model, {"": []}, {}):
        _ = 1 / 0
    site = next(iter(sites(model)))
    with pytest.raises(ZeroDivisionError), switched_off(model, {site: [0]}, count(model)):
        _ = 1 / 0
    torch.testing.assert_close(predicted(model), plain)


def test_cached_steps_without_a_head_are_the_parallel_pass_without_it(model):
    middle = {site: [1] for site in sites(model)}
    with torch.inference_mode(), switched_off(model, middle, count(model)):
        memory = model.encode(SOURCE)
        whole, stepwise = model.decoder(memory, TARGET)[0], step_by_step(model, memory)
        torch.testing.assert_close(stepwise, whole, atol=1e-4, rtol=1e-4)


def test_changes_are_those_of_one_head_after_another(model):
    written = torch.tensor([8, 9, END])
    changes = without_each_head(model, partial(predicted, model), written, count(model))
    assert set(changes) == set(sites(model))
    site = "decoder.blocks.1.cross_attention"
    rows = torch.arange(3)
    (plain,) = predicted(model)[:, rows, written]
    with switched_off(model, {site: [2]}, count(model)):
        (off,) = predicted(model)[:, rows, written]
    torch.testing.assert_close(changes[site][2], off - plain, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(
    ("site", "head"), [("decoder.nothing", 0), ("encoder.blocks.0.self_attention", 3)]
)
def test_a_head_that_does_not_exist_is_named(model, site, head):
    with pytest.raises(ModelError) as caught, switched_off(model, {site: [head]}, count(model)):
        pass
    assert "no such head" in str(caught.value)
    assert "encoder.blocks.0.self_attention: 0 to 2" in str(caught.value)


def test_gates_have_the_precision_of_the_model():
    """A gate of float32 would make float32 of what a layer in bfloat16 has to read."""
    attention = MultiHeadAttention(15, 3, 5, 5, Noise()).eval().to(torch.bfloat16)
    states = torch.ones(1, 2, 15, dtype=torch.bfloat16)
    with torch.no_grad(), switched_off(attention, {"": [1]}, {"": 3}):
        assert attention(states, states).dtype is torch.bfloat16


def test_each_sentence_may_have_its_own_gates():
    torch.manual_seed(7)
    attention = MultiHeadAttention(15, 3, 5, 5, Noise()).eval()
    states = torch.randn(2, 7, 15)
    with torch.no_grad():
        attention.gate = torch.tensor([[1.0, 0.0, 1.0], [1.0, 1.0, 1.0]])
        both = attention(states, states)
        attention.gate = None
        torch.testing.assert_close(both[1:], attention(states[1:], states[1:]))
        with switched_off(attention, {"": [1]}, {"": 3}):
            torch.testing.assert_close(both[:1], attention(states[:1], states[:1]))


ORDERS = [("bahdanau", False), ("luong", False), ("luong", True)]


def recurrent(order: str, input_feeding: bool) -> RecurrentModel:
    torch.manual_seed(11)
    config = RecurrentConfig(
        dim=16, embedding=12, attention="additive", order=order, input_feeding=input_feeding
    )
    return RecurrentModel(config, 31).eval().requires_grad_(False)


def test_a_blanked_word_is_one_whose_vector_is_zero(model):
    """Its row of the table can as well be 0: the position is added after that."""
    untied = TransformerConfig(
        dim=24, heads=3, encoder_layers=1, decoder_layers=2, feedforward=17, tied="none"
    )
    torch.manual_seed(3)
    other = Transformer(untied, 31).eval().requires_grad_(False)
    with blanked(other, [1]):
        found = other.encode(SOURCE).states
    other.encoder.embedding.table[6] = 0.0
    torch.testing.assert_close(other.encode(SOURCE).states, found)


@pytest.mark.parametrize(("order", "input_feeding"), ORDERS)
def test_an_rnn_does_not_read_a_blanked_word(order, input_feeding):
    other = recurrent(order, input_feeding)
    plain = other.encode(SOURCE).states
    with blanked(other, [0, 2]):
        found = other.encode(SOURCE).states
        assert not torch.allclose(found, plain, atol=1e-4)
        torch.testing.assert_close(other.encode(torch.tensor([[9, 6, 10, END]])).states, found)
    torch.testing.assert_close(other.encode(SOURCE).states, plain)


def test_what_was_written_is_not_blanked_with_the_source(model):
    with blanked(model, [0]):
        state = model.decoder.embedding(TARGET)
    torch.testing.assert_close(model.decoder.embedding(TARGET), state)


def test_a_language_model_is_what_it_reads_with_a_cache_too():
    torch.manual_seed(7)
    config = CausalConfig(dim=24, heads=3, layers=2, feedforward=17)
    causal = CausalLanguageModel(config, 31).eval().requires_grad_(False)
    with blanked(causal, [0, 2]):
        whole = causal.decoder(causal.nothing(), TARGET)[0]
        stepwise = step_by_step(causal, causal.nothing())
    torch.testing.assert_close(stepwise, whole, atol=1e-5, rtol=1e-4)
    assert not torch.allclose(causal.decoder(causal.nothing(), TARGET)[0], whole, atol=1e-4)


@pytest.mark.parametrize("positions", [[4], [-1]])
def test_a_token_that_does_not_exist_cannot_be_blanked(model, positions):
    with pytest.raises(ModelError) as caught, blanked(model, positions):
        model.encode(SOURCE)
    assert "the input has no such position" in str(caught.value)
    assert "0 to 3" in str(caught.value)
    assert all(each.edit is None for each in embeddings_of(model).values())


def test_a_model_that_reads_no_words_says_so():
    with pytest.raises(ModelError, match="reads no words"), blanked(torch.nn.Linear(1, 1), [0]):
        pass


def captioner(memory: str) -> CaptionerModel:
    torch.manual_seed(5)
    encoder = {"kind": "cnn", "size": 8, "patch": 2, "channels": [8], "blocks": 1}
    decoder = {"kind": "transformer", "dim": 12, "heads": 3, "feedforward": 29, "layers": 1}
    values = {"memory": memory, "encoder": encoder, "decoder": decoder}
    return roughen(CaptionerModel(CaptionerConfig.model_validate(values), 31)).eval()


def test_a_blanked_cell_is_one_whose_vector_is_zero():
    model, picture = captioner("grid"), torch.randint(256, (1, 3, 8, 8), dtype=torch.uint8)
    with torch.no_grad():
        cells = model.see(picture)
        plain = model.encode(picture).states
        with blanked(model, [0, 6]):
            found = model.encode(picture).states
        cells[:, [0, 6]] = 0.0
        torch.testing.assert_close(found, model.write(cells).states)
    assert ((found - plain).abs().amax(-1) > 1e-4).nonzero()[:, 1].tolist() == [0, 6]
    assert model.writer.edit is None


def test_of_one_vector_no_part_is_a_cells():
    with (
        pytest.raises(ModelError, match="reads the image as one vector"),
        blanked(captioner("one"), [0]),
    ):
        pass


def test_what_is_blanked_stays_so_while_something_else_is_changed():
    """Blank-out and gradients change the same vectors once more."""
    model, picture = captioner("grid"), torch.randint(256, (1, 3, 8, 8), dtype=torch.uint8)
    with torch.no_grad(), blanked(model, [3]):
        alone = model.encode(picture).states
        with edited_words({model.writer: lambda states, first: 2 * states}):
            doubled = model.encode(picture).states
        torch.testing.assert_close(doubled[:, 3], alone[:, 3])
        assert not torch.allclose(doubled[:, 4], alone[:, 4])
        torch.testing.assert_close(model.encode(picture).states, alone)


CROSS = "decoder.blocks.1.cross_attention"
OWN = "decoder.blocks.0.self_attention"


def weights_of(model, site: str, run) -> torch.Tensor:
    """(heads query key) of a site while `run` runs, step by step or at once."""
    seen = []
    with observe(model, lambda _, each: seen.append(each.weights[0]), lambda name: name == site):
        run()
    keys = max(each.shape[2] for each in seen)
    return torch.cat([torch.nn.functional.pad(w, (0, keys - w.shape[2])) for w in seen], dim=1)


def test_rows_of_nested_blocks_are_all_replaced(model):
    first, second = (RowEdit(CROSS, query, (0.0, 1.0)) for query in (0, 1))
    with set_rows(model, [first], count(model)), set_rows(model, [second], count(model)):
        weights = weights_of(model, CROSS, partial(at_once, model))
    assert weights[:, :2, 1].tolist() == [[1.0, 1.0]] * 3


@pytest.mark.parametrize(
    "row", [RowEdit(CROSS, 1, (0.0, 3.0, 1.0), 2), RowEdit(OWN, 2, (0.0, 2.0))]
)
def test_a_row_that_is_set_is_looked_with_in_steps_as_well_as_at_once(model, row):
    """(0, 3, 1) is brought to (0, .75, .25, 0); head 3 of 3, or all of them."""
    plain, before = at_once(model), weights_of(model, row.site, partial(at_once, model))
    with set_rows(model, [row], count(model)):
        found, after = at_once(model), weights_of(model, row.site, partial(at_once, model))
        stepwise = lambda: step_by_step(model, model.encode(SOURCE))  # noqa: E731
        torch.testing.assert_close(stepwise(), found, atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(weights_of(model, row.site, stepwise), after)
    expected = before.clone()
    heads = slice(None) if row.head is None else row.head
    wanted = torch.tensor(row.weights) / sum(row.weights)
    expected[heads, row.query] = 0.0
    expected[heads, row.query, : len(wanted)] = wanted
    torch.testing.assert_close(after[:, : row.query + 1], expected[:, : row.query + 1])
    torch.testing.assert_close(found[: row.query], plain[: row.query])
    assert not torch.allclose(found[row.query], plain[row.query], atol=1e-4)
    torch.testing.assert_close(at_once(model), plain)


def test_a_row_of_the_encoder_goes_on_into_the_memory(model):
    """Of one layer: what a position found is then its value alone, brought through by hand."""
    site = "encoder.blocks.0.self_attention"
    with set_rows(model, [RowEdit(site, 1, (0.0, 0.0, 0.0, 1.0))], count(model)):
        found = model.encode(SOURCE).states
        weights = weights_of(model, site, lambda: model.encode(SOURCE))
    assert weights[:, 1].tolist() == [[0.0, 0.0, 0.0, 1.0]] * 3
    plain = model.encode(SOURCE).states
    torch.testing.assert_close(found[:, [0, 2, 3]], plain[:, [0, 2, 3]])
    assert not torch.allclose(found[:, 1], plain[:, 1], atol=1e-4)


@pytest.mark.parametrize(("order", "input_feeding"), ORDERS)
def test_a_row_of_an_rnn_is_that_of_one_step(order, input_feeding):
    other = recurrent(order, input_feeding)
    plain = at_once(other)
    row = RowEdit("decoder.attention", 1, (0.0, 1.0))
    with torch.no_grad(), set_rows(other, [row], {"decoder.attention": 1}):
        found = at_once(other)
        stepwise = step_by_step(other, other.encode(SOURCE))
        weights = weights_of(other, row.site, lambda: step_by_step(other, other.encode(SOURCE)))
    torch.testing.assert_close(stepwise, found, atol=1e-5, rtol=1e-4)
    assert weights[0, 1].tolist() == [0.0, 1.0, 0.0, 0.0]
    torch.testing.assert_close(found[0], plain[0], atol=1e-5, rtol=1e-4)
    assert not torch.allclose(found[1], plain[1], atol=1e-4)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (RowEdit("decoder.nothing", 0, (1.0,)), "no such head"),
        (RowEdit(CROSS, 0, (1.0,), 3), "no such head"),
        (RowEdit(CROSS, 0, ()), "these are not attention weights"),
        (RowEdit(CROSS, 0, (0.0, 0.0)), "these are not attention weights"),
        (RowEdit(CROSS, 0, (1.0, -1.0, 5.0)), "these are not attention weights"),
        (RowEdit(CROSS, 0, (float("nan"), 1.0)), "these are not attention weights"),
        (RowEdit(OWN, 1, (0.0, 0.0, 1.0)), "cannot attend to later positions"),
        (RowEdit(CROSS, 0, (1.0,) * 5), "more weights than there are keys"),
    ],
)
def test_a_row_that_cannot_be_set_is_refused(model, row, words):
    with pytest.raises(ModelError, match=words), set_rows(model, [row], count(model)):
        model.decoder(model.encode(SOURCE), TARGET)
    assert all(each.edit is None for each in sites(model).values())


def test_changes_are_made_together_and_unmade(model):
    plain = at_once(model)
    row = RowEdit(CROSS, 1, (1.0,))
    change = Change(off={OWN: [0]}, blank=(1,), rows=(row,))
    assert change
    assert not Change()
    with (
        switched_off(model, {OWN: [0]}, count(model)),
        blanked(model, [1]),
        set_rows(model, [row], count(model)),
    ):
        expected = at_once(model)
    with changed(model, change, count(model)):
        torch.testing.assert_close(at_once(model), expected)
    with changed(model, Change(), count(model)):
        torch.testing.assert_close(at_once(model), plain)


def test_a_head_that_was_off_before_stays_off(model):
    count = heads_of(model)
    site = next(iter(count))
    known = sites(model)[site]
    with switched_off(model, {site: [0]}, count):
        with switched_off(model, {site: [1]}, count):
            assert known.gate[:2].tolist() == [0.0, 0.0]
        assert known.gate[:2].tolist() == [0.0, 1.0]
    assert known.gate is None
