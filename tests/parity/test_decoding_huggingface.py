"""Greedy and beam search against Hugging Face's generate, on the same random Marian model."""

from dataclasses import dataclass

import pytest
import torch
from transformers import MarianConfig, MarianMTModel
from transformers.modeling_outputs import BaseModelOutput

from jumok.decoding.limits import Limits
from jumok.decoding.rank import Ranker, power_length_penalty
from jumok.models.memory import Memory
from tests.decoding.searches import beam_search, greedy

PAD, START, END, SIZE = 0, 2, 3, 43
MOST = 12


@dataclass
class Written:
    """The memory and the tokens so far: Marian reads them all again at every step."""

    memory: Memory
    tokens: torch.Tensor


class Marian:
    """Hugging Face's model as a Decoder."""

    vocabulary_size = SIZE

    def __init__(self, model: MarianMTModel) -> None:
        self.model = model

    def start(self, memory: Memory) -> Written:
        return Written(memory, torch.empty(len(memory.states), 0, dtype=torch.long))

    def step(self, tokens: torch.Tensor, state: Written) -> tuple[torch.Tensor, Written]:
        written = torch.cat([state.tokens, tokens[:, None]], dim=1)
        return self.forward(state.memory, written)[:, -1], Written(state.memory, written)

    def reorder(self, state: Written, rows: torch.Tensor) -> Written:
        return Written(state.memory.select(rows), state.tokens[rows])

    def forward(self, memory: Memory, tokens: torch.Tensor) -> torch.Tensor:
        return self.model(
            encoder_outputs=BaseModelOutput(memory.states),
            attention_mask=memory.allowed,
            decoder_input_ids=tokens,
            use_cache=False,
        ).logits


@pytest.fixture(scope="module")
def marian() -> MarianMTModel:
    torch.manual_seed(5)
    config = MarianConfig(
        vocab_size=SIZE,
        d_model=24,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=3,
        decoder_attention_heads=3,
        encoder_ffn_dim=20,
        decoder_ffn_dim=20,
        max_position_embeddings=64,
        pad_token_id=PAD,
        eos_token_id=END,
        forced_eos_token_id=None,
        decoder_start_token_id=START,
        init_std=0.2,
        tie_word_embeddings=False,
    )
    model = MarianMTModel(config).eval()
    # small weights around large embeddings: otherwise a random model repeats one token for ever
    model.model.decoder.embed_tokens.weight.data.mul_(20.0)
    model.model.encoder.embed_tokens.weight.data.mul_(20.0)
    model.final_logits_bias[:, END] = 2.0  # so that random sentences end
    return model


def source() -> tuple[torch.Tensor, torch.Tensor]:
    """7 sentences of 11 tokens and fewer."""
    allowed = torch.arange(11) < torch.tensor([[11], [7], [3], [9], [2], [5], [10]])
    tokens = (torch.arange(77).view(7, 11) * 17) % 37 + 5
    return tokens.masked_fill(~allowed, PAD), allowed


def memory(marian: MarianMTModel) -> Memory:
    tokens, allowed = source()
    with torch.no_grad():
        return Memory(marian.model.encoder(tokens, allowed).last_hidden_state, allowed)


def generate(marian: MarianMTModel, **options: object) -> tuple[list[tuple[int, ...]], list[float]]:
    """Hugging Face's hypotheses without START, END and PAD, and their scores."""
    tokens, allowed = source()
    out = marian.generate(
        tokens,
        attention_mask=allowed.long(),
        max_length=MOST + 2,
        bad_words_ids=[[PAD], [START]],
        do_sample=False,
        output_scores=True,
        return_dict_in_generate=True,
        **options,
    )
    sequences = [
        tuple(row[1 : row.index(END) if END in row else MOST + 1]) for row in out.sequences.tolist()
    ]
    scores = out.sequences_scores.tolist() if "sequences_scores" in out else []
    return sequences, scores


def test_greedy_is_hugging_faces(marian: MarianMTModel) -> None:
    expected, _ = generate(marian, num_beams=1)
    found = greedy(Marian(marian), memory(marian), Limits(maximum_length=MOST))
    assert [hypothesis.tokens for hypothesis in found] == expected
    assert any(hypothesis.finished for hypothesis in found)


@pytest.mark.parametrize("strength", [0.0, 1.0])
@pytest.mark.parametrize("beam", [2, 5])
def test_beam_is_hugging_faces(marian: MarianMTModel, beam: int, strength: float) -> None:
    """Where both finish: at the maximum length Hugging Face ranks cut hypotheses with the rest."""
    sequences, scores = generate(
        marian,
        num_beams=beam,
        num_return_sequences=beam,
        length_penalty=strength,
        early_stopping=True,
    )
    ranker = Ranker(power_length_penalty(strength))
    limits = Limits(maximum_length=MOST)
    found = beam_search(Marian(marian), memory(marian), beam, limits, ranker, nbest=beam)
    finished = 0
    for row, hypotheses in enumerate(found):
        theirs = slice(row * beam, (row + 1) * beam)
        if not all(hypothesis.finished for hypothesis in hypotheses):
            continue
        finished += 1
        assert [hypothesis.tokens for hypothesis in hypotheses] == sequences[theirs]
        assert [h.score for h in hypotheses] == pytest.approx(scores[theirs], abs=1e-4)
    assert finished >= 4
