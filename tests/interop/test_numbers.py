"""Imported models beside transformers: logits, attention, gradients, and the tables both ways."""

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from jumok.attention.observe import observe
from jumok.data.tokenizer import PAD, START
from jumok.interop import importing
from jumok.interop.checking import compare_inputs
from jumok.interop.containers import Container, open_weights
from jumok.interop.importing import Imported, expected_shapes, read_model_folder
from jumok.models.catalog import DataSizes
from jumok.models.causal import CausalLanguageModel
from jumok.models.masked import MaskedLanguageModel, MissingHead
from jumok.models.memory import SequenceToSequence
from tests.interop.folders import WRITTEN

LENGTHS = torch.tensor([13, 11, 5])
REAL = torch.arange(13) < LENGTHS[:, None]


@pytest.fixture(scope="module", params=WRITTEN)
def both(request, tmp_path_factory) -> tuple[Path, Imported, Any]:
    folder = WRITTEN[request.param](tmp_path_factory.mktemp("folders") / "theirs")
    imported = read_model_folder(folder)
    name = imported.family.theirs(imported.section)
    theirs = getattr(transformers, name).from_pretrained(folder, attn_implementation="eager")
    return folder, imported, theirs.eval()


def given(imported: Imported) -> tuple[torch.Tensor, torch.Tensor]:
    """Our ids and theirs; none of the tokens that stand in for others."""
    order = torch.tensor(imported.vocabulary.order)
    generator = torch.Generator().manual_seed(3)
    ids = torch.randint(4, len(order), (3, 13), generator=generator).masked_fill(~REAL, PAD)
    return ids, order[ids]


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
    read = {"input_ids": ids, "attention_mask": REAL.long(), "output_attentions": True}
    if isinstance(imported.model, SequenceToSequence):
        read["decoder_input_ids"] = begun(ids, theirs.config.decoder_start_token_id)
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
    ids, other_ids = given(imported)
    seen = []
    with torch.no_grad(), observe(imported.model, lambda _, a: seen.append(a.weights), bool):
        mine = numbers(imported, ids)
    with torch.no_grad():
        output = output_of(imported, theirs, other_ids)
    torch.testing.assert_close(mine[REAL], theirs_of(output)[REAL], atol=1e-5, rtol=0)
    assert len(seen) >= 3
    for ours, other in zip(seen, attentions_of(output), strict=True):
        for row, length in enumerate(LENGTHS.tolist()):
            whole = (row, slice(None), slice(length), slice(length))
            torch.testing.assert_close(ours[whole], other[whole], atol=1e-5, rtol=0)


def test_gradients_of_a_step_are_theirs(both, monkeypatch):
    _, imported, theirs = both
    ids, other_ids = given(imported)
    pull = torch.randn(3, 13, 1, generator=torch.Generator().manual_seed(5)) * REAL[..., None]
    for model in (imported.model, theirs):
        model.zero_grad()
    (numbers(imported, ids).tanh() * pull).sum().backward()
    output = output_of(imported, theirs, other_ids)
    (theirs_of(output).tanh() * pull).sum().backward()
    gradients = {name: each.grad for name, each in imported.model.named_parameters()}
    table = imported.family.table(imported.settings, open_weights(both[0]).shapes)
    known = {name: each.grad for name, each in theirs.named_parameters() if each.grad is not None}
    checked = 0
    for row in table.spread():
        skipped = any(name not in known for name in row.there)
        if skipped or "embedding" in row.here[0] or row.here[0] == "decoder.output.weight":
            continue  # rows of tables that are several tokens here have a part of the gradient
        turned = row.read([known[name] for name in row.there], imported.vocabulary)
        for name, expected in zip(row.here, turned, strict=True):
            if not name.endswith(("head.bias", "output.bias")):
                torch.testing.assert_close(gradients[name], expected, atol=1e-4, rtol=1e-4)
                checked += 1
    assert checked >= 40, checked


def test_in_out_and_in_again_gives_the_same_bits(both):
    folder, imported, _ = both
    stored = open_weights(folder)
    table = imported.family.table(imported.settings, stored.shapes)
    mine = {name: each.detach() for name, each in imported.model.named_parameters()}
    written = table.write(mine, imported.vocabulary)
    again = Container(
        folder, {name: tuple(each.shape) for name, each in written.items()},
        dict.fromkeys(written, folder), written.__getitem__,
    )  # fmt: skip
    sizes = DataSizes(vocabulary=imported.tokenizer.size)
    back, _ = table.read(again, imported.vocabulary, expected_shapes(imported.section, sizes))
    assert back.keys() == mine.keys()
    for name, tensor in mine.items():
        assert torch.equal(back[name], tensor), name
    for name, tensor in written.items():  # all but what is folded into another
        if "position_embeddings" not in name and "token_type" not in name:
            assert torch.equal(tensor, stored.load(name)), name


def test_ten_inputs_are_compared(both):
    folder, imported, _ = both
    found = compare_inputs(folder, imported)
    assert found.inputs == 10
    assert found.difference < 1e-5


def test_another_number_is_noticed(both):
    folder, imported, _ = both
    name, parameter = next(
        (name, each) for name, each in imported.model.named_parameters() if "query.weight" in name
    )
    kept = parameter.detach().clone()
    with torch.no_grad():
        parameter.copy_(kept.t())
    try:
        with pytest.raises(importing.BundleError, match="does not compute what the original does"):
            compare_inputs(folder, imported)
    finally:
        with torch.no_grad():
            parameter.copy_(kept)
    assert name
