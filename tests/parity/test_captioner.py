"""Captioners against torch's own cells, layers and softmax put together as the papers have it."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from jumok.config import CaptionerConfig
from jumok.models.captioner import CaptionerModel
from jumok.positions.sinusoidal import sinusoids
from tests.parity.torch_weights import copy_linear, roughen

ROWS, COLUMNS, WIDTH, DIM, WORD, WORDS = 3, 5, 7, 12, 9, 31
SCALE = WORD**0.5  # of an embedding whose table the output shares: Vaswani et al. 2017, section 3.4
TARGET = torch.tensor([[2, 21, 22, 23, 24], [2, 25, 26, 27, 28]])
GIVEN = {"kind": "given", "rows": ROWS, "columns": COLUMNS, "dim": WIDTH}


class ShowAttendTell(nn.Module):
    """Xu et al. 2015 with torch's LSTMCell: z -> alpha_t -> beta_t c_t -> LSTM -> the next word."""

    def __init__(self) -> None:
        super().__init__()
        self.project, self.norm = nn.Linear(WIDTH, DIM), nn.LayerNorm(DIM)
        self.first = nn.Linear(DIM, 2 * DIM)
        self.query, self.key = nn.Linear(DIM, DIM), nn.Linear(DIM, DIM)
        self.energy = nn.Linear(DIM, 1, bias=False)
        self.gate = nn.Linear(DIM, 1)
        self.cell = nn.LSTMCell(WORD + DIM, DIM)
        self.readout = nn.Linear(DIM + DIM + WORD, WORD)
        self.words = nn.Embedding(WORDS, WORD)

    def forward(self, features: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        places = [
            torch.cat([sinusoids(ROWS, DIM // 2)[row], sinusoids(COLUMNS, DIM // 2)[column]])
            for row in range(ROWS)
            for column in range(COLUMNS)
        ]
        cells = self.norm(self.project(features) + torch.stack(places))
        hidden, memory = self.first(cells.mean(1)).tanh().chunk(2, dim=1)
        logits = []
        for token in tokens.T:
            inner = torch.tanh(self.query(hidden)[:, None] + self.key(cells))
            alpha = F.softmax(self.energy(inner), dim=1)
            context = torch.sigmoid(self.gate(hidden)) * (alpha * cells).sum(1)
            word = self.words(token) * SCALE
            hidden, memory = self.cell(torch.cat([word, context], dim=1), (hidden, memory))
            shown = torch.tanh(self.readout(torch.cat([hidden, context, word], dim=1)))
            logits.append(F.linear(shown, self.words.weight))
        return torch.stack(logits, dim=1)


class ShowTell(nn.Module):
    """Vinyals et al. 2015 with torch's RNNs: one vector of the picture, and the state from it."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.squeeze = nn.Linear(WIDTH, DIM // 4)
        self.inner = nn.Linear(DIM // 4 * ROWS * COLUMNS, 2 * DIM)
        self.outer, self.norm = nn.Linear(2 * DIM, DIM), nn.LayerNorm(DIM)
        self.first = nn.Linear(DIM, 2 * DIM if kind == "lstm" else DIM)
        make = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}[kind]
        self.cell = make(WORD, DIM, batch_first=True)
        self.readout = nn.Linear(DIM, WORD)
        self.words = nn.Embedding(WORDS, WORD)

    def forward(self, features: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        beside = F.relu(self.squeeze(features)).flatten(1)
        vector = self.norm(self.outer(F.relu(self.inner(beside))))
        states = torch.tanh(self.first(vector))[None].split(DIM, dim=2)
        states = tuple(state.contiguous() for state in states)
        seen, _ = self.cell(self.words(tokens) * SCALE, states if len(states) > 1 else states[0])
        return F.linear(torch.tanh(self.readout(seen)), self.words.weight)


def captioner(decoder: dict[str, object], memory: str) -> CaptionerModel:
    torch.manual_seed(1)
    rnn = {"kind": "rnn", "dim": DIM, "embedding": WORD, **decoder}
    config = CaptionerConfig.model_validate({"encoder": GIVEN, "decoder": rnn, "memory": memory})
    return roughen(CaptionerModel(config, WORDS)).eval()


@torch.no_grad()
def copy_rest(ours: CaptionerModel, theirs: ShowAttendTell | ShowTell, suffix: str) -> None:
    """What both papers have: the norm, the first state, the cell, and the words."""
    theirs.norm.load_state_dict(ours.reader.first_norm.state_dict())
    copy_linear(theirs.first, ours.decoder.first)
    copy_linear(theirs.readout, ours.decoder.readout)
    theirs.words.weight.copy_(ours.decoder.embedding.table)
    (cell,) = ours.decoder.cells
    for side, part in (("ih", cell.input), ("hh", cell.state)):
        getattr(theirs.cell, f"weight_{side}{suffix}").copy_(part.weight)
        getattr(theirs.cell, f"bias_{side}{suffix}").copy_(part.bias)


@torch.no_grad()
def test_a_captioner_that_looks_is_show_attend_and_tell() -> None:
    ours, theirs = captioner({"cell": "lstm", "gate": True}, "grid"), ShowAttendTell()
    copy_rest(ours, theirs, "")
    score = ours.decoder.attention.score
    copy_linear(theirs.project, ours.writer.project)
    copy_linear(theirs.query, score.query)
    copy_linear(theirs.key, score.key)
    copy_linear(theirs.gate, ours.decoder.gate)
    theirs.energy.weight.copy_(score.energy[None])
    features = torch.randn(2, ROWS * COLUMNS, WIDTH)
    found = ours.decoder(ours.encode(features), TARGET)
    torch.testing.assert_close(found, theirs(features, TARGET), atol=1e-5, rtol=0)


@torch.no_grad()
@pytest.mark.parametrize("cell", ["rnn", "lstm", "gru"])
def test_a_captioner_of_one_vector_is_show_and_tell(cell: str) -> None:
    ours, theirs = captioner({"cell": cell}, "one"), ShowTell(cell)
    copy_rest(ours, theirs, "_l0")
    for name in ("squeeze", "inner", "outer"):
        copy_linear(getattr(theirs, name), getattr(ours.writer, name))
    features = torch.randn(2, ROWS * COLUMNS, WIDTH)
    found = ours.decoder(ours.encode(features), TARGET)
    torch.testing.assert_close(found, theirs(features, TARGET), atol=1e-5, rtol=0)
