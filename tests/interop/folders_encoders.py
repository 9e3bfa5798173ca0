"""Small RoBERTa and DistilBERT of transformers with random weights, and their folders."""

from pathlib import Path
from typing import Any

import tokenizers
import torch
import transformers
from tokenizers import decoders, models, pre_tokenizers, trainers

from tests.interop.bert import save
from tests.parity.torch_weights import roughen

TEXT = ["the cat sat on the mat and the dog saw the cat again", "고양이가 매트 위에 앉아 있다"]


def write_roberta(folder: Path, *, whole: bool = True, **changes: Any) -> Path:
    """Heads of 7, 5 layers; subwords of bytes, and a row that no text has."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<s>", "</s>", "<unk>"]
    special.insert(changes.get("pad_token_id", 1), "<pad>")
    trainer = trainers.BpeTrainer(
        vocab_size=293,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXT * 4, trainer)
    tokenizer.add_special_tokens(["<mask>"])
    ends = [(name, tokenizer.token_to_id(name)) for name in ("</s>", "<s>")]
    tokenizer.post_processor = tokenizers.processors.RobertaProcessing(*ends)
    tokenizer.save(str(folder / "tokenizer.json"))
    sizes: dict[str, Any] = {
        "vocab_size": tokenizer.get_vocab_size() + 1,
        "hidden_size": 35,
        "num_attention_heads": 5,
        "num_hidden_layers": 3,
        "intermediate_size": 29,
        "max_position_embeddings": 113,
        "type_vocab_size": 1,
        "layer_norm_eps": 1e-4,
    }
    torch.manual_seed(1)
    model = roughen(
        transformers.RobertaForMaskedLM(transformers.RobertaConfig(**sizes | changes))
    ).eval()
    (model if whole else model.roberta).save_pretrained(folder)
    return folder


def write_xlmr(folder: Path) -> Path:
    """The same with subwords of SentencePiece."""
    write_roberta(folder)
    pieces = tokenizers.Tokenizer(models.Unigram())
    pieces.pre_tokenizer = pre_tokenizers.Metaspace()
    pieces.decoder = decoders.Metaspace()
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    trainer = trainers.UnigramTrainer(
        vocab_size=89, special_tokens=special, unk_token="<unk>", show_progress=False
    )
    pieces.train_from_iterator(TEXT * 4, trainer)
    pieces.add_special_tokens(["<mask>"])
    pieces.post_processor = tokenizers.processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    pieces.save(str(folder / "tokenizer.json"))
    config = transformers.XLMRobertaConfig(
        vocab_size=pieces.get_vocab_size() + 1, hidden_size=35, num_attention_heads=5,
        num_hidden_layers=3, intermediate_size=29, max_position_embeddings=113, type_vocab_size=1,
    )  # fmt: skip
    torch.manual_seed(1)
    roughen(transformers.XLMRobertaForMaskedLM(config)).eval().save_pretrained(folder)
    return folder


def write_distilbert(folder: Path, *, whole: bool = True, **changes: Any) -> Path:
    """Heads of 7, 5 layers; [CLS] and its kin are the first ids, as `save` has them."""
    config = transformers.DistilBertConfig(
        vocab_size=31, dim=35, n_heads=5, n_layers=3, hidden_dim=29, max_position_embeddings=37,
        **changes,
    )  # fmt: skip
    torch.manual_seed(1)
    model = roughen(transformers.DistilBertForMaskedLM(config)).eval()
    return save(model if whole else model.distilbert, folder)


WRITTEN = {
    "roberta": write_roberta,
    "roberta alone": lambda folder: write_roberta(folder, whole=False),
    "roberta padding 0": lambda folder: write_roberta(folder, pad_token_id=0),
    "xlm-roberta": write_xlmr,
    "distilbert": write_distilbert,
    "distilbert alone": lambda folder: write_distilbert(folder, whole=False),
}
