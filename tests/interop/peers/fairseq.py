"""Makes fairseq.json with the code of fairseq: `python -m tests.interop.peers.fairseq` where
fairseq 0.12.2 is installed, which jumok needs not be.
"""

import json
from argparse import Namespace
from typing import Any

import torch
from fairseq.data import Dictionary
from fairseq.models.transformer import TransformerModel, base_architecture

from tests.interop.peers.weights import PAGES, described, fill
from tests.interop.peers.words import BOTH, ENGLISH

WHOLE = {
    "arch": "transformer_iwslt_de_en", "task": "translation", "source_lang": "en",
    "target_lang": "ko", "encoder_embed_dim": 42, "encoder_ffn_embed_dim": 29,
    "encoder_attention_heads": 7, "encoder_layers": 3, "decoder_layers": 2,
    "decoder_attention_heads": 7, "max_source_positions": 61, "max_target_positions": 61,
}  # fmt: skip
MODELS: dict[str, dict[str, Any]] = {
    "post": {"words": (BOTH, BOTH), "share_all_embeddings": True},
    "pre": {
        "words": (ENGLISH, BOTH),
        "encoder_normalize_before": True,
        "decoder_normalize_before": True,
        "share_decoder_input_output_embed": True,
        "activation_fn": "gelu",
    },
    "learned": {
        "words": (BOTH, ENGLISH),
        "encoder_learned_pos": True,
        "decoder_learned_pos": True,
        "layernorm_embedding": True,
        "no_scale_embedding": True,
        "activation_fn": "gelu_accurate",
    },
}


class _Task:
    def __init__(self, source: Dictionary, target: Dictionary) -> None:
        self.source_dictionary, self.target_dictionary = source, target


def dictionary(words: list[str]) -> Dictionary:
    made = Dictionary()
    for word in words:
        made.add_symbol(word)
    return made


def made(words: tuple[list[str], list[str]], **options: Any) -> Any:
    """One model, what it read and wrote, and its logits."""
    sides = [dictionary(each) for each in words]
    args = Namespace(**WHOLE | options)
    base_architecture(args)
    model = TransformerModel.build_model(args, _Task(*sides)).eval()
    tensors = fill(model.state_dict())
    real = torch.arange(7) < torch.tensor([[7], [4]])
    generator = torch.Generator().manual_seed(3)
    read, written = (torch.randint(4, len(each), (2, 7), generator=generator) for each in sides)
    read, written[:, 0] = read.masked_fill(~real, 1), 2
    # sources are filled up on the left, where positions do not count
    counts = real.sum(1).tolist()
    turned = torch.stack([row.roll(7 - n) for row, n in zip(read, counts, strict=True)])
    with torch.no_grad():
        logits, _ = model(turned, real.sum(1), written)
    lists = [each.symbols for each in sides]
    settings = {key: value for key, value in vars(args).items() if value is not None}
    return {"settings": settings, "words": lists} | described(tensors, read, written, logits)


if __name__ == "__main__":
    found = {name: made(**options) for name, options in MODELS.items()}
    (PAGES / "fairseq.json").write_text(json.dumps(found, ensure_ascii=False))
