"""g2p-en: English letters to ARPAbet phonemes, by a GRU that reads and a GRU that writes.

Source: Park and Kim 2019, g2p-en 2.1, g2p.py.
"""

from collections.abc import Collection, Iterator
from string import ascii_lowercase
from typing import Literal

from jumok.config.recurrent import RecurrentConfig
from jumok.config.section import Count
from jumok.data.pair_tokenizer import SymbolTokenizer, symbols_file
from jumok.data.special_tokens import SPECIAL
from jumok.interop.family import ModelFamily
from jumok.interop.folded import Scaled
from jumok.interop.layouts.g2p import KIND, LETTERS, PHONEMES
from jumok.interop.rows import OutputBias, Table, TensorRow, VocabularyRows
from jumok.interop.settings import Settings
from jumok.interop.source import Source
from jumok.interop.vocabulary import Vocabulary, of_words

READ = ("<pad>", "<unk>", "</s>", *ascii_lowercase)
LISTED = (
    "AA0 AA1 AA2 AE0 AE1 AE2 AH0 AH1 AH2 AO0 AO1 AO2 AW0 AW1 AW2 AY0 AY1 AY2 B CH D DH "
    "EH0 EH1 EH2 ER0 ER1 ER2 EY0 EY1 EY2 F G HH IH0 IH1 IH2 IY0 IY1 IY2 JH K L M N NG "
    "OW0 OW1 OW2 OY0 OY1 OY2 P R S SH T TH UH0 UH1 UH2 UW UW0 UW1 UW2 V W Y Z ZH"
)
WRITTEN = tuple(LISTED.split())
"""Those of the code, in the order of its ids: the file does not name them."""
LONGEST = 64
"""Letters of a word: neither says what the model was trained for."""


class G2PSettings(Settings):
    """What the shapes of the arrays say."""

    letters: Literal[29]
    vocab_size: Literal[74]
    width: Count


def section(settings: G2PSettings, _: Collection[str]) -> RecurrentConfig:
    """A GRU each, and nothing between them but the state."""
    return RecurrentConfig(
        dim=settings.width,
        embedding=settings.width,
        bidirectional=False,
        attention="none",
        first_state="copy",
        readout=False,
        output_bias=True,
        tied="none",
    )


CELLS = {"enc": "encoder.readers.0.forwards", "dec": "decoder.cells.cells.0"}
LAYERS = {"ih": "input", "hh": "state"}


def table(settings: G2PSettings, _: Collection[str]) -> Table:
    """The arrays, whose embeddings are not multiplied by the root of their width."""
    return Table(tuple(_rows(Scaled(settings.width**-0.5))))


def _rows(scaled: Scaled) -> Iterator[TensorRow]:
    yield TensorRow((LETTERS,), ("encoder.embedding.table",), (scaled, VocabularyRows(True)))
    yield TensorRow((PHONEMES,), ("decoder.embedding.table",), (scaled, VocabularyRows()))
    for side, cell in CELLS.items():
        for theirs, ours in LAYERS.items():
            for letter, part in (("w", "weight"), ("b", "bias")):
                yield TensorRow((f"{side}_{letter}_{theirs}",), (f"{cell}.{ours}.{part}",))
    yield TensorRow(("fc_w",), ("decoder.output.weight",), (VocabularyRows(),))
    yield TensorRow(("fc_b",), ("decoder.output.bias",), (OutputBias(),))


def vocabulary(source: Source, settings: G2PSettings) -> Vocabulary:  # noqa: ARG001
    """The letters and the phonemes, of which no two are alike."""
    file = symbols_file(SPECIAL, ascii_lowercase, WRITTEN)
    return of_words(READ, (*SPECIAL, *WRITTEN), (0, 1, 2, 3), lambda _: file)


G2P = ModelFamily(
    name="g2p-en",
    kinds=(KIND,),
    task="translation",
    settings=G2PSettings,
    section=section,
    table=table,
    vocabulary=vocabulary,
    longest=lambda _: LONGEST,
    tokenizer=SymbolTokenizer,
    theirs=None,
    changes=(
        "a text is one word: its letters, in lower case and without accents",
        "the original writes at most 20 phonemes of a word; here they are bounded as of any text",
        "the original's dictionary of known words and of homographs is left out",
    ),
)
