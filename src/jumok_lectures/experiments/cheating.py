"""The look-ahead mask, and training without it.

In training the decoder reads the right words all at once. Without the mask each position sees
the word it is to predict: the loss falls, and nothing is learned that helps when the next word
is not there yet. With it, the pass over all positions and the pass word by word are the same.

Source: Vaswani et al. 2017, section 3.2.3; lectures 001, 002 ("cheating을 방지").
"""

import torch
from torch import nn

from jumok.attention.masks import mask_of_keys
from jumok.data.pairs.batches import Batch
from jumok.data.tokenizer import PAD
from jumok.kernels.cross_entropy import smoothed_cross_entropy
from jumok.models.encoder_decoder import Transformer
from jumok.shapes import Float, Tensor
from jumok_lectures import world
from jumok_lectures.contest import Contest, contest
from jumok_lectures.findings import Findings, Setting
from jumok_lectures.judging import half_width, mean
from jumok_lectures.small import BleuJob, Small, bleu_of, first_batch
from jumok_lectures.texts import Texts

T = Texts("cheating")

FAILS = 0.5  # the claim: less than this share of the loss, and of the BLEU
TRANSLATED = 100  # sentences for BLEU
SAME = 1e-4  # between logits of both passes, in float32

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


def generated(found: Contest, setting: Setting) -> dict[str, list[float]]:
    """BLEU of each seed when the model writes on its own."""
    sources, references, _ = world.read(setting.cache, "test")
    jobs = [
        BleuJob(run, tuple(sources[:TRANSLATED]), tuple(references[:TRANSLATED]))
        for name in NAMES
        for run in found.runs[name]
    ]
    scores, many = setting.workers.map(bleu_of, jobs), len(setting.seeds)
    return {"masked": scores[:many], "cheating": scores[many:]}


def run(setting: Setting) -> Findings:
    """Trains both, and translates with both without teacher forcing."""
    variants = {"masked": Small(), "cheating": Small(objective=peeking)}
    found = contest(variants, NAMES, setting)
    bleus = generated(found, setting)
    loss = {name: found.loss(name) for name in NAMES}
    bleu = {name: mean(bleus[name]) for name in NAMES}
    _, batch = first_batch(Small(), setting.seed, setting.cache)
    gaps = [gap(run.transformer, batch) for run in found.runs["masked"]]
    losses = zip(found.losses("cheating"), found.losses("masked"), strict=True)
    scores = zip(bleus["cheating"], bleus["masked"], strict=True)
    difference = max(gaps)
    return Findings(
        columns=T.columns,
        rows=[
            [
                NAMES[name],
                loss[name],
                half_width(found.losses(name)),
                bleu[name],
                half_width(bleus[name]),
            ]
            for name in NAMES
        ],
        figures={**found.figures(), "bleu": bleus, "parallel_and_stepwise_differ_by": gaps},
        conditions=(
            T.condition("loss_without_the_mask", [one / other for one, other in losses]),
            T.condition(
                "bleu_without_the_mask",
                [one / other if other else 1.0 for one, other in scores],
                bound=FAILS,
            ),
            T.condition("parallel_and_stepwise_logits", gaps, bound=SAME),
        ),
        sentence=T("sentence", loss=loss, bleu=bleu, difference=difference),
        panels=(
            found.curves(T("title")),
            T.bars([(NAMES[name], bleus[name]) for name in NAMES], form=".1f"),
        ),
    )
