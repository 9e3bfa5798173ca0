"""RoBERTa and XLM-R: BERT with other subwords; the first positions are those of padding.

Source: Liu et al. 2019; Conneau et al. 2020; names of transformers.
"""

from pydantic import Field

from jumok.data.tokenizer import PAD
from jumok.errors import BundleError, Location
from jumok.interop.families.bert import (
    DROPPED,
    LAYER,
    BertSettings,
    EncoderNames,
    original_class,
    section,
    vocabulary,
)
from jumok.interop.family import ModelFamily
from jumok.interop.rows import LaterRows, WithFirstRow
from jumok.interop.source import Source
from jumok.interop.vocabulary import Vocabulary

NAMES = EncoderNames(
    "roberta",
    "encoder.layer",
    LAYER,
    "lm_head.dense",
    "lm_head.layer_norm",
    "lm_head.bias",
    "lm_head.decoder",
    ("classifier.", "qa_outputs."),
)
SPECIAL = {"pad_token": "<pad>", "unk_token": "<unk>", "cls_token": "<s>", "sep_token": "</s>"}


class RobertaSettings(BertSettings):
    """The keys of a RoBERTa's config.json."""

    pad_token_id: int = Field(1, ge=0)

    @property
    def skipped(self) -> int:
        """The positions before the first token's."""
        return self.pad_token_id + 1

    @property
    def positions(self) -> int:
        return self.max_position_embeddings - self.skipped


def checked_vocabulary(source: Source, settings: RobertaSettings) -> Vocabulary:
    """The vocabulary; positions are counted after the id of padding, so it has to be the same."""
    kind = "Unigram" if source.kind == "xlm-roberta" else "BPE"
    read = vocabulary(source, settings, [kind], SPECIAL, "<mask>")
    if read.order[PAD] != settings.pad_token_id:
        raise BundleError(
            "the tokenizer pads with another token than the model.",
            expected=f"pad_token_id = {read.order[PAD]}, as in the tokenizer",
            got=str(settings.pad_token_id),
            place=Location(source.config_file),
        )
    return read


ROBERTA = ModelFamily(
    name="RoBERTa, XLM-R",
    kinds=("roberta", "xlm-roberta"),
    task="masked-lm",
    settings=RobertaSettings,
    section=lambda settings, tensors: section(
        settings, head=NAMES.has_head(tensors), positions=settings.positions
    ),
    table=lambda settings, tensors: NAMES.table(
        tensors,
        settings.num_hidden_layers,
        WithFirstRow(settings.type_vocab_size),
        LaterRows(settings.skipped),
    ),
    vocabulary=checked_vocabulary,
    longest=lambda settings: settings.positions - 2,
    changes=(DROPPED, "the rows of positions that no token has are left out"),
    theirs=original_class,
)
