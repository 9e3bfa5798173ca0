"""Image captioning system."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import torch

from jumok.alignment.extract import cross_attentions
from jumok.alignment.setting import AlignmentSetting
from jumok.alignment.words import merge_words
from jumok.attention.events import emit
from jumok.bundle.reading import Bundle
from jumok.config.captioner import CaptionerConfig, GivenConfig
from jumok.config.vit import VitConfig
from jumok.data.captions.store import InputReader, feature_reader, pixel_reader
from jumok.data.files.images import content_of
from jumok.data.tokenizer import END, START, Tokenizer, normalize, plain_words
from jumok.decoding import DecodingOptions, Hypothesis, decode
from jumok.decoding.native import hypotheses_of
from jumok.decoding.options import FOR_CAPTIONS
from jumok.engine.captioner import native_decoder
from jumok.engine.native import NativeModel
from jumok.errors import DataError, ModelError
from jumok.models.captioner import CaptionerModel as Model
from jumok.models.memory import Memory
from jumok.shapes import Tensor
from jumok.systems.base import FOUND, GIVEN, ROWS, Facts, known_origin
from jumok.systems.caption import Caption, Looks
from jumok.systems.device import EngineName, EnginePrecision, precision_name
from jumok.systems.given import check_pictures, texts_in
from jumok.systems.loading import load_one, load_tokenizer, read_bundles, reading_of
from jumok.systems.native.beside_torch import BesideTorch
from jumok.systems.native.models import choose_engine, engine_serves, lacking, weights_of

FEATURE_AXES = 2  # cells and their width; pixels have three


class Captioner(BesideTorch[NativeModel]):
    """A model with its tokenizer.

    Args:
        model: in evaluation mode.
        reader: makes the model's input from an image file.
        max_tokens: the maximum length of a caption in tokens.
        language: of the captions, such as "en"; "" if it is not known.
        reading: where attention weights are extracted; None for a model with one context vector.
    """

    task = "captioning"

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
                expected=f"{model.decoder.vocabulary_size} subwords",
                got=f"{tokenizer.size} subwords",
            )
        self._model, self.tokenizer, self.reader = model, tokenizer, reader
        self.max_tokens, self.language, self.reading = max_tokens, language, reading

    def answer(self, given: Sequence[str]) -> list[Facts]:
        return [each.facts() for each in self.caption(given)]

    @classmethod
    def load(
        cls,
        *folders: Bundle | Path | str,
        device: str = "auto",
        precision: EnginePrecision = "auto",
        engine: EngineName = "torch",
    ) -> "Captioner":
        """The bundle in this folder; arguments as of `jumok.load`.

        Images are always read by torch, in float32 beside the engine, so the model is there twice.

        Raises:
            BundleError: a bundle is missing, damaged or unsafe, or there are several.
            ConfigError: the device does not exist, or the engine does not serve the decoder.
        """
        bundles = read_bundles(folders, cls.task) if folders else []
        choice = choose_engine(bundles, device, precision, engine)
        bundle, model = load_one(
            bundles, Model, "cpu" if choice.native else device, choice.torch_precision,
            "an image is captioned by one model.",
        )  # fmt: skip
        config = CaptionerConfig.model_validate(bundle.config.model)
        system = cls(
            model,
            load_tokenizer(bundle),
            picture_reader_of(config),
            max_tokens=bundle.config.max_tokens,
            language=bundle.config.target_language,
            reading=reading_of(bundle.config),
        )
        system._precision = choice.precision
        if choice.native:
            system._engine = native_decoder(config, weights_of(model), choice.precision)
        return known_origin(system, [bundle], device=device, precision=precision, engine=engine)

    def search_natively(self, config: CaptionerConfig, dtype: torch.dtype) -> bool:
        """Lets the native engine search, with a copy of the decoder's weights as they are now.

        For a model in memory that is not changed any more. False: the engine does not serve it.
        """
        if lacking(config) or next(self._model.parameters()).device.type != "cpu":
            return False
        self._precision = precision_name(dtype)
        self._engine = native_decoder(config, weights_of(self._model), self._precision)
        return True

    @property
    def model(self) -> Model:
        return self.expose(self._model)

    def _modules(self) -> Sequence[Model]:
        return [self._model]

    @property
    def reads_features(self) -> bool:
        """Whether images are given as features that were computed before."""
        return len(self.reader.shape) == FEATURE_AXES

    def read(self, file: Path) -> Tensor:
        """The model's input from an image file.

        Raises:
            DataError: the file is missing, damaged, or not an image (features: has another shape).
        """
        return torch.from_numpy(self.reader.read(content_of(file), str(file)))

    @torch.inference_mode()
    def caption(
        self,
        pictures: Sequence[Path | str | np.ndarray | Tensor],
        options: DecodingOptions = FOR_CAPTIONS,
        *,
        beam: int | None = None,
        nbest: int | None = None,
        looks: bool = False,
        batch_size: int = 32,
    ) -> list[Caption]:
        """A caption for each image, in order.

        Args:
            pictures: files, or what `read` returns.
            beam, nbest: override the values in `options`.
            looks: also return the attention weights of each word, computed in one more pass.

        Raises:
            DataError: an image cannot be read, or not a list of images.
            ConfigError: options contradict each other.
        """
        check_pictures(pictures)
        options = replace(
            options,
            beam=options.beam if beam is None else beam,
            nbest=options.nbest if nbest is None else nbest,
            maximum_length=min(options.maximum_length, self.max_tokens),
        )
        captions: list[Caption] = []
        emit(self, GIVEN, len(pictures))
        for start in range(0, len(pictures), batch_size):
            batch = [self._input(each) for each in pictures[start : start + batch_size]]
            emit(self, ROWS, range(start, start + len(batch)))
            # Every batch has samples of its own, which are the same whenever it is decoded again.
            captions += self._captions(batch, options.seeded(start), looks)
        return captions

    def caption_files(
        self,
        files: Iterable[Path],
        options: DecodingOptions = FOR_CAPTIONS,
        *,
        looks: bool = False,
        batch_size: int = 32,
    ) -> Iterator[Caption | DataError]:
        """A caption for each file, in order; for a file that is not an image, its error."""
        stream = iter(files)
        done = 0
        while chunk := list(islice(stream, batch_size)):
            read = [self._tried(file) for file in chunk]
            good = [each for each in read if isinstance(each, Tensor)]
            captions = iter(
                self.caption(good, options.seeded(done), looks=looks, batch_size=batch_size)
            )
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

    def _captions(
        self, batch: Sequence[Tensor], options: DecodingOptions, looks: bool
    ) -> Iterator[Caption]:
        memory = self._memory(batch)
        hypotheses = self._search(memory, options)
        emit(self, FOUND, hypotheses)
        written = [(row, each.tokens) for row, of_row in enumerate(hypotheses) for each in of_row]
        maps: Iterator[Looks] | None = None
        if looks and self.reading:
            maps = iter(next(self._looks(memory, written, [self.reading])))
        for of_picture in hypotheses:
            best, *others = [
                self._caption(each, None if maps is None else next(maps)) for each in of_picture
            ]
            yield replace(best, alternatives=tuple(others))

    def _search(self, memory: Memory, options: DecodingOptions) -> list[list[Hypothesis]]:
        searched = (
            engine_serves(options) and not options.coverage_penalty
        )  # which is refused for images
        engine = self.engine if searched else None
        if engine is not None:
            memories = list(memory.states.float().numpy())
            longest = [options.limits.longest_of(len(each)) for each in memories]
            if engine.positions is None or max(longest, default=0) < engine.positions:
                return hypotheses_of([engine], memories, options)
        return decode(self._model.decoder, memory, options)

    def _caption(self, hypothesis: Hypothesis, looks: Looks | None) -> Caption:
        return Caption(
            self._text(hypothesis.tokens),
            hypothesis.score,
            tuple(self.tokenizer.pieces(hypothesis.tokens)),
            hypothesis.token_log_probabilities,
            looks,
        )

    def _text(self, pieces: Sequence[int]) -> str:
        # Bytes may decode to a line break, and a caption is one line.
        return normalize(self.tokenizer.decode(pieces)).strip()

    @torch.inference_mode()
    def look(
        self,
        pictures: Sequence[Path | str | np.ndarray | Tensor],
        texts: Sequence[str],
        *,
        batch_size: int = 32,
    ) -> list[Looks]:
        """The attention weights of given captions over their images, one caption for each image.

        Raises:
            DataError: the numbers of images and captions differ, or an image cannot be read.
            ModelError: the model has one context vector.
        """
        check_pictures(pictures)
        texts = texts_in(texts, "captions")
        if len(pictures) != len(texts):
            raise DataError(
                "every image needs its caption.",
                expected=f"{len(pictures):,} captions",
                got=f"{len(texts):,}",
            )
        if self.reading is None:
            raise ModelError("this model has no attention: it reads the whole image as one vector.")
        return self.look_at([self.reading], pictures, texts, batch_size=batch_size)[0]

    @torch.inference_mode()
    def look_at(
        self,
        readings: Sequence[AlignmentSetting],
        pictures: Sequence[Path | str | np.ndarray | Tensor],
        texts: Sequence[str],
        *,
        batch_size: int = 32,
    ) -> list[list[Looks]]:
        """The same for several alignment settings at once: for each the weights of all captions."""
        check_pictures(pictures)
        texts = texts_in(texts, "captions")
        looks: list[list[Looks]] = [[] for _ in readings]
        emit(self, GIVEN, len(pictures))
        targets = self.tokenizer.encode_batch(texts)
        for start in range(0, len(pictures), batch_size):
            end = start + batch_size
            emit(self, ROWS, range(start, min(end, len(pictures))))
            memory = self._memory([self._input(each) for each in pictures[start:end]])
            batch_looks = self._looks(memory, list(enumerate(targets[start:end])), readings)
            for kept, new in zip(looks, batch_looks, strict=True):
                kept += new
        return looks

    def _memory(self, pictures: Sequence[Tensor]) -> Memory:
        device = next(self._model.parameters()).device
        return self._model.encode(torch.stack(list(pictures)).to(device))

    def _looks(
        self,
        memory: Memory,
        written: Sequence[tuple[int, Sequence[int]]],
        readings: Sequence[AlignmentSetting],
    ) -> Iterator[list[Looks]]:
        """The weights of each text, (row of the memory, its tokens), in one pass over all."""
        longest = max(len(pieces) for _, pieces in written)
        device = memory.states.device
        rows = torch.tensor([row for row, _ in written], device=device)
        tokens = torch.tensor(
            [[START, *pieces, *[END] * (longest - len(pieces))] for _, pieces in written],
            device=device,
        )
        for weights in cross_attentions(self._model, memory.select(rows), tokens, readings):
            yield [
                self._looks_of(seen[: len(pieces)], pieces)
                for seen, (_, pieces) in zip(weights.float().cpu(), written, strict=True)
            ]

    def _looks_of(self, seen: Tensor, pieces: Sequence[int]) -> Looks:
        words, of_piece = self.words_of(pieces)
        if not words:
            return Looks((), seen.new_zeros(0, *self._model.grid))
        cells = range(seen.shape[1])
        merged = torch.from_numpy(merge_words(seen.numpy(), cells, of_piece))
        return Looks(words, merged[:, len(self._model.before) :].unflatten(1, self._model.grid))

    def words_of(self, pieces: Sequence[int]) -> tuple[tuple[str, ...], list[int]]:
        """The words that plain spaces separate, and for each token the index of its word; both are
        empty if tokens and words do not match.
        """
        words = tuple(plain_words(self._text(pieces)))
        of_piece = self.tokenizer.words(pieces)
        if not words or of_piece[-1] + 1 != len(words):
            # Bytes of a line break decode to spaces that no token announces: no map would be right.
            return (), []
        return words, of_piece


def picture_reader_of(config: CaptionerConfig) -> InputReader:
    """The reader of images that the model was trained with."""
    encoder = config.encoder
    if isinstance(encoder, GivenConfig):
        return feature_reader(encoder.rows, encoder.columns, encoder.dim)
    if isinstance(encoder, VitConfig):
        return pixel_reader(encoder.size, encoder.resample, encoder.resized)
    return pixel_reader(encoder.size)
