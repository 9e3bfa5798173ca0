"""How captioners are scored: how words are cut, where nouns look, which attention tells best."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from jumok.data.images import PictureFiles, read_image
from jumok.evaluation.pointing import Gold, NounAttention, points
from jumok.evaluation.text import bleu_tokenizer
from jumok.inspection.alignment import AlignmentSetting
from jumok.inspection.capture import heads_of
from jumok.shapes import Tensor
from jumok.systems.caption import Looks
from jumok.systems.captioner import Captioner

Size = tuple[int, int]
"""Height and width of a picture, in the pixels of its boxes."""


def caption_tokenizer(language: str) -> str:
    """How captions in this language are cut into words: "ptb" where sacreBLEU would take 13a."""
    usual = bleu_tokenizer(language)
    return "ptb" if usual == "13a" else usual


def sizes_of(pictures: Iterable[tuple[PictureFiles, str]]) -> list[Size]:
    """How large the pictures are: (where they are, name)."""
    shapes = (read_image(files.content(name), files.place(name)).shape for files, name in pictures)
    return [(height, width) for height, width, _ in shapes]


@dataclass(frozen=True)
class Pointed:
    """Pictures with gold boxes.

    Attributes:
        files: the pictures' names, as `gold` knows them.
        sizes: of each picture.
        gold: which words are nouns, and where what they name is.
    """

    files: Sequence[str]
    sizes: Sequence[Size]
    gold: Gold

    def looks(self, texts: Sequence[str], maps: Sequence[Looks | None]) -> Iterator[NounAttention]:
        """The nouns of a caption of each picture, with where the model looked for them."""
        for file, (height, width), text, seen in zip(
            self.files, self.sizes, texts, maps, strict=True
        ):
            for noun in self.gold.nouns(file, text):
                if seen is not None and noun.word < len(seen.words):
                    attention = seen.weights[noun.word].numpy()
                    yield NounAttention(attention, noun.boxes, height, width)


def choose_reading(
    captioner: Captioner, pictures: Sequence[Tensor], texts: Sequence[str], pointed: Pointed
) -> AlignmentSetting:
    """The layer, step and head that point correctly most often, over reference captions.

    Heads share the work: in one model of two layers with four heads, one head pointed at 88 % of
    the things, and the mean of its layer at 43 %.
    """
    count = heads_of(captioner.model)
    readings = [
        AlignmentSetting(layer, at_input, head)
        for layer, site in enumerate(captioner.model.cross_sites)
        for at_input, head in product((False, True), (None, *range(count[site])))
    ]

    seen = captioner.look_at(readings, pictures, texts)
    right = [sum(points(look) for look in pointed.looks(texts, maps)) for maps in seen]
    return readings[right.index(max(right))]
