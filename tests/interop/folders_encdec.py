"""Encoder-decoders of transformers with random weights, each axis another prime, and their
folders.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import sentencepiece
import tokenizers
import torch
import transformers
from tokenizers import decoders, models, pre_tokenizers, trainers
from transformers.models.m2m_100.tokenization_m2m_100 import FAIRSEQ_LANGUAGE_CODES
from transformers.models.mbart.tokenization_mbart import (
    FAIRSEQ_LANGUAGE_CODES as MBART_LANGUAGES,
)
from transformers.models.mbart50.tokenization_mbart50 import (
    FAIRSEQ_LANGUAGE_CODES as MBART_50_LANGUAGES,
)

from jumok.interop.importing import Imported
from jumok.models.encoder_decoder import before_end
from tests.parity.torch_weights import roughen

TEXT = ["the cat sat on the mat and the dog saw the cat again", "고양이가 매트 위에 앉아 있다"]
SIZES: dict[str, Any] = {
    "d_model": 42, "encoder_layers": 3, "decoder_layers": 2, "encoder_attention_heads": 7,
    "decoder_attention_heads": 7, "encoder_ffn_dim": 29, "decoder_ffn_dim": 29,
    "max_position_embeddings": 61, "dropout": 0.1, "forced_eos_token_id": None,
}  # fmt: skip


def write_sentencepiece(
    file: Path, kind: str = "unigram", texts: list[str] = TEXT, **ids: int
) -> list[str]:
    """A small model; returns its subwords."""
    with file.open("wb") as stream:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(texts * 4), model_writer=stream, model_type=kind,
            vocab_size=59, hard_vocab_limit=False, minloglevel=2, **ids,
        )  # fmt: skip
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(file))
    return [pieces.id_to_piece(id) for id in range(pieces.get_piece_size())]


def save(theirs: Any, folder: Path, end: int) -> Path:
    """Random numbers in all tensors, so that it writes different words and ends sometimes."""
    theirs = roughen(theirs).eval()
    for name, tensor in theirs.named_buffers():
        if name.endswith("logits_bias"):
            tensor.copy_(torch.randn_like(tensor))
            tensor[0, end] += 1.0
    words = theirs.get_input_embeddings().weight
    with torch.no_grad():
        words.copy_(torch.randn_like(words) * words.shape[1] ** -0.5)
        for name, tensor in theirs.named_parameters():
            if name in LAST_NORMS:
                tensor.copy_(torch.randn_like(tensor) * 1.5)
            if name in LAST_BIASES:
                tensor.copy_(words[end])
    theirs.save_pretrained(folder)
    return folder


LAST_NORMS = "model.decoder.layers.1.final_layer_norm.weight", "model.decoder.layer_norm.weight"
LAST_BIASES = tuple(name.replace("weight", "bias") for name in LAST_NORMS)


def write_byte_tokenizer(folder: Path, special: list[str]) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=311, special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False,
    )  # fmt: skip
    tokenizer.train_from_iterator(TEXT * 4, trainer)
    tokenizer.save(str(folder / "tokenizer.json"))
    return int(tokenizer.get_vocab_size())


def write_bart(folder: Path, **changes: Any) -> Path:
    rows = write_byte_tokenizer(folder, ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]) + 3
    config = transformers.BartConfig(**(SIZES | {"vocab_size": rows} | changes))
    torch.manual_seed(1)
    return save(transformers.BartForConditionalGeneration(config), folder, 2)


def write_blenderbot(folder: Path) -> Path:
    rows = write_byte_tokenizer(folder, ["<pad>", "<s>", "</s>", "<unk>"])
    config = transformers.BlenderbotConfig(**SIZES, vocab_size=rows, scale_embedding=True)
    torch.manual_seed(1)
    return save(transformers.BlenderbotForConditionalGeneration(config), folder, 2)


def write_fairseq(
    folder: Path, kind: str, model: Any, config: Any, tags: list[str], **changes: Any
) -> Path:
    """Four special tokens, the subwords, the languages, <mask>: mBART and NLLB."""
    folder.mkdir(parents=True, exist_ok=True)
    pieces = write_sentencepiece(folder / "sentencepiece.bpe.model", kind)
    described: dict[str, Any] = {"src_lang": tags[0], "tgt_lang": tags[1]}
    described["additional_special_tokens"] = tags
    described["tokenizer_class"] = "MBartTokenizer" if kind == "unigram" else "NllbTokenizer"
    (folder / "tokenizer_config.json").write_text(json.dumps(described))
    rows = 1 + len(pieces) + len(tags) + 1
    torch.manual_seed(1)
    return save(model(config(**SIZES | changes, vocab_size=rows, scale_embedding=True)), folder, 2)


def write_mbart(folder: Path) -> Path:
    """Of version 1, whose languages have no name in its folder."""
    model, config = transformers.MBartForConditionalGeneration, transformers.MBartConfig
    write_fairseq(folder, "unigram", model, config, MBART_LANGUAGES)
    file = folder / "tokenizer_config.json"
    described = {"src_lang": "en_XX", "tgt_lang": "ko_KR", "tokenizer_class": "MBartTokenizer"}
    file.write_text(json.dumps(described))
    return folder


def write_mbart_50(folder: Path) -> Path:
    """Its folder names the languages; targets start from </s>."""
    model, config = transformers.MBartForConditionalGeneration, transformers.MBartConfig
    tags = MBART_50_LANGUAGES
    write_fairseq(folder, "unigram", model, config, tags, decoder_start_token_id=2)
    described = {"src_lang": None, "tgt_lang": None, "tokenizer_class": "MBart50Tokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(described))
    (folder / "special_tokens_map.json").write_text(json.dumps({"additional_special_tokens": tags}))
    return folder


def write_nllb(folder: Path) -> Path:
    model, config = transformers.M2M100ForConditionalGeneration, transformers.M2M100Config
    return write_fairseq(folder, "bpe", model, config, ["eng_Latn", "kor_Hang"])


def write_m2m100(folder: Path) -> Path:
    """vocab.json has the ids, and lacks a subword."""
    folder.mkdir(parents=True, exist_ok=True)
    pieces = write_sentencepiece(folder / "sentencepiece.bpe.model")
    names = ["<s>", "<pad>", "</s>", "<unk>", *reversed(pieces[3:-1])]
    (folder / "vocab.json").write_text(json.dumps({name: id for id, name in enumerate(names)}))
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"src_lang": "en", "tgt_lang": "ko", "tokenizer_class": "M2M100Tokenizer"})
    )
    tags = [f"__{code}__" for code in FAIRSEQ_LANGUAGE_CODES["m2m100"]]
    (folder / "special_tokens_map.json").write_text(json.dumps({"additional_special_tokens": tags}))
    torch.manual_seed(1)
    config = transformers.M2M100Config(**SIZES, vocab_size=len(names) + 108, scale_embedding=True)
    return save(transformers.M2M100ForConditionalGeneration(config), folder, 2)


def write_pegasus(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    ids = {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1}
    pieces = write_sentencepiece(folder / "spiece.model", **ids)
    config = transformers.PegasusConfig(**SIZES, vocab_size=103 + len(pieces), pad_token_id=0)
    torch.manual_seed(1)
    return save(transformers.PegasusForConditionalGeneration(config), folder, 1)


def write_t5(folder: Path, kind: str = "T5", *, tied: bool = True, **changes: Any) -> Path:
    """As many extra ids as there are, and a row that no text has."""
    folder.mkdir(parents=True, exist_ok=True)
    ids = {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1}
    pieces = write_sentencepiece(folder / "spiece.model", **ids)
    sizes: dict[str, Any] = {
        "d_model": 42, "d_kv": 11, "d_ff": 29, "num_layers": 3, "num_decoder_layers": 2,
        "num_heads": 7, "dropout_rate": 0.1, "vocab_size": len(pieces) + 101,
        "layer_norm_epsilon": 1e-4, "decoder_start_token_id": 0,
    }  # fmt: skip
    config = getattr(transformers, f"{kind}Config")(**sizes, **changes)
    torch.manual_seed(1)
    theirs = getattr(transformers, f"{kind}ForConditionalGeneration")(config)
    if not tied:
        output = torch.nn.Linear(42, sizes["vocab_size"], bias=False)
        theirs.lm_head = output
        theirs.all_tied_weights_keys.pop("lm_head.weight", None)
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "T5Tokenizer"}))
    return save(theirs, folder, 1)


def as_json(folder: Path) -> Path:
    """The tokenizer as transformers saves it, without the SentencePiece model."""
    transformers.AutoTokenizer.from_pretrained(folder).save_pretrained(folder)
    for model in folder.glob("*.model"):
        model.unlink()
    return folder


def write_marian_of_two(folder: Path) -> Path:
    """A Marian whose sources and targets have a vocabulary each, of different sizes."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for side, texts, file in (
        ("source", TEXT[:1], "vocab.json"), ("target", TEXT, "target_vocab.json")
    ):  # fmt: skip
        pieces = write_sentencepiece(
            folder / f"{side}.spm", texts=texts, bos_id=-1, eos_id=0, unk_id=1
        )
        names = ["</s>", "<unk>", *reversed(pieces[2:]), "<pad>"]
        (folder / file).write_text(json.dumps({name: id for id, name in enumerate(names)}))
        rows.append(len(names))
    described = {"source_lang": "en", "target_lang": "ko", "separate_vocabs": True}
    described["tokenizer_class"] = "MarianTokenizer"
    (folder / "tokenizer_config.json").write_text(json.dumps(described))
    config = transformers.MarianConfig(
        **SIZES, vocab_size=rows[0], decoder_vocab_size=rows[1], pad_token_id=rows[0] - 1,
        decoder_start_token_id=rows[1] - 1, share_encoder_decoder_embeddings=False,
        eos_token_id=0, activation_function="relu", scale_embedding=True,
    )  # fmt: skip
    torch.manual_seed(1)
    return save(transformers.MarianMTModel(config), folder, 0)


def mask_of(imported: Imported, real: torch.Tensor) -> torch.Tensor:
    """The positions of sources that a model attends to, whose last real one is END."""
    if getattr(imported.section, "source_end", True):
        return real.long()
    return before_end(real.long(), real).long()


WRITTEN: Mapping[str, Callable[[Path], Path]] = {
    "bart": write_bart,
    "bart relu": lambda folder: write_bart(folder, activation_function="relu"),
    "blenderbot": write_blenderbot,
    "mbart": write_mbart,
    "mbart 50": write_mbart_50,
    "nllb": write_nllb,
    "m2m100": write_m2m100,
    "pegasus": write_pegasus,
    "t5": write_t5,
    "t5 json": lambda folder: as_json(write_t5(folder)),
    "nllb json": lambda folder: as_json(write_nllb(folder)),
    "t5 buckets": lambda folder: write_t5(
        folder, relative_attention_num_buckets=13, relative_attention_max_distance=7
    ),
    "t5 1.1": lambda folder: write_t5(
        folder, tied=False, tie_word_embeddings=False, feed_forward_proj="gated-gelu"
    ),
    "marian of two": write_marian_of_two,
    "mt5": lambda folder: write_t5(folder, "MT5", tied=False),
    "mt5 tied": lambda folder: write_t5(folder, "MT5"),
}
MUTATED = "bart", "mbart", "nllb", "pegasus", "t5", "t5 1.1", "marian of two"
"""Those whose tensors are dropped, doubled, renamed one by one."""
