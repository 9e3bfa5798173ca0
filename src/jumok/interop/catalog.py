"""The families that jumok imports."""

from jumok.errors import BundleError, Location
from jumok.interop.families.bart import BART, BLENDERBOT, M2M100, MBART, PEGASUS
from jumok.interop.families.bert import BERT
from jumok.interop.families.distilbert import DISTILBERT
from jumok.interop.families.g2p import G2P
from jumok.interop.families.gguf import GGUF_LLAMAS
from jumok.interop.families.gpt2 import GPT2
from jumok.interop.families.llama import LLAMAS
from jumok.interop.families.marian import MARIAN
from jumok.interop.families.marian_nmt import MARIAN_NMT
from jumok.interop.families.megatron_bert import MEGATRON_BERT
from jumok.interop.families.neox import NEOX
from jumok.interop.families.roberta import ROBERTA
from jumok.interop.families.t5 import T5
from jumok.interop.families.trainers.eole import EOLE
from jumok.interop.families.trainers.fairseq import FAIRSEQ
from jumok.interop.families.trainers.joeynmt import JOEYNMT
from jumok.interop.families.trainers.joeynmt_rnn import JOEYNMT_RNN
from jumok.interop.families.trainers.opennmt import OPENNMT
from jumok.interop.families.vision_encoder_decoder import VISION_ENCODER_DECODER
from jumok.interop.families.vit import VIT
from jumok.interop.family import ModelFamily
from jumok.interop.source import Source

FAMILIES: tuple[ModelFamily, ...] = (
    *(BERT, MEGATRON_BERT, ROBERTA, DISTILBERT, VIT, VISION_ENCODER_DECODER),
    *(GPT2, *LLAMAS, *GGUF_LLAMAS, NEOX),
    *(MARIAN, MARIAN_NMT, BART, BLENDERBOT, M2M100, MBART, PEGASUS, T5),
    *(JOEYNMT, JOEYNMT_RNN, EOLE, OPENNMT, FAIRSEQ, G2P),
)
BY_KIND = {kind: family for family in FAMILIES for kind in family.kinds}

SUPPORTED = ", ".join(f"{family.name} ({', '.join(family.kinds)})" for family in FAMILIES)


def family_of(source: Source) -> ModelFamily:
    """The family of a model; a BundleError if jumok does not import it."""
    if source.kind not in BY_KIND:
        raise BundleError(
            f"this is {source.named}, a family that jumok does not import.",
            expected=SUPPORTED,
            got=source.kind,
            do="jumok.from_transformers(model, tokenizer, text) shows the attention of any model "
            "of transformers",
            place=Location(source.config_file),
        )
    return BY_KIND[source.kind]
