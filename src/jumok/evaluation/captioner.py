"""Scoring captioners: the tokenizer, the attention of nouns, the best alignment setting."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from jumok.alignment.setting import AlignmentSetting
from jumok.attention.observe import heads_of
from jumok.data.files.images import PictureFiles, read_image
from jumok.evaluation.pointing import Gold, NounAttention, points
from jumok.evaluation.text import bleu_tokenizer
from jumok.shapes import Tensor
from jumok.systems.caption import Looks
from jumok.systems.captioner import Captioner

PixelSize = tuple[int, int]
"""Height and width of an image, in the pixels of its boxes."""


def caption_tokenizer(language: str) -> str:
    """The tokenizer for captions in this language: "ptb" where sacreBLEU would use 13a."""
    usual = bleu_tokenizer(language)
    return "ptb" if usual == "13a" else usual


def picture_sizes(pictures: Iterable[tuple[PictureFiles, str]]) -> list[PixelSize]:
    """The sizes of the images by (folder, name)."""
    shapes = (read_image(files.content(name), files.place(name)).shape for files, name in pictures)
    return [(height, width) for height, width, _ in shapes]


@dataclass(frozen=True)
class Pointed:
    """Images with gold boxes.

    Attributes:
        files: the images' names, as in `gold`.
    """

    files: Sequence[str]
    sizes: Sequence[PixelSize]
    gold: Gold

    def looks(self, texts: Sequence[str], maps: Sequence[Looks | None]) -> Iterator[NounAttention]:
        """The nouns of one caption for each image, with the model's attention."""
        for file, (height, width), text, seen in zip(
            self.files, self.sizes, texts, maps, strict=True
        ):
            for noun in self.gold.nouns(file, text):
                if seen is not None and noun.word < len(seen.words):
                    attention = seen.weights[noun.word].numpy()
                    yield NounAttention(attention, noun.boxes, height, width)


def choose_pointing_setting(
    captioner: Captioner, pictures: Sequence[Tensor], texts: Sequence[str], pointed: Pointed
) -> AlignmentSetting:
    """The layer, step and head that point correctly most often, over reference captions."""
    count = heads_of(captioner._model)
    settings = [
        AlignmentSetting(layer, at_input, head)
        for layer, site in enumerate(captioner._model.cross_sites)
        for at_input, head in product((False, True), (None, *range(count[site])))
    ]

    maps_of_settings = captioner.look_at(settings, pictures, texts)
    hits = [sum(points(noun) for noun in pointed.looks(texts, maps)) for maps in maps_of_settings]
    return settings[hits.index(max(hits))]
