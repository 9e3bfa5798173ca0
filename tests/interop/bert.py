"""A small BERT of Hugging Face's with random weights, and its folder."""

from pathlib import Path

import tokenizers
import torch
import transformers

from tests.parity.torch_weights import roughen

PIECES, DIM, HEADS, LAYERS, INNER, LENGTH = 30, 20, 5, 3, 28, 17
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat", "down", "##s", "##ly"]


def bert() -> "transformers.BertForMaskedLM":
    config = transformers.BertConfig(
        vocab_size=PIECES + 1,
        hidden_size=DIM,
        num_attention_heads=HEADS,
        num_hidden_layers=LAYERS,
        intermediate_size=INNER,
        max_position_embeddings=LENGTH,
        layer_norm_eps=1e-5,
        hidden_act="gelu",
        attn_implementation="eager",
    )
    torch.manual_seed(1)
    return roughen(transformers.BertForMaskedLM(config)).eval()


def save(theirs: "transformers.PreTrainedModel", folder: Path) -> Path:
    """A folder as Hugging Face keeps it; like many it pads every text to some length."""
    theirs.save_pretrained(folder)
    pieces = {word: number for number, word in enumerate(WORDS)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordPiece(pieces, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    ends = [(name, pieces[name]) for name in ("[SEP]", "[CLS]")]
    tokenizer.post_processor = tokenizers.processors.BertProcessing(*ends)
    tokenizer.enable_padding(length=15)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder
