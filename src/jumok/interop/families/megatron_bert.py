"""MegatronBert: BERT with norms before its layers.

Source: Shoeybi et al. 2019; names of transformers.
"""

from dataclasses import replace

from jumok.interop.families.bert import LAYER, NAMES, bert_family

MEGATRON_BERT = bert_family(
    "MegatronBert",
    "megatron-bert",
    replace(
        NAMES,
        parts={name: ours for name, ours in LAYER.items() if "LayerNorm" not in name},
        before=("attention.ln", "ln", "encoder.ln"),
    ),
    "pre",
)
