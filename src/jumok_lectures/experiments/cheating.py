"""The look-ahead mask, and training without it.

In training the decoder reads the right words all at once. Without the mask each position sees
the word it is to predict: the loss falls, and nothing is learned that helps when the next word
is not there yet. With it, the pass over all positions and the pass word by word are the same.

Source: Vaswani et al. 2017, section 3.2.3; lectures 001, 002 ("cheating을 방지").
"""

from functools import partial

import torch
from torch import nn

from jumok.attention.masks import mask_of_keys
from jumok.data.pairs.batches import Batch
from jumok.data.tokenizer import PAD
from jumok.kernels.cross_entropy import smoothed_cross_entropy
from jumok.models.encoder_decoder import Transformer
from jumok.shapes import Float, Tensor
from jumok_lectures import world
from jumok_lectures.contest import contest
from jumok_lectures.findings import Findings, Setting
from jumok_lectures.judging import cells, mean
from jumok_lectures.small import Small, first_batch
from jumok_lectures.texts import Texts

T = Texts("cheating")

TRANSLATED = 100  # sentences for BLEU

NAMES = T.named("names")


def peeking(model: nn.Module, batch: Batch, smoothing: float) -> Float[Tensor, ""]:
    """The usual objective, but every target position sees all others."""
    assert isinstance(model, Transformer)
    memory = model.encode(batch.source, batch.source_allowed)
    decoder = model.decoder
    stream = decoder.embedding(batch.target_input)
    allowed = mask_of_keys(memory.allowed)
    hidden = decoder.blocks(stream, decoder.first_norm(stream), None, memory.states, allowed)
    real = batch.target_output != PAD
    return smoothed_cross_entropy(
        hidden[real], decoder.output.weight, batch.target_output[real], smoothing
    )


@torch.no_grad()
def gap(model: Transformer, batch: Batch) -> float:
    """The largest difference between logits of the parallel pass and of the pass step by step."""
    model.eval()
    memory = model.encode(batch.source, batch.source_allowed)
    together = model.decoder.forward(memory, batch.target_input)
    state, steps = model.decoder.start(memory), []
    for tokens in batch.target_input.unbind(1):
        logits, state = model.decoder.step(tokens, state)
        steps.append(logits)
    real = batch.target_output != PAD
    return float((together - torch.stack(steps, 1))[real].abs().max())


def run(setting: Setting) -> Findings:
    """Trains both, and translates with both without teacher forcing."""
    made = contest({"masked": Small(), "cheating": Small(objective=peeking)}, NAMES, setting)
    sources, references, _ = world.read(setting.cache, "test")
    some = sources[:TRANSLATED], references[:TRANSLATED]
    bleu = setting.map(
        {name: [partial(run.bleu, *some) for run in runs] for name, runs in made.runs.items()}
    )
    loss = {name: made.losses(name) for name in NAMES}
    _, batch = first_batch(Small(), setting.seed, setting.cache)
    gaps = [gap(run.transformer, batch) for run in made.runs["masked"]]
    losses, scores = (zip(each["cheating"], each["masked"], strict=True) for each in (loss, bleu))
    return T.findings(
        rows=[[NAMES[name], *cells(loss[name]), *cells(bleu[name])] for name in NAMES],
        figures={**made.figures(), "bleu": bleu, "parallel_and_stepwise_differ_by": gaps},
        conditions=[
            T.condition("loss_without_the_mask", [one / other for one, other in losses]),
            T.condition(
                "bleu_without_the_mask", [one / other if other else 1.0 for one, other in scores]
            ),
            T.condition("parallel_and_stepwise_logits", gaps),
        ],
        panels=[
            made.curves(T("title")),
            T.bars([(NAMES[name], bleu[name]) for name in NAMES], form=".1f"),
        ],
        loss={name: mean(values) for name, values in loss.items()},
        bleu={name: mean(values) for name, values in bleu.items()},
        difference=max(gaps),
    )
