"""Train MarianMTModel from scratch in the loop a newcomer writes; one line of progress an update.

python huggingface_training.py SETTINGS.json, which holds source, target (files of ids), batching
(random | sorted), sentences (a batch), precision (float32 | bfloat16), attention, and the shape.
"""

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from transformers import MarianConfig, MarianMTModel

PAD, _UNKNOWN, START, END = range(4)
IGNORED = -100

Pair = tuple[list[int], list[int]]


def main() -> None:
    """Train until somebody ends the process."""
    settings = json.loads(Path(sys.argv[1]).read_text())
    torch.manual_seed(42)
    random.seed(42)
    model = new_model(settings)
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters", flush=True)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=settings["learning_rate"], betas=(0.9, 0.98)
    )
    pairs = list(zip(read_ids(settings["source"]), read_ids(settings["target"]), strict=True))
    model.train()
    while True:
        for batch in batches_of(pairs, settings["sentences"], settings["batching"]):
            source, decoder_input, labels = tensors_of(batch)
            loss = loss_of(model, source, decoder_input, labels, settings)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            tokens = int((labels != IGNORED).sum())
            print(f"tokens {tokens} loss {loss.item():.3f}", flush=True)


def new_model(settings: dict[str, Any]) -> MarianMTModel:
    config = MarianConfig(
        vocab_size=settings["vocabulary"],
        d_model=settings["dim"],
        encoder_layers=settings["layers"],
        decoder_layers=settings["layers"],
        encoder_attention_heads=settings["heads"],
        decoder_attention_heads=settings["heads"],
        encoder_ffn_dim=settings["inner"],
        decoder_ffn_dim=settings["inner"],
        activation_function="relu",
        dropout=settings["dropout"],
        max_position_embeddings=256,
        scale_embedding=True,
        share_encoder_decoder_embeddings=True,
        pad_token_id=PAD,
        eos_token_id=END,
        forced_eos_token_id=None,
        decoder_start_token_id=START,
        attn_implementation=settings["attention"],  # type: ignore[call-arg]  # not in its signature
    )
    return MarianMTModel(config)


def loss_of(
    model: MarianMTModel,
    source: torch.Tensor,
    decoder_input: torch.Tensor,
    labels: torch.Tensor,
    settings: dict[str, Any],
) -> torch.Tensor:
    with torch.autocast("cpu", torch.bfloat16, enabled=settings["precision"] == "bfloat16"):
        logits = model(
            input_ids=source,
            attention_mask=source != PAD,
            decoder_input_ids=decoder_input,
        ).logits
        return F.cross_entropy(
            logits.flatten(0, 1),
            labels.flatten(),
            ignore_index=IGNORED,
            label_smoothing=settings["smoothing"],
        )


def read_ids(path: str) -> list[list[int]]:
    return [[int(number) for number in line.split()] for line in Path(path).open()]


def batches_of(pairs: list[Pair], sentences: int, batching: str) -> Iterator[list[Pair]]:
    random.shuffle(pairs)
    if batching == "sorted":
        pairs = sorted(pairs, key=lambda pair: (len(pair[1]), len(pair[0])))
    starts = list(range(0, len(pairs), sentences))
    random.shuffle(starts)
    for start in starts:
        yield pairs[start : start + sentences]


def tensors_of(batch: list[Pair]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    source = padded([[*source, END] for source, _ in batch], PAD)
    decoder_input = padded([[START, *target] for _, target in batch], PAD)
    labels = padded([[*target, END] for _, target in batch], IGNORED)
    return source, decoder_input, labels


def padded(rows: list[list[int]], value: int) -> torch.Tensor:
    longest = max(map(len, rows))
    return torch.tensor([row + [value] * (longest - len(row)) for row in rows])


if __name__ == "__main__":
    main()
