"""Makes eole.json with the code of Eole: `python -m tests.interop.peers.eole` where eole 0.6.4 is
installed (benchmarks/requirements/eole.txt), which jumok needs not be.
"""

import json
from types import SimpleNamespace
from typing import Any

import torch
from eole.config import recursive_model_fields_set
from eole.config.models import build_model_config
from eole.inputters.inputter import dict_to_vocabs
from eole.models.model import get_model_class

from tests.interop.peers.weights import PAGES, described, fill
from tests.interop.peers.words import BOTH, ENGLISH, LAST, SPECIAL

WHOLE = {
    "architecture": "transformer", "hidden_size": 42, "heads": 7, "transformer_ff": 29,
    "encoder": {"layers": 3}, "decoder": {"layers": 2},
    "embeddings": {"word_vec_size": 42, "position_encoding_type": "SinusoidalInterleaved"},
}  # fmt: skip
ROTARY = {"embeddings": {"word_vec_size": 42, "position_encoding_type": "Rotary"}}
LEARNED = {"word_vec_size": 42, "position_encoding_type": "Learned", "n_positions": 61}
MODELS: dict[str, dict[str, Any]] = {
    "tied": {
        "words": (BOTH, BOTH),
        "share_embeddings": True,
        "share_decoder_embeddings": True,
    },
    "rotary": {
        "words": (BOTH, BOTH),
        "share_embeddings": True,
        "mlp_activation_fn": "gated-silu",
        "layer_norm": "rms",
        "norm_eps": 1e-6,
        "add_qkvbias": True,
        "rope_config": {"rotary_interleave": False, "rotary_theta": 5000},
        "generator_bias": False,
        **ROTARY,
    },
    "turns": {
        "words": (BOTH, BOTH),
        "mlp_activation_fn": "gelu-tanh",
        "hidden_size": 40,
        "heads": 10,
        "heads_kv": 2,
        "share_decoder_embeddings": True,
        "rope_config": {"rotary_interleave": True},
        "embeddings": {"word_vec_size": 40, "position_encoding_type": "Rotary"},
    },
    "two": {
        "words": (ENGLISH, BOTH),
        "generator_bias": False,
        "add_ffnbias": True,
        "mlp_activation_fn": "gelu",
        "embeddings": LEARNED,
    },
    "words": {"words": (BOTH, ENGLISH), "add_qkvbias": True, "add_ffnbias": True},
}


def made(words: tuple[list[str], list[str]], **options: Any) -> Any:
    """One model, what it read and wrote, and its logits."""
    config = build_model_config(json.loads(json.dumps(WHOLE | options)))
    lists = [[*SPECIAL, *each, *LAST] for each in words]
    special = dict(zip(("unk_token", "pad_token", "bos_token", "eos_token"), SPECIAL, strict=True))
    stored = {"src": lists[0], "tgt": lists[1], "specials": special, "decoder_start_token": "<s>"}
    running = SimpleNamespace(
        dropout=[0.0], attention_dropout=[0.0], parallel_gpu=1, use_ckpting=[], lora_layers=[],
        lora_embedding=False, quant_layers=[], quant_type="", self_attn_backend="pytorch",
    )  # fmt: skip
    model = get_model_class(config).build(config, dict_to_vocabs(stored), running).eval()
    tensors = fill(model.state_dict())
    real = torch.arange(7) < torch.tensor([[7], [4]])
    generator = torch.Generator().manual_seed(3)
    read, written = (torch.randint(4, len(each), (2, 7), generator=generator) for each in lists)
    read, written[:, 0] = read.masked_fill(~real, 1), 2
    with torch.no_grad():
        pad = ~real[:, None]
        model.decoder._disable_cache()
        states, last = model.encoder(model.src_emb(read), pad_mask=pad)
        model.decoder.init_state(src=read, enc_out=states, enc_final_hs=last)
        every = torch.zeros(2, 1, 7, dtype=torch.bool)
        output, _ = model.decoder(
            model.tgt_emb(written), enc_out=states, src_pad_mask=pad, tgt_pad_mask=every
        )
        logits = model.generator(output)
    settings = json.loads(json.dumps(recursive_model_fields_set(config)))
    return {"settings": settings, "vocab": stored} | described(tensors, read, written, logits)


if __name__ == "__main__":
    found = {name: made(**options) for name, options in MODELS.items()}
    (PAGES / "eole.json").write_text(json.dumps(found, ensure_ascii=False))
