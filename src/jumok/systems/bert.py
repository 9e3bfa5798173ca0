"""A pretrained encoder: BERT, in a folder in Hugging Face's format.

The files config.json, model.safetensors and tokenizer.json are read. Nothing is downloaded, and no
code in the folder is run. From a whole masked language model only the encoder is read.

Source: Devlin et al. 2019 (BERT).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import torch
from pydantic import BaseModel, Field, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import nn

from jumok.attention.events import emit
from jumok.bundle.huggingface import TOKENIZER as THEIRS
from jumok.bundle.huggingface import refuse_other_kinds
from jumok.bundle.reading import CONFIG, WEIGHTS, Bundle, read_tensor_entries
from jumok.config.masked import MaskedConfig
from jumok.config.section import Count
from jumok.data.pairs.batches import fill
from jumok.data.tokenizer import writable
from jumok.errors import BundleError, Location, optional_import
from jumok.kernels.noise import Noise
from jumok.layers.block import Block
from jumok.layers.embedding import embedding_table
from jumok.layers.feedforward import PlainFeedForward
from jumok.layers.pooling import mean_of_real
from jumok.models.encoder_decoder import TransformerEncoder
from jumok.models.masked import text_encoder
from jumok.models.size import numbers_in
from jumok.shapes import Bool, Float, Int, Tensor
from jumok.systems.base import GIVEN, ROWS, Facts, System
from jumok.systems.device import PrecisionName, choose_device, dtype_of
from jumok.systems.given import text_of, texts_in
from jumok.systems.words import WordSpace

if TYPE_CHECKING:
    from tokenizers import Tokenizer


@dataclass(frozen=True)
class Cut:
    """A text as BERT reads it, [CLS] and [SEP] among the tokens.

    Attributes:
        words: for each token the index of its word; None for [CLS] and [SEP].
        texts: the words, which spaces and punctuation separate.
    """

    ids: tuple[int, ...]
    pieces: tuple[str, ...]
    words: tuple[int | None, ...]
    texts: tuple[str, ...]


class BertModel(nn.Module):
    """A model that has an encoder and no output layer."""

    def __init__(self, encoder: TransformerEncoder) -> None:
        super().__init__()
        self.encoder = encoder


class Bert(System):
    """A BERT's encoder with its tokenizer, whose ids index its embedding table; an Embedder.

    Args:
        name: the one its authors gave it, or that of its folder.
        max_tokens: the maximum number of tokens read at once, without [CLS] and [SEP].
    """

    task = "bert"

    def __init__(
        self,
        name: str,
        encoder: TransformerEncoder,
        tokenizer: "Tokenizer",
        max_tokens: int,
    ) -> None:
        self.name = name
        self._model = BertModel(encoder)
        self.tokenizer = tokenizer
        self.max_tokens = max_tokens

    @classmethod
    def load(
        cls,
        *folders: Bundle | Path | str,
        device: str = "auto",
        precision: PrecisionName = "fp32",
    ) -> "Bert":
        """The encoder in this folder.

        Raises:
            BundleError: a file is missing or damaged, or holds another kind of model; more than
                one folder.
            ConfigError: the device does not exist.
            MissingExtraError: the library that reads the tokenizer is not installed.
        """
        if len(folders) != 1:
            raise BundleError("encoders do not work together.", expected="one folder")
        (folder_or_bundle,) = folders
        folder = (
            folder_or_bundle.folder
            if isinstance(folder_or_bundle, Bundle)
            else Path(folder_or_bundle)
        )
        sizes, encoder, tokenizer = _read_bert(folder)
        ready = encoder.eval().to(choose_device(device), dtype_of(precision))
        name = Path(sizes.name_or_path or folder.resolve()).name
        system = cls(name, ready, tokenizer, sizes.max_position_embeddings - 2)
        system._precision = precision
        return system

    @property
    def model(self) -> BertModel:
        return self.expose(self._model)

    def _modules(self) -> Sequence[nn.Module]:
        return [self._model]

    def answer(self, given: Sequence[str]) -> list[Facts]:
        return [{"vector": vector.tolist()} for vector in self.sentence_vectors(given)]

    def cut(self, text: str) -> Cut:
        encoding = self.tokenizer.encode(writable(text))
        count = max((word + 1 for word in encoding.word_ids if word is not None), default=0)
        spans = filter(None, map(encoding.word_to_chars, range(count)))
        texts = tuple(text[start:end] for start, end in spans)
        return Cut(tuple(encoding.ids), tuple(encoding.tokens), tuple(encoding.word_ids), texts)

    def sentence_vectors(
        self, texts: Sequence[str], batch_size: int = 32
    ) -> Float[Tensor, "texts dim"]:
        """For each text the mean of the encoder's states at its tokens, [CLS] and [SEP] included;
        only the beginning of a long text is read.
        """
        texts = texts_in(texts)
        means = [self._table[:0]]
        emit(self, GIVEN, len(texts))
        for start in range(0, len(texts), batch_size):
            emit(self, ROWS, range(start, min(start + batch_size, len(texts))))
            ids = [self._within(self.cut(text)) for text in texts[start : start + batch_size]]
            tokens, lengths = fill(ids)
            real = torch.arange(tokens.shape[1]) < torch.from_numpy(lengths)[:, None]
            states = self._states(torch.from_numpy(tokens), real)
            means.append(mean_of_real(states, real))
        return torch.cat(means)

    def word_vectors(self, text: str) -> tuple[tuple[str, ...], Float[Tensor, "words dim"]]:
        cut = self.cut(text_of(text, "text"))
        ids = self._within(cut)
        states = self._states(torch.tensor([ids]), torch.ones(1, len(ids), dtype=torch.bool))[0]
        places = [word for word in cut.words[: len(ids) - 1] if word is not None]
        count = len(set(places))
        sums = torch.zeros(count, states.shape[1]).index_add_(
            0, torch.tensor(places, dtype=torch.long), states[1 : len(places) + 1]
        )
        counts = torch.tensor(places, dtype=torch.long).bincount(minlength=count)
        return cut.texts[:count], sums / counts[:, None]

    def word_space(self) -> WordSpace:
        pieces = sorted(self.tokenizer.get_vocab().items(), key=lambda piece: piece[1])
        words = {word: id for word, id in pieces if not word.startswith(("##", "["))}
        return WordSpace(list(words), self._table[list(words.values())])

    @property
    def _table(self) -> Float[Tensor, "subwords dim"]:
        return self._model.encoder.embedding.table.detach().float().cpu()

    def _within(self, cut: Cut) -> list[int]:
        """The ids, cut to the maximum length, with [SEP] last."""
        return [*cut.ids[:-1][: self.max_tokens + 1], cut.ids[-1]]

    @torch.inference_mode()
    def _states(
        self, tokens: Int[Tensor, "texts length"], real: Bool[Tensor, "texts length"]
    ) -> Float[Tensor, "texts length dim"]:
        device = self._model.encoder.embedding.table.device
        return self._model.encoder(tokens.to(device), real.to(device)).float().cpu()


class _Sizes(BaseModel):
    """The keys of config.json that are read, as transformers names them."""

    vocab_size: Count
    hidden_size: Count
    num_attention_heads: Count
    num_hidden_layers: Count
    intermediate_size: Count
    hidden_act: str
    max_position_embeddings: Count
    position_embedding_type: Literal["absolute"] = "absolute"
    layer_norm_eps: float = 1e-12
    name_or_path: str = Field("", alias="_name_or_path")


def _read_bert(folder: Path) -> tuple[_Sizes, TransformerEncoder, "Tokenizer"]:
    refuse_other_kinds(folder, "bert")
    file = folder / CONFIG
    try:
        sizes = _Sizes.model_validate_json(file.read_bytes())
        section = _section(sizes)
        file = folder / WEIGHTS
        _check_size(section, sizes, file)
        table = embedding_table(sizes.vocab_size, sizes.hidden_size)
        encoder = text_encoder(section, table, Noise())
        file = folder / THEIRS
        tokenizer = _tokenizer(file, sizes.vocab_size)
        file = folder / WEIGHTS
        copy_bert(load_file(file), encoder)
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        raise BundleError(
            "this BERT cannot be read.", got=_fault_line(error), place=Location(file)
        ) from None
    return sizes, encoder, tokenizer


def _fault_line(error: Exception) -> str:
    if isinstance(error, ValidationError):
        faults = error.errors(include_url=False, include_input=False)
        return "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in faults)
    return f"no {error} in it" if isinstance(error, KeyError) else str(error).split("\n")[0]


def _check_size(section: MaskedConfig, sizes: _Sizes, file: Path) -> None:
    """Raises a ValueError if the weights cannot be those of a model of these sizes."""
    stored = sum(math.prod(tensor.shape) for tensor in read_tensor_entries(file).values())
    needed = numbers_in(section, sizes.vocab_size, 0)
    if needed > 2 * stored:
        raise ValueError(f"{stored:,} numbers, and {CONFIG} describes about {needed:,}")


def _tokenizer(file: Path, pieces: int) -> "Tokenizer":
    with optional_import("reading a Hugging Face tokenizer", extra="huggingface"):
        import tokenizers

    read = tokenizers.Tokenizer.from_file
    try:
        tokenizer = read(str(file))
    except Exception as error:  # the library has no class for faults of a file
        raise ValueError(str(error)) from None
    if tokenizer.get_vocab_size() > pieces:
        raise ValueError(f"{tokenizer.get_vocab_size():,} subwords, and the model has {pieces:,}")
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _section(sizes: _Sizes) -> MaskedConfig:
    """The same sizes as a recipe's section; a ValidationError of pydantic if they do not fit."""
    return MaskedConfig.model_validate(
        {
            "dim": sizes.hidden_size,
            "heads": sizes.num_attention_heads,
            "layers": sizes.num_hidden_layers,
            "feedforward": sizes.intermediate_size,
            "activation": sizes.hidden_act,
            "norm_epsilon": sizes.layer_norm_eps,
            "max_length": sizes.max_position_embeddings,
            "norm": "post",
            "positions": "learned",
            "embedding_norm": True,
            "dropout": 0.0,
        }
    )


@torch.no_grad()
def copy_bert(tensors: Mapping[str, Tensor], encoder: TransformerEncoder) -> None:
    """Copies BERT's weights, under Hugging Face's names, into an encoder of the same sizes.

    Our encoder multiplies embeddings by sqrt(dim), so the table is BERT's divided by it; the vector
    of token type 0, which BERT adds to every embedding, is added to the position encodings.

    Raises:
        KeyError: a tensor is missing.
        RuntimeError: one has another shape.
    """
    prefix = "bert." if any(name.startswith("bert.") for name in tensors) else ""
    table = f"{prefix}embeddings."
    words = tensors[f"{table}word_embeddings.weight"]
    encoder.embedding.table.copy_(words / math.sqrt(words.shape[1]))
    of_type = tensors[f"{table}token_type_embeddings.weight"][0]
    places = encoder.get_parameter("embedding.positions.encoding.table")
    places.copy_(tensors[f"{table}position_embeddings.weight"] + of_type)
    _copy(tensors, f"{table}LayerNorm", encoder.embedding.get_submodule("norm"))
    for number, block in enumerate(encoder.blocks):
        for theirs, ours in _layer_parts(block).items():
            _copy(tensors, f"{prefix}encoder.layer.{number}.{theirs}", ours)


def _layer_parts(block: Block) -> dict[str, nn.Module]:
    """The parts of a block, by their names in a layer of BERT."""
    assert isinstance(block.feedforward, PlainFeedForward)
    parts = {
        "attention.self.query": "self_attention.query",
        "attention.self.key": "self_attention.key",
        "attention.self.value": "self_attention.value",
        "attention.output.dense": "self_attention.output",
        "attention.output.LayerNorm": "after_self.norm",
        "intermediate.dense": "feedforward.inner",
        "output.dense": "feedforward.outer",
        "output.LayerNorm": "after_feedforward.norm",
    }
    return {theirs: block.get_submodule(ours) for theirs, ours in parts.items()}


def _copy(tensors: Mapping[str, Tensor], name: str, ours: nn.Module) -> None:
    for part, parameter in ours.named_parameters():
        parameter.copy_(tensors[f"{name}.{part}"])
