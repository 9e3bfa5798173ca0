"""Imported models beside transformers: logits, attention, gradients, and the tables both ways."""

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from transformers.models.t5.modeling_t5 import T5Attention

from jumok.attention.observe import observe
from jumok.data.tokenizer import PAD, START
from jumok.interop import importing
from jumok.interop.checking import compare_inputs, numbers_in_transformers
from jumok.interop.containers import Container, open_weights
from jumok.interop.importing import Imported, read_model, shapes_of
from jumok.models.causal import CausalLanguageModel
from jumok.models.masked import MaskedLanguageModel, MissingHead
from jumok.models.memory import SequenceToSequence
from jumok.positions.tables import buckets
from tests.interop.folders import WRITTEN
from tests.interop.folders_encdec import mask_of

LENGTHS = torch.tensor([13, 11, 5])
REAL = torch.arange(13) < LENGTHS[:, None]


@pytest.fixture(scope="module", params=WRITTEN)
def both(request, tmp_path_factory) -> tuple[Path, Imported, Any]:
    folder = WRITTEN[request.param](tmp_path_factory.mktemp("folders") / "theirs")
    imported = read_model(folder)
    name = imported.family.theirs(imported.section)
    theirs = getattr(transformers, name).from_pretrained(folder, attn_implementation="eager")
    return folder, imported, theirs.eval()


def given(imported: Imported) -> torch.Tensor:
    """Ids of ours; none of the tokens that stand in for others, or that one side does not have."""
    vocabulary = imported.vocabulary
    lacking = {0, 1, 2, 3, *vocabulary.copied, *vocabulary.read.copied}
    own = torch.tensor([id for id in range(len(vocabulary.order)) if id not in lacking])
    generator = torch.Generator().manual_seed(3)
    ids = own[torch.randint(len(own), (3, 13), generator=generator)]
    return ids.masked_fill(~REAL, PAD)


def numbers(imported: Imported, ids: torch.Tensor) -> torch.Tensor:
    """The logits of the tokens there, or the last states of an encoder."""
    model, vocabulary = imported.model, imported.vocabulary
    if isinstance(model, CausalLanguageModel):
        logits = model.decoder.logits(model.hidden(ids))
    elif isinstance(model, MaskedLanguageModel) and isinstance(model.head, MissingHead):
        return model.encoder(ids, REAL)
    elif isinstance(model, SequenceToSequence):
        logits = model.decoder(model.encode(ids, REAL), begun(ids, START))
    else:
        logits = model(ids, REAL)
    here = vocabulary.predicted()
    return logits[..., [here[row] for row in range(vocabulary.rows)]]


def begun(ids: torch.Tensor, start: int) -> torch.Tensor:
    """What a decoder reads: the same ids, but the last, after its start."""
    return torch.cat([ids.new_full((len(ids), 1), start), ids[:, :-1]], dim=1)


def output_of(imported: Imported, theirs: Any, ids: torch.Tensor) -> Any:
    read_order, order = (
        torch.tensor(each.order) for each in (imported.vocabulary.read, imported.vocabulary)
    )
    mask = mask_of(imported, REAL)
    read = {"input_ids": read_order[ids], "attention_mask": mask, "output_attentions": True}
    if isinstance(imported.model, SequenceToSequence):
        start = imported.vocabulary.order[START]
        assert theirs.config.decoder_start_token_id in (start, None)
        read["decoder_input_ids"] = begun(order[ids], start)
    return theirs(**read)


def attentions_of(output: Any) -> list[torch.Tensor]:
    """In the order of our sites."""
    if "encoder_attentions" not in output:
        return list(output.attentions)
    pairs = zip(output.decoder_attentions, output.cross_attentions, strict=True)
    return [*output.encoder_attentions, *(each for pair in pairs for each in pair)]


def theirs_of(output: Any) -> torch.Tensor:
    found: torch.Tensor = output.logits if "logits" in output else output.last_hidden_state
    return found


def test_logits_and_attention_are_theirs(both):
    _, imported, theirs = both
    ids = given(imported)
    seen = []
    with torch.no_grad(), observe(imported.model, lambda _, a: seen.append(a.weights), bool):
        mine = numbers(imported, ids)
    with torch.no_grad():
        output = output_of(imported, theirs, ids)
    torch.testing.assert_close(mine[REAL], theirs_of(output)[REAL], atol=1e-5, rtol=0)
    assert len(seen) >= 3
    for ours, other in zip(seen, attentions_of(output), strict=True):
        for row, length in enumerate(LENGTHS.tolist()):
            whole = (row, slice(None), slice(length), slice(length))
            torch.testing.assert_close(ours[whole], other[whole], atol=1e-5, rtol=0)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(("count", "farthest"), [(32, 128), (20, 48), (13, 7), (4, 3), (127, 997)])
def test_buckets_of_relative_positions_are_those_of_t5(count, farthest, causal):
    ahead = torch.arange(-farthest - 11, farthest + 12)
    theirs = T5Attention._relative_position_bucket(ahead, not causal, count, farthest)
    ours = torch.tensor(buckets(count, farthest, causal=causal))
    assert torch.equal(ours[ahead.clamp(-farthest, farthest) + farthest], theirs)


def test_gradients_of_a_step_are_theirs(both, monkeypatch):
    _, imported, theirs = both
    ids = given(imported)
    pull = torch.randn(3, 13, 1, generator=torch.Generator().manual_seed(5)) * REAL[..., None]
    for model in (imported.model, theirs):
        model.zero_grad()
    (numbers(imported, ids).tanh() * pull).sum().backward()
    output = output_of(imported, theirs, ids)
    (theirs_of(output).tanh() * pull).sum().backward()
    gradients = {name: each.grad for name, each in imported.model.named_parameters()}
    table = imported.table
    known = {name: each.grad for name, each in theirs.named_parameters() if each.grad is not None}
    checked = 0
    for row in table.spread():
        skipped = any(name not in known for name in row.there)
        if skipped or "embedding" in row.here[0] or row.here[0] == "decoder.output.weight":
            continue  # rows of tables that are several tokens here have a part of the gradient
        turned = row.read([known[name] for name in row.there], imported.vocabulary)
        for name, expected in zip(row.here, turned, strict=True):
            if not name.endswith(("head.bias", "output.bias")):
                # sums of float32 differ by the size of their summands, not of the result
                near = max(1e-4, 1e-5 * float(expected.abs().max()))
                torch.testing.assert_close(gradients[name], expected, atol=near, rtol=1e-4)
                checked += 1
    assert checked >= 40, checked


def test_in_out_and_in_again_gives_the_same_bits(both):
    folder, imported, _ = both
    stored = open_weights(folder)
    table = imported.table
    mine = {name: each.detach() for name, each in imported.model.named_parameters()}
    written = table.write(mine, imported.vocabulary)
    again = Container(
        folder, {name: tuple(each.shape) for name, each in written.items()},
        dict.fromkeys(written, folder), written.__getitem__,
    )  # fmt: skip
    table.check(again, imported.vocabulary, shapes_of(imported.model))
    back = dict(table.read(again, imported.vocabulary))
    assert back.keys() == mine.keys()
    for name, tensor in mine.items():
        assert torch.equal(back[name], tensor), name
    for name, tensor in written.items():  # all but what is folded into another
        if not any(part in name for part in ("position_emb", "embed_positions", "token_type")):
            # the last bit of a table that is scaled may change
            close = name == "shared.weight" and imported.section.embedding_scale
            torch.testing.assert_close(tensor, stored.load(name), rtol=2**-22 * close, atol=0.0)


def test_ten_inputs_are_compared(both):
    _, imported, _ = both
    found = compare_inputs(imported, numbers_in_transformers(imported))
    assert found.inputs == 10
    assert found.difference < 1e-5


def test_another_number_is_noticed(both):
    _, imported, _ = both
    name, parameter = next(
        (name, each) for name, each in imported.model.named_parameters() if "query.weight" in name
    )
    kept = parameter.detach().clone()
    with torch.no_grad():
        parameter.copy_(kept.roll(1, dims=0))
    try:
        with pytest.raises(importing.BundleError, match="does not compute what the original does"):
            compare_inputs(imported, numbers_in_transformers(imported))
    finally:
        with torch.no_grad():
            parameter.copy_(kept)
    assert name
