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
from jumok.lab import world
from jumok.lab.contest import Contest, contest
from jumok.lab.findings import Bars, Column, Findings, Setting
from jumok.lab.judging import Condition, half_width, mean
from jumok.lab.small import BleuJob, Small, bleu_of, first_batch
from jumok.lab.text import Text
from jumok.models.encoder_decoder import Transformer
from jumok.shapes import Float, Tensor

LOWER, FAILS = 0.5, 0.5  # the claim: less than this share of the loss, and of the BLEU
TRANSLATED = 100  # sentences for BLEU
SAME = 1e-4  # between logits of both passes, in float32

NAMES = {
    "masked": Text("with the mask", "마스크 있음"),
    "cheating": Text("without it (cheating)", "마스크 없음 (커닝)"),
}


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
    return Findings(
        columns=(
            Column(Text("decoder", "디코더")),
            Column(Text("loss, teacher forcing", "손실, 정답 단어를 줄 때"), ".3f"),
            Column(Text("± (95 %)", "± (95%)"), ".3f"),
            Column(Text("BLEU, generation", "BLEU, 스스로 쓸 때"), ".1f"),
            Column(Text("± (95 %)", "± (95%)"), ".1f"),
        ),
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
        figures={
            **found.figures(),
            "bleu": bleus,
            "parallel_and_stepwise_differ_by": gaps,
        },
        conditions=_conditions(found, bleus, gaps),
        sentence=_sentence(loss, bleu, max(gaps)),
        panels=(
            found.curves(Text("Training loss", "학습 손실")),
            Bars(
                Text("Generation", "스스로 쓰기"),
                Text("BLEU on unseen sentences", "처음 보는 문장의 BLEU"),
                [(NAMES[name], bleu[name]) for name in NAMES],
                spread=[half_width(bleus[name]) or 0.0 for name in NAMES],
                form=".1f",
            ),
        ),
    )


def _conditions(
    found: Contest, bleus: dict[str, list[float]], gaps: list[float]
) -> tuple[Condition, ...]:
    losses = zip(found.losses("cheating"), found.losses("masked"), strict=True)
    scores = zip(bleus["cheating"], bleus["masked"], strict=True)
    return (
        Condition(
            Text("loss without the mask over loss with it", "손실: 마스크 없음 / 있음"),
            [one / other for one, other in losses],
            LOWER,
            above=False,
        ),
        Condition(
            Text("BLEU without the mask over BLEU with it", "BLEU: 마스크 없음 / 있음"),
            [one / other if other else 1.0 for one, other in scores],
            FAILS,
            above=False,
        ),
        Condition(
            Text("parallel and stepwise logits differ by", "한꺼번에, 단계별 로짓의 차이"),
            gaps,
            SAME,
            above=False,
            form=".0e",
        ),
    )


def _sentence(loss: dict[str, float], bleu: dict[str, float], difference: float) -> Text:
    return Text(
        f"Without the mask the loss is {loss['cheating']:.3f} instead of {loss['masked']:.3f}, "
        f"but when the model generates on its own, BLEU is {bleu['cheating']:.1f} instead of "
        f"{bleu['masked']:.1f}. With the mask, the logits of the parallel and of the stepwise "
        f"pass differ by {difference:.0e} at most.",
        f"마스크 없이 학습하면 손실은 {loss['cheating']:.3f}(마스크가 있으면 "
        f"{loss['masked']:.3f})이지만, 스스로 문장을 쓰게 하면 BLEU는 "
        f"{bleu['cheating']:.1f}(마스크가 있으면 {bleu['masked']:.1f})입니다. 마스크가 있을 때 "
        f"한꺼번에 계산한 로짓과 한 단계씩 계산한 로짓의 차이는 최대 {difference:.0e}입니다.",
    )
