"""A model as a thing that says what is in a picture."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import torch

from jumok.attention.heard import tell
from jumok.config.captioner import CaptionerConfig, CnnConfig
from jumok.data.images import content_of
from jumok.data.inputs import InputReader, feature_reader, pixel_reader
from jumok.data.tokenizer import END, START, Tokenizer, normalize
from jumok.decoding import DecodingOptions, Hypothesis, decode
from jumok.errors import DataError, ModelError
from jumok.inspection.alignment import AlignmentSetting, cross_attentions, merge_words
from jumok.models.captioner import CaptionerModel as Model
from jumok.models.memory import Memory
from jumok.shapes import Tensor
from jumok.systems.base import FOUND, GIVEN, ROWS, Shown, System, at_work, loaded_from
from jumok.systems.caption import Caption, Looks
from jumok.systems.device import PrecisionName
from jumok.systems.given import pictures_in, texts_in
from jumok.systems.loading import load_one, load_tokenizer, reading_of
from jumok.systems.segments import plain_words

DEFAULTS = DecodingOptions()
FEATURE_AXES = 2  # cells and their width; pixels have three


class Captioner(System):
    """A model with its tokenizer.

    Args:
        model: in evaluation mode.
        reader: makes of a picture's file what the model reads.
        max_tokens: pieces of the longest caption that is written.
        language: of the captions, such as "en"; "" where nobody said.
        reading: where the decoder's looks are read; None for a model that has one vector.
    """

    task = "captioning"
    model: Shown[Model] = Shown()

    def __init__(
        self,
        model: Model,
        tokenizer: Tokenizer,
        reader: InputReader,
        *,
        max_tokens: int,
        language: str = "",
        reading: AlignmentSetting | None = None,
    ) -> None:
        if model.decoder.vocabulary_size != tokenizer.size:
            raise ModelError(
                "the tokenizer is not this model's.",
                expected=f"{model.decoder.vocabulary_size} pieces",
                got=f"{tokenizer.size} pieces",
            )
        self.model, self.tokenizer, self.reader = model, tokenizer, reader
        self.max_tokens, self.language, self.reading = max_tokens, language, reading

    @classmethod
    def load(
        cls, *folders: Path | str, device: str = "auto", precision: PrecisionName = "fp32"
    ) -> "Captioner":
        """The bundle in this folder.

        Raises:
            BundleError: a bundle that is missing, damaged or unsafe, or several of them.
            ConfigError: no such device.
        """
        bundle, model = load_one(
            folders, Model, device, precision, "a picture is captioned by one model."
        )
        config = CaptionerConfig.model_validate(bundle.config.model)
        system = cls(
            model,
            load_tokenizer(bundle),
            reader_of(config),
            max_tokens=bundle.config.max_tokens,
            language=bundle.config.target_language,
            reading=reading_of(bundle.config),
        )
        return loaded_from(system, [bundle])

    def modules(self) -> Sequence[Model]:
        return [self.model]

    @property
    def reads_features(self) -> bool:
        """Whether pictures are given as features that somebody computed before."""
        return len(self.reader.shape) == FEATURE_AXES

    def read(self, file: Path) -> Tensor:
        """What the model reads of a picture's file.

        Raises:
            DataError: a file that is missing, damaged, or not a picture (features: of another
                shape).
        """
        return torch.from_numpy(self.reader.read(content_of(file), str(file)))

    @at_work
    def caption(
        self,
        pictures: Sequence[Path | str | np.ndarray | Tensor],
        options: DecodingOptions = DEFAULTS,
        *,
        beam: int | None = None,
        nbest: int | None = None,
        looks: bool = False,
        batch_size: int = 32,
    ) -> list[Caption]:
        """A caption for each picture, in order.

        Args:
            pictures: files, or what `read` gives.
            options: everything about decoding.
            beam, nbest: changed in `options` where given.
            looks: read where the decoder looked for each word, in one more pass.
            batch_size: pictures that are done together.

        Raises:
            DataError: a picture that cannot be read, or one picture instead of a list of them.
            ConfigError: options that contradict each other.
        """
        pictures_in(pictures)
        options = replace(
            options,
            beam=options.beam if beam is None else beam,
            nbest=options.nbest if nbest is None else nbest,
            maximum_length=min(options.maximum_length, self.max_tokens),
        )
        captions: list[Caption] = []
        tell(self, GIVEN, len(pictures))
        for start in range(0, len(pictures), batch_size):
            batch = [self._input(each) for each in pictures[start : start + batch_size]]
            tell(self, ROWS, range(start, start + len(batch)))
            # Every batch draws its own samples, and the same ones whenever it comes again.
            captions += self._captions(batch, replace(options, seed=options.seed + start), looks)
        return captions

    def caption_files(
        self,
        files: Iterable[Path],
        options: DecodingOptions = DEFAULTS,
        *,
        looks: bool = False,
        batch_size: int = 32,
    ) -> Iterator[Caption | DataError]:
        """A caption for each file, in order; for one that is no picture, what is wrong with it."""
        stream = iter(files)
        done = 0
        while chunk := list(islice(stream, batch_size)):
            read = [self._tried(file) for file in chunk]
            good = [each for each in read if isinstance(each, Tensor)]
            seeded = replace(options, seed=options.seed + done)
            captions = iter(self.caption(good, seeded, looks=looks, batch_size=batch_size))
            for each in read:
                yield next(captions) if isinstance(each, Tensor) else each
            done += len(chunk)

    def _tried(self, file: Path) -> Tensor | DataError:
        try:
            return self.read(file)
        except DataError as error:
            return error

    def _input(self, picture: Path | str | np.ndarray | Tensor) -> Tensor:
        if isinstance(picture, Path | str):
            return self.read(Path(picture))
        return torch.from_numpy(picture) if isinstance(picture, np.ndarray) else picture

    @torch.inference_mode()
    def _captions(
        self, batch: Sequence[Tensor], options: DecodingOptions, looks: bool
    ) -> Iterator[Caption]:
        memory = self._memory(batch)
        hypotheses = decode(self.model.decoder, memory, options)
        tell(self, FOUND, hypotheses)
        written = [(row, each.tokens) for row, of_row in enumerate(hypotheses) for each in of_row]
        maps: Iterator[Looks] | None = None
        if looks and self.reading:
            maps = iter(next(self._looks(memory, written, [self.reading])))
        for of_picture in hypotheses:
            best, *others = [
                self._caption(each, None if maps is None else next(maps)) for each in of_picture
            ]
            yield replace(best, alternatives=tuple(others))

    def _caption(self, hypothesis: Hypothesis, looks: Looks | None) -> Caption:
        return Caption(
            self._text(hypothesis.tokens),
            hypothesis.score,
            tuple(self.tokenizer.pieces(hypothesis.tokens)),
            hypothesis.token_log_probabilities,
            looks,
        )

    def _text(self, pieces: Sequence[int]) -> str:
        # Bytes may spell a line break, and a caption is one line.
        return normalize(self.tokenizer.decode(pieces)).strip()

    @at_work
    @torch.inference_mode()
    def look(
        self,
        pictures: Sequence[Path | str | np.ndarray | Tensor],
        texts: Sequence[str],
        *,
        batch_size: int = 32,
    ) -> list[Looks]:
        """Where the decoder looks when it is made to write these captions, one for each picture.

        Raises:
            DataError: more of one than of the other, or a picture that cannot be read.
            ModelError: the model has one vector to look at.
        """
        pictures_in(pictures)
        texts = texts_in(texts, "captions")
        if len(pictures) != len(texts):
            raise DataError(
                "every picture needs its caption.",
                expected=f"{len(pictures):,} captions",
                got=f"{len(texts):,}",
            )
        if self.reading is None:
            raise ModelError("this model does not look: it has one vector of the whole picture.")
        return self.look_at([self.reading], pictures, texts, batch_size=batch_size)[0]

    @at_work
    @torch.inference_mode()
    def look_at(
        self,
        readings: Sequence[AlignmentSetting],
        pictures: Sequence[Path | str | np.ndarray | Tensor],
        texts: Sequence[str],
        *,
        batch_size: int = 32,
    ) -> list[list[Looks]]:
        """The same read in several places at once: for each reading the looks of all captions."""
        pictures_in(pictures)
        texts = texts_in(texts, "captions")
        looks: list[list[Looks]] = [[] for _ in readings]
        tell(self, GIVEN, len(pictures))
        targets = self.tokenizer.encode_batch(texts)
        for start in range(0, len(pictures), batch_size):
            end = start + batch_size
            tell(self, ROWS, range(start, min(end, len(pictures))))
            memory = self._memory([self._input(each) for each in pictures[start:end]])
            found = self._looks(memory, list(enumerate(targets[start:end])), readings)
            for kept, new in zip(looks, found, strict=True):
                kept += new
        return looks

    def _memory(self, pictures: Sequence[Tensor]) -> Memory:
        device = next(self.model.parameters()).device
        return self.model.encode(torch.stack(list(pictures)).to(device))

    def _looks(
        self,
        memory: Memory,
        written: Sequence[tuple[int, Sequence[int]]],
        readings: Sequence[AlignmentSetting],
    ) -> Iterator[list[Looks]]:
        """Where each text looked, in one pass over all: (row of the memory, its pieces)."""
        longest = max(len(pieces) for _, pieces in written)
        device = memory.states.device
        rows = torch.tensor([row for row, _ in written], device=device)
        tokens = torch.tensor(
            [[START, *pieces, *[END] * (longest - len(pieces))] for _, pieces in written],
            device=device,
        )
        for weights in cross_attentions(self.model, memory.select(rows), tokens, readings):
            yield [
                self._looks_of(seen[: len(pieces)], pieces)
                for seen, (_, pieces) in zip(weights.float().cpu(), written, strict=True)
            ]

    def _looks_of(self, seen: Tensor, pieces: Sequence[int]) -> Looks:
        words, of_piece = self.words_of(pieces)
        if not words:
            return Looks((), seen.new_zeros(0, *self.model.grid))
        cells = range(seen.shape[1])
        return Looks(words, merge_words(seen, cells, of_piece).unflatten(1, self.model.grid))

    def words_of(self, pieces: Sequence[int]) -> tuple[tuple[str, ...], list[int]]:
        """The words that plain spaces separate, and for each piece the number of its word.

        Both are empty where pieces and words do not go together.
        """
        words = tuple(plain_words(self._text(pieces)))
        of_piece = self.tokenizer.words(pieces)
        if not words or of_piece[-1] + 1 != len(words):
            # Bytes of a line break decode to spaces that no piece announces: no map is honest.
            return (), []
        return words, of_piece


def reader_of(config: CaptionerConfig) -> InputReader:
    """How the model wants pictures."""
    encoder = config.encoder
    if isinstance(encoder, CnnConfig):
        return pixel_reader(encoder.size)
    return feature_reader(encoder.rows, encoder.columns, encoder.dim)
