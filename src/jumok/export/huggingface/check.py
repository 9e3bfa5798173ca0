"""An exported folder in transformers beside the model: the same ids, numbers and outputs."""

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

from jumok.bundle.reading import Bundle
from jumok.data.pictures.batches import as_tensor
from jumok.data.special_tokens import END, START
from jumok.errors import BundleError, Location
from jumok.export.comparing import LINES, LONGEST_INPUT, GreedyWriter, Rows, compare_written
from jumok.export.format import ExportOptions
from jumok.export.huggingface.tokenizer_files import tokenizer_of
from jumok.export.rows import ExportedRows
from jumok.interop.checking import LARGEST_DIFFERENCE, TEXTS, image_shape, random_images
from jumok.models.captioner import CaptionerModel
from jumok.models.causal import CausalLanguageModel
from jumok.models.classifier import TextClassifier
from jumok.models.encoder_decoder import Transformer
from jumok.models.image_classifier import ImageClassifier
from jumok.models.masked import MaskedLanguageModel, MissingHead
from jumok.models.memory import SequenceToSequence

ROUNDED = 0.05
"""As `LARGEST_DIFFERENCE`, of weights in bfloat16."""


def compared(
    bundle: Bundle,
    model: nn.Module,
    rows: ExportedRows,
    written: tuple[Path, str],
    options: ExportOptions,
) -> str:
    """What was compared, in words; "" without transformers.

    Args:
        written: the folder, and the class of transformers that loads it.

    Raises:
        BundleError: ids, numbers or outputs differ.
    """
    if importlib.util.find_spec("transformers") is None:
        return ""
    import transformers

    folder, auto = written
    transformers.logging.disable_progress_bar()
    transformers.logging.set_verbosity_error()
    theirs = getattr(transformers, auto).from_pretrained(
        folder, local_files_only=True, dtype=torch.float32
    )
    bound = ROUNDED if options.precision == "bf16" else LARGEST_DIFFERENCE
    both = _Both(model.eval(), theirs.eval(), rows, folder, bound)
    if isinstance(model, ImageClassifier | CaptionerModel):
        return _compared_images(both, bundle, options)
    return _compared_texts(both, bundle, options)


def _compared_texts(both: "_Both", bundle: Bundle, options: ExportOptions) -> str:
    reads = isinstance(both.mine, MaskedLanguageModel | TextClassifier)
    writer, outputs = GreedyWriter(bundle), ""
    tokenizer, cuts = tokenizer_of(bundle) if reads else writer.tokenizer, both.tokenizer()
    texts = list(dict.fromkeys((*options.examples, *TEXTS)))[:LINES]
    most = min(LONGEST_INPUT, bundle.config.max_tokens // 2)
    for text in texts:
        ids = tokenizer.encode(text)
        both.compare_ids(both.read(ids), list(cuts(text)["input_ids"]), text)
        both.compare_numbers(both.read(ids[:most]))
    if options.precision == "fp32" and not reads:
        inputs = writer.inputs(options.examples)
        given = [torch.tensor([both.there(both.read(ids))]) for ids in inputs]
        found = [both.written(each, writer)[len(writer.opening) :] for each in given]
        outputs = f"; {compare_written(writer, inputs, found, 'transformers')}"
    return f"{len(texts)} inputs in transformers: equal ids, {both.words()}{outputs}"


@torch.inference_mode()
def _compared_images(both: "_Both", bundle: Bundle, options: ExportOptions) -> str:
    """Images as both read them, and captions."""
    import transformers

    reads = transformers.AutoImageProcessor.from_pretrained(both.folder, local_files_only=True)
    shape, model = image_shape(bundle.section), both.mine
    images = list(random_images(LINES))
    pixels = [as_tensor(shape.fit(image)[None]) for image in images]
    given = [reads(image, return_tensors="pt")["pixel_values"] for image in images]
    if not isinstance(model, CaptionerModel):
        for mine, other in zip(pixels, given, strict=True):
            both.compare(model(mine), both.theirs(other).logits)
        return f"{LINES} images in transformers: {both.words()}"
    tokenizer, cuts, outputs = tokenizer_of(bundle), both.tokenizer(), ""
    writer = GreedyWriter(bundle)
    for mine, other, text in zip(pixels, given, TEXTS, strict=True):
        ids = tokenizer.encode(text)
        both.compare_ids([*ids, END], list(cuts(text)["input_ids"]), text)
        read = [START, *ids[: writer.longest]]
        logits = model.decoder(model.encode(mine), torch.tensor([read]))
        expected = both.theirs(other, decoder_input_ids=torch.tensor([both.there(read)])).logits
        both.compare(logits[..., both.rows.kept()], expected)
    if options.precision == "fp32":
        found = [both.written(each, writer) for each in given]
        inputs = cast(Rows, [each[0] for each in pixels])  # images in the place of rows of ids
        outputs = f"; {compare_written(writer, inputs, found, 'transformers')}"
    return f"{LINES} images in transformers: equal ids of captions, {both.words()}{outputs}"


@dataclass
class _Both:
    """The two models; ids are ours.

    Attributes:
        bound: how far numbers may differ, as a share of the largest one (at least 1).
        size, difference: the largest number, and the largest difference so far.
    """

    mine: nn.Module
    theirs: Any
    rows: ExportedRows
    folder: Path
    bound: float
    size: float = 0.0
    difference: float = 0.0

    def tokenizer(self) -> Any:
        """Theirs."""
        import transformers

        return transformers.AutoTokenizer.from_pretrained(self.folder, local_files_only=True)

    def words(self) -> str:
        """How far numbers differ."""
        return f"numbers up to {self.size:.3g} that differ by {self.difference:.1e} at most"

    def read(self, ids: Sequence[int]) -> list[int]:
        """With the tokens around a text."""
        start = [] if isinstance(self.mine, Transformer) else [START]
        ends = getattr(self.mine, "source_end", not isinstance(self.mine, CausalLanguageModel))
        return [*start, *ids, *([END] if ends else [])]

    def compare_ids(self, read: Sequence[int], found: Sequence[int], text: str) -> None:
        expected = self.there(read)
        if found != expected:
            self._differs("cuts a text otherwise", str(expected), f"{found}: {text}")

    @torch.inference_mode()
    def compare_numbers(self, read: Sequence[int]) -> None:
        self.compare(self._numbers(read), self._their_numbers(self.there(read)))

    def compare(self, mine: Tensor, theirs: Tensor) -> None:
        """Raises a BundleError if numbers differ."""
        self.size = max(self.size, float(mine.abs().max()))
        self.difference = max(self.difference, float((mine - theirs).abs().max()))
        most = self.bound * max(1.0, self.size)
        if not self.difference <= most:
            self._differs("computes other numbers", f"at most {most:.1e}", f"{self.difference:.1e}")

    @torch.inference_mode()
    def written(self, given: Tensor, writer: GreedyWriter) -> list[int]:
        """What transformers writes greedily for an input of its own, without the end."""
        found = self.theirs.generate(
            given, do_sample=False, num_beams=1, max_new_tokens=writer.longest
        )[0].tolist()
        found = found[1 if isinstance(self.mine, SequenceToSequence) else given.shape[1] :]
        kept, end = self.rows.kept(), self.rows.order[END]
        return [kept[row] for row in (found[: found.index(end)] if end in found else found)]

    def there(self, ids: Sequence[int]) -> list[int]:
        """Their ids."""
        return [self.rows.order[id] for id in ids]

    def _numbers(self, read: Sequence[int]) -> Tensor:
        """Ours, in the order of the rows there."""
        ids, kept = torch.tensor([read]), self.rows.kept()
        match self.mine:
            case Transformer():
                start = torch.tensor([[START, *read[:-1]]])
                if not self.mine.source_end:  # the model reads none, but expects one
                    ids = torch.tensor([[*read, END]])
                return self.mine.decoder(self.mine.encode(ids), start)[..., kept]
            case CausalLanguageModel():
                return self.mine.decoder.logits(self.mine.hidden(ids))[..., kept]
            case MaskedLanguageModel(head=MissingHead()):
                return self.mine.encoder(ids)
            case TextClassifier():
                return self.mine.logits(self.mine.encoder(ids), None)
        logits: Tensor = self.mine(ids)
        return logits[..., kept]

    def _their_numbers(self, read: list[int]) -> Tensor:
        ids = torch.tensor([read])
        if isinstance(self.mine, Transformer):
            start = torch.tensor([[self.rows.order[START], *read[:-1]]])
            logits: Tensor = self.theirs(ids, decoder_input_ids=start).logits
            return logits
        output = self.theirs(ids)
        numbers: Tensor = output.logits if "logits" in output else output.last_hidden_state
        return numbers

    def _differs(self, what: str, expected: str, got: str) -> None:
        raise BundleError(
            f"the exported model {what} in transformers: nothing was written.",
            expected=expected,
            got=got,
            do="report it, with the model's config.json",
            place=Location(self.folder),
        )
