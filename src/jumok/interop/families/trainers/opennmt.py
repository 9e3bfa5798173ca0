"""Encoder-decoder Transformers that OpenNMT-py trained (Klein et al. 2017)."""

from jumok.interop.families.trainers.eole import (
    LONGEST,
    UNREAD,
    EoleSettings,
    TensorNames,
    layer_names,
    section,
)
from jumok.interop.families.trainers.segmented import SUBWORDS, segmented
from jumok.interop.families.trainers.tables import WordTables
from jumok.interop.family import ModelFamily
from jumok.interop.layouts.opennmt import (
    KIND,
    checkpoint_words,
    read_checkpoint,
)
from jumok.interop.source import Source
from jumok.interop.vocabulary import Vocabulary

MLP = "feed_forward.w_1", "feed_forward.w_2"
LAST = "feed_forward.layer_norm"
EMBEDDINGS = "make_embedding"
NAMES = TensorNames(
    WordTables(
        f"encoder.embeddings.{EMBEDDINGS}.emb_luts.0.weight",
        f"decoder.embeddings.{EMBEDDINGS}.emb_luts.0.weight",
        "generator.weight",
        "generator.bias",
    ),
    {
        "encoder": layer_names("encoder", "transformer", ("layer_norm", LAST), *MLP),
        "decoder": layer_names(
            "decoder", "transformer_layers", ("layer_norm_1", "layer_norm_2", LAST), *MLP
        ),
    },
    {side: f"{side}.embeddings.{EMBEDDINGS}.pe" for side in ("encoder", "decoder")},
    "feed_forward.w_3",
)


def vocabulary(source: Source, settings: EoleSettings) -> Vocabulary:
    """The words of the checkpoint, and what texts are cut by."""
    file = source.config_file
    words = checkpoint_words(file, read_checkpoint(file))
    return segmented(source, words, settings.transforms, settings.transforms_configs)


OPENNMT = ModelFamily(
    name="OpenNMT-py",
    kinds=(KIND,),
    task="translation",
    settings=EoleSettings,
    section=section,
    table=NAMES.table,
    vocabulary=vocabulary,
    longest=lambda _: LONGEST - 1,
    theirs=None,
    changes=(UNREAD, SUBWORDS),
)
