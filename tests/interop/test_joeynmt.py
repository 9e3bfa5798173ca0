"""Models of JoeyNMT beside its own code: attention, gradients, greedy and beam search."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence

from jumok.attention.observe import observe
from jumok.data.tokenizer import END, PAD, START
from jumok.decoding.limits import Limits
from jumok.decoding.rank import Ranker, google_length_penalty
from jumok.interop.importing import Imported, read_model
from jumok.models.memory import Memory, SequenceToSequence
from tests.decoding.searches import beam_search, greedy
from tests.interop.folders_trainers import MADE, weights_of, write
from tests.interop.peers.weights import numbers, sentences, speak, weighed

TRANSFORMERS, RNNS = (
    [name for name in MADE if name.startswith(each)] for each in ("joeynmt", "joey_")
)
SUMMED = "lut.weight", "output_layer.weight", "bridge_layer.weight", "bridge_layer.bias"
"""Of RNNs what is there once, and here several times or scaled: its gradient is another."""
MOST = 13
REAL = torch.arange(7) < torch.tensor([[7], [4]])


@pytest.fixture(params=[*TRANSFORMERS, *RNNS])
def both(request, tmp_path) -> tuple[dict[str, Any], Imported]:
    return MADE[request.param], read_model(write(tmp_path / "theirs", request.param))


@pytest.fixture(params=[*TRANSFORMERS, *RNNS])
def speaking(request, tmp_path) -> tuple[dict[str, Any], Imported]:
    """With tables of which sentences end."""
    made, folder = MADE[request.param], write(tmp_path / "theirs", request.param)
    tensors = weights_of(made)
    speak(tensors, made["speaks"])
    torch.save({"model_state": tensors}, folder / "best.ckpt")
    return made, read_model(folder)


def memory_of(imported: Imported, seed: int) -> Memory:
    """Of a hundred sources."""
    model, here = imported.model, imported.vocabulary.read.here()
    assert isinstance(model, SequenceToSequence)
    ids = torch.tensor([[here[id] for id in row] for row in sentences(len(here), seed).tolist()])
    return model.encode(ids, ids != PAD)


def ours(imported: Imported, lines: list[list[int]]) -> list[tuple[int, ...]]:
    """Theirs by our ids, without END."""
    predicted = imported.vocabulary.predicted()
    rows = ([predicted[id] for id in line] for line in lines)
    return [tuple(row[:-1] if row[-1] == END else row[:MOST]) for row in rows]


def logits_here(imported: Imported, made: dict[str, Any]) -> torch.Tensor:
    """By the rows there."""
    model, vocabulary = imported.model, imported.vocabulary
    assert isinstance(model, SequenceToSequence)
    here = vocabulary.read.here(), vocabulary.here()
    read, written = (
        torch.tensor([[ids[id] for id in row] for row in made[key]])
        for key, ids in zip(("read", "written"), here, strict=True)
    )
    assert torch.equal(read != PAD, REAL)
    predicted = vocabulary.predicted()
    logits = model.decoder(model.encode(read, REAL), written)
    return logits[..., [predicted[row] for row in range(vocabulary.rows)]]


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_attention_of_every_layer_and_head_is_theirs(tmp_path, name):
    made, imported = MADE[name], read_model(write(tmp_path / "theirs", name))
    seen: list[torch.Tensor] = []
    with torch.no_grad(), observe(imported.model, lambda _, a: seen.append(a.weights), bool):
        logits_here(imported, made)
    assert len(seen) == 7  # three layers read, and two write with two attentions each
    for site, (mine, millionths) in enumerate(zip(seen, made["attention"], strict=True)):
        theirs = torch.tensor(millionths) / 1e6
        assert mine.shape == theirs.shape == (2, 7, 7, 7)
        for row, length in enumerate((7, 4)):
            queries = length if site < 3 else 7
            found = mine[row, :, :queries], theirs[row, :, :queries]
            torch.testing.assert_close(*found, atol=1e-5, rtol=0)


@pytest.mark.parametrize("name", RNNS)
def test_attention_of_every_step_is_theirs(tmp_path, name):
    made, imported = MADE[name], read_model(write(tmp_path / "theirs", name))
    seen: list[torch.Tensor] = []
    with torch.no_grad(), observe(imported.model, lambda _, a: seen.append(a.weights), bool):
        logits_here(imported, made)
    mine = torch.cat(seen, dim=2)[:, 0]  # one head
    theirs = torch.cat([torch.tensor(each) for each in made["attention"]], dim=1) / 1e6
    assert mine.shape == theirs.shape == (2, 7, 7)
    torch.testing.assert_close(mine, theirs, atol=1e-5, rtol=0)


def test_gradients_of_a_step_are_theirs(both):
    """Of each tensor three sums over all its numbers, weighted at random."""
    made, imported = both
    model = imported.model
    (logits_here(imported, made).tanh() * numbers("pull", [2, 7, 1])).sum().backward()
    gradients = {name: each.grad for name, each in model.named_parameters()}
    gradients["decoder.output.bias"] = torch.zeros(imported.tokenizer.size)  # not theirs
    for name, gradient in gradients.items():
        if name.endswith(("score.key.bias", "score.query.bias")):  # of RNNs
            gradients[name] = torch.zeros_like(gradient)
    written = imported.table.write(gradients, imported.vocabulary)
    names = {owner: name for name, owner in made["same"].items()}
    rnn = made["settings"]["encoder"]["type"] == "recurrent"
    compared = {
        name: sums
        for name, sums in made["gradients"].items()
        if not (rnn and name.endswith(SUMMED))
    }
    assert len(compared) > (13 if rnn else 100)
    for name, expected in compared.items():
        gradient = written[name if name in written else names[name]]
        found = weighed(name, gradient)
        assert found == pytest.approx(expected, abs=1e-4, rel=1e-4), name


@torch.no_grad()
def test_greedy_translations_are_theirs(speaking):
    made, imported = speaking
    for seed, lines in enumerate(made["greedy"], start=1):
        memory, limits = memory_of(imported, seed), Limits(maximum_length=MOST)
        found = greedy(imported.model.decoder, memory, limits)
        expected = ours(imported, lines)
        assert [each.tokens for each in found] == expected
        assert [each.finished for each in found] == [line[-1] == 3 for line in lines]
        assert len(set(expected)) > 9


def scores_of(imported: Imported, lines: list[list[int]]) -> Iterator[float]:
    """Of their hypotheses by our logits, with their length penalty."""
    memory, predicted = memory_of(imported, 4), imported.vocabulary.predicted()
    targets = [torch.tensor([predicted[id] for id in line]) for line in lines]
    after = pad_sequence(targets, batch_first=True, padding_value=PAD)
    read = F.pad(after[:, :-1], (1, 0), value=START)
    values = imported.model.decoder(memory, read).log_softmax(-1)
    chosen = values.gather(-1, after[..., None])[..., 0]
    for row, line in zip(chosen, lines, strict=True):
        yield float(row[: len(line)].sum()) / ((5 + len(line)) / 6) ** 0.7


@torch.no_grad()
def test_beams_are_theirs_and_so_are_their_scores(speaking):
    made, imported = speaking
    lines, scores = made["beams"]
    limits, ranker = Limits(maximum_length=MOST), Ranker(google_length_penalty(0.7))
    found = beam_search(
        imported.model.decoder, memory_of(imported, 4), 4, limits, ranker, patience=None
    )
    for mine, theirs in zip(scores_of(imported, lines), scores, strict=True):
        assert mine == pytest.approx(theirs, abs=1e-4)
    ended = same = 0
    for (best,), tokens, line, score in zip(
        found, ours(imported, lines), lines, scores, strict=True
    ):
        if line[-1] != 3:
            continue  # theirs ranks what is cut together with the rest
        ended += 1
        if best.tokens == tokens:
            same += 1
            assert best.score == pytest.approx(score, abs=1e-4)
        else:  # in theirs a hypothesis that ended keeps its place in the beam
            assert best.score > score + 1e-4
    assert same >= 0.8 * ended >= 20
