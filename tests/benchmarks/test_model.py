"""jumok's recipe trains the model that the peers' configurations describe."""

from pathlib import Path

from benchmarks.peers import trainer
from benchmarks.peers.jumok import RECIPE
from jumok.config import load_config


def test_recipe_has_the_size_that_the_peers_are_given() -> None:
    config = load_config(RECIPE, variables={"CORPUS": str(Path("/corpus"))})
    model = config.model
    assert (model.encoder_layers, model.decoder_layers) == (trainer.LAYERS, trainer.LAYERS)
    assert (model.dim, model.heads, model.feedforward) == (
        trainer.DIM,
        trainer.HEADS,
        trainer.INNER,
    )
    assert (model.dropout, model.attention_dropout) == (trainer.DROPOUT, 0.0)
    assert (model.activation, model.tied) == ("relu", "all")


def test_recipe_takes_the_steps_that_the_peers_take() -> None:
    training = load_config(RECIPE, variables={"CORPUS": str(Path("/corpus"))}).training
    assert training.tokens_per_batch == trainer.TOKENS_PER_UPDATE
    assert training.learning_rate == trainer.LEARNING_RATE
    assert training.label_smoothing == trainer.SMOOTHING
    assert training.threads == 1
