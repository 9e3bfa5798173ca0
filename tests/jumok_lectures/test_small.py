"""The parts of the labs that train: what they change, and how they read a curve."""

from pathlib import Path

import torch
from torch import nn

from jumok.config.transformer import TransformerConfig
from jumok.data.pairs.batches import Batch, collate
from jumok.kernels.noise import Noise
from jumok.layers.dropout import Dropout
from jumok.layers.residual import PreNorm
from jumok.models.encoder_decoder import Transformer
from jumok.training.objectives import translation
from jumok_lectures import depth, world
from jumok_lectures.experiments import cheating, copies, residual
from jumok_lectures.small import SIZES, Small, Trained, config


def tiny(layers: int = 2, vocabulary: int = 31) -> Transformer:
    torch.manual_seed(5)
    sizes = {**SIZES, "dim": 16, "encoder_layers": layers, "feedforward": 24}
    return Transformer(TransformerConfig.model_validate(sizes), vocabulary)


def pairs() -> Batch:
    return collate([[7, 8, 9], [10, 11]], [[12, 13], [14, 15, 16]])


def trained(losses: list[float]) -> Trained:
    return Trained(tiny(), None, losses, 0.0)  # type: ignore[arg-type]


def test_a_curve_is_the_mean_of_so_many_steps() -> None:
    run = trained([4.0, 2.0, 1.0, 1.0])
    assert run.curve(2) == [(2.0, 3.0), (4.0, 1.0)]
    assert run.steps_to(1.5, width=2) == 4
    assert run.steps_to(0.5, width=2) is None


def test_a_small_recipe_takes_its_own_sizes_over_the_usual_ones(tmp_path: Path) -> None:
    recipe = config(Small({"heads": 2}), 7, 3, tmp_path)
    assert (recipe.model.heads, recipe.model.dim, recipe.training.steps) == (2, 64, 7)
    assert recipe.seed == 3


def test_words_are_counted_without_their_marks() -> None:
    pair = next(world.stream("train"))
    assert not {mark for word in world.words(pair) for mark in word} & set(",.?!")


def test_shared_layers_are_one_layer() -> None:
    own, shared = tiny(3), tiny(3)
    copies.share(shared)
    layer = sum(parameter.numel() for parameter in own.encoder.blocks[0].parameters())
    sizes = [sum(p.numel() for p in model.parameters()) for model in (own, shared)]
    assert sizes[0] - sizes[1] == 2 * layer
    assert {id(block) for block in shared.encoder.blocks} == {id(shared.encoder.blocks[0])}


def test_without_residual_and_without_norm_are_what_they_say() -> None:
    dropout = Dropout(0.0, Noise())
    stream, update = torch.tensor([[[1.0, 2.0]]]), torch.tensor([[[5.0, 3.0]]])
    norm = torch.nn.LayerNorm(2)
    assert torch.equal(depth.WithoutNorm(norm, dropout)(stream, update)[1], stream + update)
    kept, normed = depth.WithoutResidual(norm, dropout)(stream, update)
    assert torch.equal(kept, update)
    torch.testing.assert_close(normed, torch.tensor([[[1.0, -1.0]]]), atol=1e-4, rtol=0.0)


def test_a_change_reaches_every_part_of_its_stacks() -> None:
    model = tiny()
    depth.without_norms(model)
    kinds = [type(part) for part in model.modules() if isinstance(part, PreNorm)]
    assert kinds == [depth.WithoutNorm] * (2 * 2 + 2 * 3)
    assert isinstance(model.encoder.first_norm, nn.Identity)


def test_without_residuals_no_word_is_cut_off() -> None:
    """Every source word still moves every state; the decoder is what it was."""
    model = tiny()
    depth.without_residuals_in_encoder(model)
    encoder, decoder = (
        [type(part) for part in stack.modules() if isinstance(part, PreNorm)]
        for stack in (model.encoder, model.decoder)
    )
    assert encoder == [depth.WithoutResidual] * (2 * 2)
    assert decoder == [PreNorm] * (2 * 3)
    embedded: list[torch.Tensor] = []

    def keep(module: nn.Module, inputs: object, output: torch.Tensor) -> torch.Tensor:
        embedded.append(output.detach().requires_grad_())
        return embedded[0]

    model.encoder.embedding.register_forward_hook(keep)
    states = model.encode(torch.tensor([[7, 8, 9]])).states[0]
    for state in states:
        (gradient,) = torch.autograd.grad(state[0], embedded[0], retain_graph=True)
        assert bool((gradient[0].norm(dim=1) > 0).all())


def test_gradients_come_layer_by_layer() -> None:
    assert len(residual.gradient_by_layer(tiny(4), pairs())) == 4
    assert residual.fall([2.0, 3.0, 8.0]) == 0.25
    assert residual.fall([1.0, 0.0]) == 0.0


def test_peeking_sees_the_future_and_the_usual_objective_does_not() -> None:
    """The loss of the first target word moves with the last one when one may peek."""
    model = tiny().eval()
    # Same first word to predict; another last one, which only its own prediction may feel.
    first, other = collate([[7, 8]], [[12, 13]]), collate([[7, 8]], [[12, 20]])

    def hidden_of_first(objective: object) -> list[float]:
        seen: list[float] = []

        def keep(_: nn.Module, arguments: tuple[torch.Tensor, ...], result: object) -> None:
            seen.append(float(arguments[0][0, 0].detach().sum()))

        hook = model.decoder.blocks[-1].feedforward.register_forward_hook(keep)
        for batch in (first, other):
            objective(model, batch, 0.0)  # type: ignore[operator]
        hook.remove()
        return seen

    plain, peeked = hidden_of_first(translation), hidden_of_first(cheating.peeking)
    assert plain[0] == plain[1]
    assert peeked[0] != peeked[1]


def test_the_parallel_pass_and_the_pass_step_by_step_give_the_same_logits() -> None:
    assert cheating.gap(tiny(), pairs()) < 1e-4
