"""Head cards of models that read images, over a corpus.

Importance needs a loss. For a captioner it is the mean negative log-probability of the tokens of
a reference caption; for a classifier that of the correct label.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F

from jumok.attention.observe import Attention, observe, sites, sites_of
from jumok.data.captions.corpus import Captioned
from jumok.data.files.images import PictureFiles
from jumok.data.pairs.batches import fill
from jumok.data.pictures.batches import as_tensor
from jumok.data.pictures.corpus import Fitted
from jumok.data.tokenizer import END, START
from jumok.errors import ConfigError, DataError
from jumok.evaluation.captioner import picture_sizes
from jumok.evaluation.pointing import Gold, NounAttention, cover, points
from jumok.inspection.heads.cards import AnyHeadCard, GridCard
from jumok.inspection.heads.grid_measures import GridMeter
from jumok.inspection.heads.measures import HeadMeter, Pieces, mean_losses
from jumok.inspection.hooks.listening import record_pass
from jumok.inspection.sites import residual_gate_of
from jumok.models.image_classifier import ImageClassifier
from jumok.shapes import Float, Int, Tensor
from jumok.systems.captioner import Captioner
from jumok.systems.image_classifier import ImageClassification

ONE_VECTOR = "model.memory = grid; one vector of the whole image has nothing to attend to"

NOT_YET = np.zeros((1, 1))
"""A placeholder for the attention, which each head has of its own."""


class ReferenceCaption(NamedTuple):
    """A reference caption as tokens, and the image that it describes."""

    picture: int
    text: str
    tokens: list[int]


@dataclass
class _Points:
    """The sums of one layer at one step: a number for each head."""

    hits: np.ndarray
    inside: np.ndarray


@dataclass
class Pointing:
    """The pointing accuracy of each head, over reference captions.

    A word of several tokens has the mean of their weights, at the step that writes it and at the
    next, which reads it.
    """

    captioner: Captioner
    gold: Gold
    nouns: int = 0
    even: float = 0.0
    sums: dict[tuple[str, bool], _Points] = field(default_factory=dict)
    seen: dict[str, list[Tensor]] = field(default_factory=dict)

    def record(self, site: str, attention: Attention) -> None:
        """Keeps the weights until the batch is scored; an RNN attends step by step."""
        self.seen.setdefault(site, []).append(attention.weights.detach().float().cpu())

    def update(
        self,
        captions: Sequence[ReferenceCaption],
        files: Sequence[str],
        sizes: Sequence[tuple[int, int]],
    ) -> None:
        """Adds a batch, whose weights are then dropped.

        Args:
            captions: one for each row of the weights.
            files, sizes: the images' names, and their height and width in pixels of the boxes.
        """
        weights = {site: torch.cat(parts, dim=2).numpy() for site, parts in self.seen.items()}
        self.seen.clear()
        for row, caption in enumerate(captions):
            _, of_token = self.captioner.words_of(caption.tokens)
            for noun in self.gold.nouns(files[caption.picture], caption.text):
                steps = [step for step, word in enumerate(of_token) if word == noun.word]
                if steps:  # otherwise the caption was truncated before it
                    height, width = sizes[caption.picture]
                    maps_of = {site: of_batch[row] for site, of_batch in weights.items()}
                    self._noun(NounAttention(NOT_YET, noun.boxes, height, width), maps_of, steps)

    def _noun(self, noun: NounAttention, maps_of: dict[str, np.ndarray], steps: list[int]) -> None:
        """Adds one noun: the weights of every head at its steps, (heads step cell)."""
        grid = self.captioner._model.grid
        shares = cover(replace(noun, attention=np.ones(grid)))
        self.nouns += 1
        self.even += float(shares.mean())
        for site, weights in maps_of.items():
            for reads in (False, True):
                maps = weights[:, [step + reads for step in steps]].mean(axis=1)
                maps = maps.reshape(-1, *grid)
                zeros = np.zeros(len(maps))
                sums = self.sums.setdefault((site, reads), _Points(zeros, zeros.copy()))
                sums.hits += [points(replace(noun, attention=map_of_head)) for map_of_head in maps]
                sums.inside += (maps * shares).sum(axis=(1, 2)) / maps.sum(axis=(1, 2))

    def compute(self, cards: Iterable[AnyHeadCard]) -> list[AnyHeadCard]:
        """The cards with the pointing accuracy of their heads, at the better of the two steps."""
        return [self._scored(card) for card in cards]

    def _scored(self, card: AnyHeadCard) -> AnyHeadCard:
        if not isinstance(card, GridCard) or card.part != "cross" or not self.nouns:
            return card  # self-attention of cells has no words, and no gold boxes
        both = {reads: self.sums[card.site, reads] for reads in (False, True)}
        reads = bool(both[True].hits[card.head] > both[False].hits[card.head])
        return replace(
            card,
            nouns=self.nouns,
            pointing=float(both[reads].hits[card.head] / self.nouns),
            in_box=float(both[reads].inside[card.head] / self.nouns),
            even_in_box=self.even / self.nouns,
            reading="reads" if reads else "writes",
        )


@dataclass(frozen=True)
class PictureCorpus:
    """Images with captions; every iteration starts from the beginning.

    Attributes:
        gold: the nouns, and the boxes of what they name; None: not known.
    """

    captioned: Callable[[], Iterable[Captioned]]
    files: PictureFiles
    gold: Gold | None = None


def caption_head_cards_over(
    captioner: Captioner, pictures: PictureCorpus, batch_size: int = 64
) -> list[AnyHeadCard]:
    """A card for each head of a captioner.

    Args:
        pictures: read twice, because rare tokens are known only after all are counted. A caption
            that is too long is truncated.
        batch_size: the number of captions in a batch; those of one image are never split.

    Raises:
        ConfigError: the model has no attention, or its decoder attends to only one vector.
        DataError: no caption with a word, or an image that cannot be read.
    """
    model = captioner._model
    if not model.cross_sites:
        raise ConfigError("this model has no attention over the image.", expected=ONE_VECTOR)
    texts = (text for picture in pictures.captioned() for text in picture.captions)
    pairs: Iterator[tuple[list[int], list[int]]] = (
        ([], _caption_tokens(captioner, text)) for text in texts
    )
    grids = {site: GridMeter("cross", model.grid) for site in model.cross_sites}
    grids |= {site: GridMeter("image", model.grid) for site in sites_of(model, "image")}
    meter = HeadMeter(model, Pieces.of(captioner.tokenizer, pairs), grids)
    pointing = Pointing(captioner, pictures.gold) if pictures.gold is not None else None
    for chunk in _caption_chunks(pictures.captioned(), batch_size):
        captions = [
            ReferenceCaption(number, text, tokens)
            for number, picture in enumerate(chunk)
            for text in picture.captions
            if (tokens := _caption_tokens(captioner, text))
        ]
        if not captions:
            continue
        with observe(
            model, pointing.record if pointing else _ignore, model.cross_sites.__contains__
        ):
            _watch(meter, captioner, _read_once(captioner, pictures.files, chunk), captions)
        if pointing is not None:
            sizes = picture_sizes((pictures.files, picture.file) for picture in chunk)
            pointing.update(captions, [picture.file for picture in chunk], sizes)
    cards = meter.cards()
    if not cards:
        raise DataError("there is no caption with a word.")
    return cards if pointing is None else pointing.compute(cards)


def _ignore(_: str, __: Attention) -> None:
    pass


def _caption_tokens(captioner: Captioner, text: str) -> list[int]:
    return captioner.tokenizer.encode(text)[: captioner.max_tokens]


def _caption_chunks(pictures: Iterable[Captioned], batch_size: int) -> Iterator[list[Captioned]]:
    chunk: list[Captioned] = []
    count = 0
    for picture in pictures:
        if chunk and count + len(picture.captions) > batch_size:
            yield chunk
            chunk, count = [], 0
        chunk.append(picture)
        count += len(picture.captions)
    if chunk:
        yield chunk


@torch.no_grad()
def _read_once(captioner: Captioner, files: PictureFiles, chunk: Sequence[Captioned]) -> Tensor:
    """What is computed before the first head, for each image."""
    read = captioner.reader.read
    arrays = [read(files.content(picture.file), files.place(picture.file)) for picture in chunk]
    device = next(captioner._model.parameters()).device
    return captioner._model.read_once(torch.from_numpy(np.stack(arrays)).to(device))


def _watch(
    meter: HeadMeter,
    captioner: Captioner,
    images: Tensor,
    captions: Sequence[ReferenceCaption],
) -> None:
    """Runs one forward and one backward pass; an image is read again for each of its captions."""
    model, device = captioner._model, images.device
    read, _ = fill([[START, *caption.tokens] for caption in captions])
    written, _ = fill([[*caption.tokens, END] for caption in captions])
    tokens = torch.from_numpy(read).to(device)
    targets = torch.from_numpy(written).to(device)
    own = images[torch.tensor([caption.picture for caption in captions], device=device)]

    def losses() -> Float[Tensor, " batch"]:
        return mean_losses(model.decoder(model.read_on(own), tokens), targets)

    one_query = tokens.new_ones(len(captions), 1)
    words, grid = (tokens, tokens), (one_query, one_query)
    meter.watch({"decoder": words, "cross": words, "image": grid}, losses)


class LabelledPicture(NamedTuple):
    """An image as the model reads it, and the number of its label."""

    pixels: Fitted
    label: int


def picture_head_cards_over(
    system: ImageClassification, pictures: Iterable[LabelledPicture], batch_size: int = 64
) -> list[AnyHeadCard]:
    """A card for each head of a classifier's attentions over pixels; `system` has one model.

    Raises:
        ConfigError: the model has no attention.
        DataError: no image.
    """
    (model,) = system._models
    if not sites(model):
        raise ConfigError("this model has no attention.", do="give one with attention")
    meter: HeadMeter | None = None
    for batch in _picture_batches(pictures, batch_size):
        device = model.output.weight.device
        pixels = as_tensor(np.stack([picture.pixels for picture in batch])).to(device)
        labels = torch.tensor([picture.label for picture in batch], device=device)
        if meter is None:
            with torch.no_grad():
                recorded, _ = record_pass(model, partial(model, pixels[:1]), "weights")
            grids = recorded.encoder.grids
            if model.patches is not None:
                grids = dict.fromkeys(sites(model), model.patches)
            meter = HeadMeter(
                model,
                grids={
                    site: GridMeter("image", grid, residual_gate_of(model, site))
                    for site, grid in grids.items()
                },
            )
        one_query = torch.ones(len(batch), 1, dtype=torch.long, device=device)
        meter.watch(
            {"image": (one_query, one_query)}, partial(_label_losses, model, pixels, labels)
        )
    if meter is None:
        raise DataError("there is no image.")
    return meter.cards()


def _label_losses(
    model: ImageClassifier, pixels: Tensor, labels: Int[Tensor, " batch"]
) -> Float[Tensor, " batch"]:
    return F.cross_entropy(model(pixels).float(), labels, reduction="none")


def _picture_batches(
    pictures: Iterable[LabelledPicture], batch_size: int
) -> Iterator[list[LabelledPicture]]:
    batch: list[LabelledPicture] = []
    for picture in pictures:
        batch.append(picture)
        if len(batch) == batch_size:
            yield batch
            batch = []
    if batch:
        yield batch
