"""MegatronBert: BERT with norms before its layers.

Source: Shoeybi et al. 2019; names of transformers.
"""

from jumok.interop.families.bert import (
    DROPPED,
    KINDS,
    LAYER,
    SPECIAL,
    BertSettings,
    EncoderNames,
    original_class,
    section,
    vocabulary,
)
from jumok.interop.family import ModelFamily
from jumok.interop.rows import WithFirstRow

NAMES = EncoderNames(
    "bert",
    "encoder.layer",
    {name: ours for name, ours in LAYER.items() if "LayerNorm" not in name},
    "cls.predictions.transform.dense",
    "cls.predictions.transform.LayerNorm",
    "cls.predictions.bias",
    "cls.predictions.decoder",
    ("cls.seq_relationship.", "classifier.", "qa_outputs."),
    before=("attention.ln", "ln", "encoder.ln"),
)

MEGATRON_BERT = ModelFamily(
    name="MegatronBert",
    kinds=("megatron-bert",),
    task="masked-lm",
    settings=BertSettings,
    section=lambda settings, tensors: section(
        settings,
        head=NAMES.has_head(tensors),
        positions=settings.max_position_embeddings,
        norm="pre",
    ),
    table=lambda settings, tensors: NAMES.table(
        tensors, settings.num_hidden_layers, WithFirstRow(settings.type_vocab_size)
    ),
    vocabulary=lambda source, settings: vocabulary(source, settings, KINDS, SPECIAL, "[MASK]"),
    longest=lambda settings: settings.max_position_embeddings - 2,
    changes=(DROPPED,),
    theirs=original_class,
)
