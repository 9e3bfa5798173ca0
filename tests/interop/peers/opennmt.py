"""Makes opennmt.json with the code of OpenNMT-py: `python -m tests.interop.peers.opennmt` where
OpenNMT-py 3.5.1 is installed, which jumok needs not be.
"""

import json
from typing import Any

import torch
from onmt import opts
from onmt.inputters.inputter import dict_to_vocabs
from onmt.model_builder import build_base_model
from onmt.utils.parse import ArgumentParser

from tests.interop.peers.weights import PAGES, described, fill
from tests.interop.peers.words import BOTH, ENGLISH, LAST, SPECIAL

WHOLE = {
    "encoder_type": "transformer", "decoder_type": "transformer", "hidden_size": 42, "heads": 7,
    "transformer_ff": 29, "enc_layers": 3, "dec_layers": 2, "word_vec_size": 42,
    "position_encoding": True,
}  # fmt: skip
MODELS: dict[str, dict[str, Any]] = {
    "tied": {"words": (BOTH, BOTH), "share_embeddings": True, "share_decoder_embeddings": True},
    "rotary": {
        "words": (BOTH, BOTH),
        "share_decoder_embeddings": True,
        "position_encoding": False,
        "max_relative_positions": -1,
        "rotary_interleave": False,
        "pos_ffn_activation_fn": "silu",
        "layer_norm": "rms",
    },
    "two": {
        "words": (ENGLISH, BOTH),
        "add_qkvbias": True,
        "add_ffnbias": True,
        "pos_ffn_activation_fn": "gelu",
    },
}


def made(words: tuple[list[str], list[str]], **options: Any) -> Any:
    """One model, what it read and wrote, and its logits."""
    lists = [[*SPECIAL, *each, *LAST] for each in words]
    stored = {
        "src": lists[0],
        "tgt": lists[1],
        "data_task": "seq2seq",
        "decoder_start_token": "<s>",
    }
    settings = WHOLE | options
    used = ArgumentParser.defaults(opts.model_opts)
    vars(used).update(settings, dropout=[0.0], attention_dropout=[0.0], world_size=1, optim="adam")
    vars(used).update(parallel_mode="data_parallel", use_ckpting=[])
    vars(used).update(freeze_word_vecs_enc=False, freeze_word_vecs_dec=False)
    ArgumentParser.update_model_opts(used)
    model = build_base_model(used, dict_to_vocabs(stored)).eval()
    tensors = fill(model.state_dict())
    real = torch.arange(7) < torch.tensor([[7], [4]])
    generator = torch.Generator().manual_seed(3)
    read, written = (torch.randint(4, len(each), (2, 7), generator=generator) for each in lists)
    read, written[:, 0] = read.masked_fill(~real, 1), 2
    with torch.no_grad():
        lengths = real.sum(1)
        states, last, lengths = model.encoder(read[:, :, None], lengths)
        model.decoder.init_state(read[:, :, None], states, last)
        output, _ = model.decoder(written[:, :, None], states, src_len=lengths)
        logits = model.generator(output)
    return {"settings": vars(used), "vocab": stored} | described(tensors, read, written, logits)


if __name__ == "__main__":
    found = {name: made(**options) for name, options in MODELS.items()}
    (PAGES / "opennmt.json").write_text(json.dumps(found, ensure_ascii=False))
