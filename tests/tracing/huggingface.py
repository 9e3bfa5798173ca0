"""Small random models of transformers with tokenizers that are trained here: nothing is loaded."""

from typing import Any

import torch
import transformers
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

TEXT = [
    "the cat sat on the mat , and the dog barked at the cat .",
    "a student reads the old book .",
    "고양이가 매트 위에 앉았고 개가 짖었다 .",
]
SIZE = 320
EAGER = {"attn_implementation": "eager"}


def byte_level() -> Any:
    """As GPT-2's: no token before or after a text."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=SIZE, special_tokens=["<|endoftext|>"], initial_alphabet=alphabet
    )
    tokenizer.train_from_iterator(TEXT, trainer)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|endoftext|>"
    )


def with_spaces(start: bool) -> Any:
    """As Llama's with `start`, otherwise as those of Marian and T5, which end a text by </s>."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    special = ["<pad>", "<s>", "</s>", "<unk>"]
    tokenizer.train_from_iterator(
        TEXT, trainers.BpeTrainer(vocab_size=SIZE, special_tokens=special)
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A" if start else "$A </s>", special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>" if start else None, eos_token="</s>",
        unk_token="<unk>", pad_token="<pad>",
    )  # fmt: skip


def word_pieces() -> Any:
    """As BERT's."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(cleanup=False)
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=SIZE, special_tokens=special)
    tokenizer.train_from_iterator(TEXT, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
        pad_token="[PAD]", mask_token="[MASK]",
    )  # fmt: skip


def gpt2(**changes: Any) -> tuple[Any, Any]:
    tokenizer = byte_level()
    config = transformers.GPT2Config(
        vocab_size=SIZE, n_embd=24, n_layer=2, n_head=3, n_positions=61,
        bos_token_id=0, eos_token_id=0, pad_token_id=0, **{**EAGER, **changes},
    )  # fmt: skip
    return made(transformers.GPT2LMHeadModel, config), tokenizer


def llama() -> tuple[Any, Any]:
    """With two groups of keys for four heads."""
    config = transformers.LlamaConfig(
        vocab_size=SIZE, hidden_size=24, intermediate_size=30, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=61,
        bos_token_id=1, eos_token_id=2, pad_token_id=0, **EAGER,
    )  # fmt: skip
    return made(transformers.LlamaForCausalLM, config), with_spaces(start=True)


def mistral() -> tuple[Any, Any]:
    config = transformers.MistralConfig(
        vocab_size=SIZE, hidden_size=24, intermediate_size=30, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=61,
        bos_token_id=1, eos_token_id=2, pad_token_id=0, **EAGER,
    )  # fmt: skip
    return made(transformers.MistralForCausalLM, config), with_spaces(start=True)


def opt() -> tuple[Any, Any]:
    """Its positions begin at 2."""
    config = transformers.OPTConfig(
        vocab_size=SIZE, hidden_size=24, ffn_dim=30, num_hidden_layers=2, num_attention_heads=3,
        word_embed_proj_dim=24, max_position_embeddings=61,
        bos_token_id=1, eos_token_id=2, pad_token_id=0, **EAGER,
    )  # fmt: skip
    return made(transformers.OPTForCausalLM, config), with_spaces(start=True)


def gpt_neox() -> tuple[Any, Any]:
    """Attention and feed-forward side by side, rotary positions in a quarter of each head."""
    config = transformers.GPTNeoXConfig(
        vocab_size=SIZE, hidden_size=24, intermediate_size=30, num_hidden_layers=2,
        num_attention_heads=3, max_position_embeddings=61,
        bos_token_id=0, eos_token_id=0, pad_token_id=0, **EAGER,
    )  # fmt: skip
    return made(transformers.GPTNeoXForCausalLM, config), byte_level()


def bart() -> tuple[Any, Any]:
    config = transformers.BartConfig(
        vocab_size=SIZE, d_model=24, encoder_layers=2, decoder_layers=3,
        encoder_attention_heads=3, decoder_attention_heads=3, encoder_ffn_dim=30,
        decoder_ffn_dim=30, max_position_embeddings=61, pad_token_id=0, bos_token_id=1,
        eos_token_id=2, decoder_start_token_id=0, forced_eos_token_id=2, **EAGER,
    )  # fmt: skip
    return made(transformers.BartForConditionalGeneration, config), with_spaces(start=False)


def distilbert() -> tuple[Any, Any]:
    tokenizer = word_pieces()
    config = transformers.DistilBertConfig(
        vocab_size=len(tokenizer), dim=24, n_layers=2, n_heads=3, hidden_dim=30,
        max_position_embeddings=61, pad_token_id=0, **EAGER,
    )  # fmt: skip
    return made(transformers.DistilBertForMaskedLM, config), tokenizer


def bert(kind: Any = transformers.BertForMaskedLM, **changes: Any) -> tuple[Any, Any]:
    tokenizer = word_pieces()
    config = transformers.BertConfig(
        vocab_size=len(tokenizer), hidden_size=24, num_hidden_layers=2, num_attention_heads=3,
        intermediate_size=30, max_position_embeddings=61, pad_token_id=0, **EAGER, **changes,
    )  # fmt: skip
    return made(kind, config), tokenizer


def marian() -> tuple[Any, Any]:
    config = transformers.MarianConfig(
        vocab_size=SIZE, d_model=24, encoder_layers=2, decoder_layers=3,
        encoder_attention_heads=3, decoder_attention_heads=3, encoder_ffn_dim=30,
        decoder_ffn_dim=30, max_position_embeddings=61, pad_token_id=0, eos_token_id=2,
        decoder_start_token_id=0, forced_eos_token_id=2, **EAGER,
    )  # fmt: skip
    return made(transformers.MarianMTModel, config), with_spaces(start=False)


def t5() -> tuple[Any, Any]:
    config = transformers.T5Config(
        vocab_size=SIZE, d_model=24, d_kv=8, d_ff=30, num_layers=2, num_heads=3,
        pad_token_id=0, eos_token_id=2, decoder_start_token_id=0, **EAGER,
    )  # fmt: skip
    return made(transformers.T5ForConditionalGeneration, config), with_spaces(start=False)


def made(kind: Any, config: Any) -> Any:
    """The model, with weights large enough that no attention is uniform."""
    torch.manual_seed(3)
    model = kind(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim > 1 and "embed" not in name and "wte" not in name:
                parameter.mul_(5)
    return model
