"""Images and their captions as tensors; an image is encoded once for all of its captions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt
import torch

from jumok.data.pairs.batches import fill, places_of, with_end
from jumok.data.planned import NumberedUpdates, Planned
from jumok.data.tokenizer import PAD, START
from jumok.shapes import Bool, Int, Tensor

PICTURE_WORK = 40  # this number of target positions takes about as long as one image


@dataclass(frozen=True)
class CaptionRows:
    """The captions of a batch as a decoder's input.

    Attributes:
        tokens: START and tokens of one caption per row, or of several one after another.
        real: True where a token is; row by row, these positions are those of the captions.
        documents: the caption of each token; None if every row is one caption.
    """

    tokens: Int[Tensor, "rows length"]
    real: Bool[Tensor, "rows length"]
    documents: Int[Tensor, "rows length"] | None = None

    @cached_property
    def places(self) -> Int[Tensor, " targets"]:
        return places_of(self.real)


@dataclass(frozen=True)
class CaptionBatch:
    """The images and captions of one training batch.

    Attributes:
        pictures: bytes (pictures 3 height width), or features (pictures cells width).
        rows: the image of each caption, in the order of the images.
        target_input: START and tokens, padded with PAD.
        target_output: tokens and END, padded with PAD.
        targets: the number of tokens of the captions, END included.
    """

    pictures: Tensor
    rows: Int[Tensor, " batch"]
    target_input: Int[Tensor, "batch target"]
    target_output: Int[Tensor, "batch target"]
    targets: int

    @property
    def sources(self) -> int:
        return len(self.pictures)

    @property
    def real(self) -> Bool[Tensor, "batch target"]:
        return self.target_output != PAD

    @cached_property
    def captions(self) -> Int[Tensor, " targets"]:
        """The caption of each token."""
        return torch.arange(len(self.rows)).repeat_interleave(self.real.sum(1))

    @cached_property
    def apart(self) -> CaptionRows:
        return CaptionRows(self.target_input, self.real)

    @cached_property
    def packed(self) -> CaptionRows:
        """All captions of an image in one row, which needs far less padding."""
        lengths = self.real.sum(1)
        of_picture = torch.zeros_like(lengths[: self.sources]).index_add(0, self.rows, lengths)
        room = torch.arange(int(of_picture.max()), device=lengths.device)
        real = room < of_picture[:, None]
        numbers = torch.arange(len(lengths), device=lengths.device)
        return CaptionRows(
            self.target_input.new_full(real.shape, PAD).masked_scatter(
                real, self.target_input[self.real]
            ),
            real,
            numbers.new_full(real.shape, -1).masked_scatter(
                real, numbers.repeat_interleave(lengths)
            ),
        )

    @property
    def work(self) -> int:
        return self.targets + PICTURE_WORK * self.sources


@dataclass(frozen=True)
class CaptionedPictures:
    """The data of a training or a validation.

    Attributes:
        inputs: one array per image, or one of each of its views, on disk.
        captions: for each image the tokens of its captions, without START and END.
        key: names the content.
        views: of each image, the first one of the whole image; None: an input is one.
    """

    inputs: npt.NDArray[np.generic]
    captions: Sequence[Sequence[Sequence[int]]]
    key: str
    views: int | None = None

    def __len__(self) -> int:
        return len(self.captions)

    @property
    def tokens(self) -> int:
        """Target tokens, END included."""
        return sum(len(caption) + 1 for captions in self.captions for caption in captions)

    def input(self, index: int, random: np.random.Generator | None = None) -> Tensor:
        """The input of an image; with `random`, of any of its views."""
        if self.views is None:
            return torch.from_numpy(np.array(self.inputs[index]))
        view = 0 if random is None else int(random.integers(self.views))
        return torch.from_numpy(np.array(self.inputs[index, view]))

    def batch(
        self,
        chosen: Sequence[tuple[int, Sequence[int]]],
        random: np.random.Generator | None = None,
    ) -> CaptionBatch:
        """These captions of these pictures: (picture, indices of its captions)."""
        pictures = torch.stack([self.input(index, random) for index, _ in chosen])
        rows = [row for row, (_, which) in enumerate(chosen) for _ in which]
        targets = [self.captions[index][caption] for index, which in chosen for caption in which]
        ids, lengths = fill(targets)
        output, _ = with_end(ids, lengths)
        return CaptionBatch(
            pictures,
            torch.tensor(rows),
            torch.cat([torch.full((len(targets), 1), START), torch.from_numpy(ids)], dim=1),
            output,
            int(lengths.sum()) + len(targets),
        )


@dataclass(frozen=True)
class CaptionedAugmentation:
    """Random changes of the pixels, sampled each time an image is seen.

    Attributes:
        flip: mirrors every second image. Not for captions that say "left".
        shift: at most, in pixels, along both sides.
    """

    flip: bool = False
    shift: int = 0

    def apply(self, pixels: Tensor, random: np.random.Generator) -> Tensor:
        """The images (batch 3 height width), each with a shift of its own; edges are repeated."""
        if not (self.flip or self.shift):
            return pixels
        reach = self.shift
        height, width = pixels.shape[2:]
        moved = []
        for picture in pixels:
            down, right = (int(step) for step in random.integers(-reach, reach + 1, 2))
            rows = (torch.arange(height) + down).clamp(0, height - 1)
            columns = (torch.arange(width) + right).clamp(0, width - 1)
            if self.flip and random.random() < 0.5:
                columns = columns.flip(0)
            moved.append(picture[:, rows][:, :, columns])
        return torch.stack(moved)


class CaptionStream(NumberedUpdates[CaptionBatch]):
    """Updates of images with some of their captions; every epoch visits all images in a new order.

    Args:
        update_tokens: target tokens of one update on average, END included.
        micro_tokens: about how many of them a micro-batch holds.
        captions: the maximum per image and epoch; if an image has more, they are sampled each time.
        seed: the seed of orders and samples.
    """

    def __init__(
        self,
        data: CaptionedPictures,
        update_tokens: int,
        micro_tokens: int,
        captions: int,
        seed: int,
        augmentation: CaptionedAugmentation = CaptionedAugmentation(),
    ) -> None:
        self._data, self._captions, self._seed = data, captions, seed
        self._augmentation = augmentation
        seen = sum(min(len(each), captions) for each in data.captions)
        every = sum(map(len, data.captions))
        of_picture = data.tokens * seen / every / len(data)
        self.pictures = max(1, round(update_tokens / of_picture))
        self.micro_batches = max(1, round(update_tokens / micro_tokens))
        super().__init__(
            f"pictures {data.key}, {self.pictures} an update in {self.micro_batches} parts, "
            f"{captions} captions of each, seed {seed}, {augmentation}"
        )
        self._epoch: tuple[int, npt.NDArray[np.int64]] | None = None

    @property
    def epoch_steps(self) -> float:
        return len(self._data) / self.pictures

    def planned(self) -> list[Planned[CaptionBatch]]:
        random = np.random.default_rng((self._seed, 1, self._update))
        first = self._update * self.pictures
        pictures = [self._picture(place) for place in range(first, first + self.pictures)]
        chosen = [(picture, self._draw(picture, random)) for picture in pictures]
        size = -(-len(chosen) // self.micro_batches)
        parts = [chosen[start : start + size] for start in range(0, len(chosen), size)]
        planned = [
            Planned(self._work(part), partial(self._batch, (self._update, number), part))
            for number, part in enumerate(parts)
        ]
        self._update += 1
        return planned

    def _work(self, part: Sequence[tuple[int, Sequence[int]]]) -> int:
        captions = self._data.captions
        targets = sum(len(captions[index][one]) + 1 for index, which in part for one in which)
        return targets + PICTURE_WORK * len(part)

    def _batch(
        self, place: tuple[int, int], part: Sequence[tuple[int, Sequence[int]]]
    ) -> CaptionBatch:
        random = np.random.default_rng((self._seed, 2, *place))
        batch = self._data.batch(part, random)
        return replace(batch, pictures=self._augmentation.apply(batch.pictures, random))

    def _picture(self, place: int) -> int:
        """The image at an index into all epochs one after another."""
        epoch, index = divmod(place, len(self._data))
        if self._epoch is None or self._epoch[0] != epoch:
            random = np.random.default_rng((self._seed, 0, epoch))
            self._epoch = epoch, random.permutation(len(self._data))
        return int(self._epoch[1][index])

    def _draw(self, picture: int, random: np.random.Generator) -> Sequence[int]:
        count = len(self._data.captions[picture])
        if count <= self._captions:
            return range(count)
        return random.choice(count, self._captions, replace=False).tolist()


def padding_of_captions(batches: Sequence[CaptionRows]) -> float:
    """The share of positions that are padding, 0 to 1."""
    real = sum(int(batch.real.sum()) for batch in batches)
    return 1 - real / sum(batch.tokens.numel() for batch in batches)


def every_caption(data: CaptionedPictures, pictures: int) -> list[CaptionBatch]:
    """Every caption once, `pictures` at a time."""
    return [
        data.batch([(row, range(len(data.captions[row]))) for row in rows])
        for start in range(0, len(data), pictures)
        if (rows := range(start, min(start + pictures, len(data))))
    ]
