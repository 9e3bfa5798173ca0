from math import inf, log

import pytest
import torch

from jumok.attention.observe import Attention, observe
from jumok.config import TransformerConfig
from jumok.config.recurrent import RecurrentConfig
from jumok.decoding.limits import Limits
from jumok.decoding.rank import Ranker, log_coverage, power_length_penalty
from jumok.decoding.score import covering, score_pairs
from jumok.errors import ConfigError
from jumok.models.encoder_decoder import Transformer
from jumok.models.memory import Memory
from jumok.models.recurrent import RecurrentModel
from tests.decoding.searches import beam_search, greedy
from tests.decoding.tables import CachedTable, sentences


def test_coverage_penalty_turns_the_order_round() -> None:
    # After START: 4 has 0.4, 5 has 0.6; then always END. Two real source positions.
    # (5,) attended to position 0 twice: log 1 + log 1e-6 = -13.816
    # (4,) attended to positions 0 and 1: log 1 + log 1 = 0
    def logits(sentence: int, prefix: tuple[int, ...]) -> list[float]:
        if prefix:
            return [-inf, -inf, -inf, 0.0, -inf, -inf]
        return [-inf, -inf, -inf, -inf, log(0.4), log(0.6)]

    memory = sentences(0)

    def search(strength: float) -> list[tuple[tuple[int, ...], float]]:
        def cover(sentence: int, hypotheses: list[tuple[int, ...]]) -> list[float]:
            """It attends to position 0, except after 4, when it is 1."""
            read = [torch.tensor([[2, *tokens]]) == 4 for tokens in hypotheses]
            attended = torch.cat([torch.stack([(~four).sum(1), four.sum(1)], 1) for four in read])
            return log_coverage(attended.float().numpy(), None).tolist()

        (found,) = beam_search(
            CachedTable(logits, 6),
            memory,
            2,
            Limits(maximum_length=3),
            Ranker(coverage_penalty=strength),
            nbest=2,
            cover=cover,
        )
        return [(hypothesis.tokens, round(hypothesis.score, 3)) for hypothesis in found]

    assert search(0.0) == [((5,), -0.511), ((4,), -0.916)]
    assert search(0.1) == [((4,), -0.916), ((5,), -1.892)]


@pytest.fixture(scope="module")
def model() -> Transformer:
    """A Transformer with large random weights, so that its attention is far from even."""
    torch.manual_seed(3)
    config = TransformerConfig(
        dim=24, heads=3, encoder_layers=2, decoder_layers=2, feedforward=20, dropout=0.0
    )
    model = Transformer(config, 17).eval()
    for parameter in model.parameters():
        parameter.data.mul_(3.0 if parameter.dim() > 1 else 1.0)
    return model


def memories(model: Transformer) -> Memory:
    """5 sources of 11 positions and fewer."""
    tokens = (torch.arange(55).view(5, 11) * 7) % 13 + 4
    allowed = torch.arange(11) < torch.tensor([[11], [7], [3], [9], [2]])
    with torch.no_grad():
        return model.encode(tokens, allowed)


def test_transformers_coverage_is_that_of_reading_its_targets_at_once(model: Transformer) -> None:
    memory = memories(model)
    ranker = Ranker(power_length_penalty(1.0), coverage_penalty=0.4)
    cover = covering([model], [memory])
    found = beam_search(model.decoder, memory, 3, Limits(maximum_length=7), ranker, 3, cover=cover)
    checked = 0
    for row, hypotheses in enumerate(found):
        for hypothesis in hypotheses:
            heard: list[torch.Tensor] = []

            def hear(site: str, attention: Attention, heard: list = heard) -> None:
                if site.endswith("cross_attention"):
                    heard.append(attention.weights)

            alone = memory.select(torch.tensor([row]))
            tokens = torch.tensor([[2, *hypothesis.tokens]])
            with observe(model, hear), torch.no_grad():
                model.decoder(alone, tokens)
            attended = torch.stack(heard).mean(0).mean(1).sum(1)  # layers, heads, target
            real = alone.allowed[0].numpy()
            expected = 0.4 * log_coverage(attended.numpy(), real).item()
            length = len(hypothesis.token_log_probabilities)
            expected += hypothesis.log_probability / length
            assert hypothesis.score == pytest.approx(expected, abs=1e-4)
            checked += 1
    assert checked == 15


def test_transformer_decodes_in_a_batch_what_it_decodes_alone(model: Transformer) -> None:
    memory, limits = memories(model), Limits(maximum_length=9)
    beams = beam_search(model.decoder, memory, 4, limits, nbest=4)
    paths = greedy(model.decoder, memory, limits)
    for row in range(5):
        alone = memory.select(torch.tensor([row]))
        for ours, theirs in zip(
            [*beams[row], paths[row]],
            [
                *beam_search(model.decoder, alone, 4, limits, nbest=4)[0],
                *greedy(model.decoder, alone, limits),
            ],
            strict=True,
        ):
            assert ours.tokens == theirs.tokens
            assert ours.score == pytest.approx(theirs.score, abs=1e-4)


def test_transformer_scores_its_hypotheses_as_it_wrote_them(model: Transformer) -> None:
    memory = memories(model)
    found = [best for (best,) in beam_search(model.decoder, memory, 4, Limits(maximum_length=9))]
    again = score_pairs(model.decoder, memory, [hypothesis.tokens for hypothesis in found])
    for ours, scored in zip(found, again, strict=True):
        written = ours.token_log_probabilities
        assert scored.token_log_probabilities[: len(written)] == pytest.approx(written, abs=1e-4)


def test_a_model_without_attention_covers_nothing() -> None:
    config = RecurrentConfig(dim=8, embedding=8, attention="none")
    model = RecurrentModel(config, 17).eval()
    with pytest.raises(ConfigError, match="needs the model's attention weights"):
        covering([model], [sentences(0)])
