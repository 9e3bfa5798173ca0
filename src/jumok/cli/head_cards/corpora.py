"""Corpora of `jumok heads`: pairs, texts, captioned images, or labelled images."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from jumok.cli.columns import linked_pairs_of, named_columns
from jumok.cli.options import DATA, GOLD, GOLD_COLUMNS, IMAGES, LARGEST_COUNT
from jumok.cli.output.streams import input_lines
from jumok.cli.screen import counted
from jumok.errors import ConfigError
from jumok.kinds import KINDS
from jumok.options import option

if TYPE_CHECKING:
    from jumok.evaluation.alignment_settings import AlignedPair
    from jumok.evaluation.heads.pictures import LabelledPicture
    from jumok.evaluation.heads.texts import TextSystem
    from jumok.inspection.heads.cards import AnyHeadCard
    from jumok.inspection.page.cards_page import ExampleUnit
    from jumok.systems.captioner import Captioner
    from jumok.systems.image_classifier import ImageClassification
    from jumok.systems.translation.translator import Translator


@dataclass(frozen=True)
class CorpusArgs:
    """The options that name the corpus.

    Attributes:
        task: the task of the models.
    """

    source: Path | None = option(None, "Text file, one sentence per line.", "--source", "-s")
    target: Path | None = option(None, "Translation of --source, line-aligned.", "--target", "-t")
    data: Path | None = option(None, DATA, "--data", "-d")
    images: Path | None = option(None, IMAGES)
    columns: str | None = option(None, GOLD_COLUMNS)
    gold: Path | None = option(None, GOLD)
    most: int | None = option(
        None,
        "Use only the first N sentence pairs, texts or images.",
        "--sentences",
        minimum=1,
        maximum=LARGEST_COUNT,
        metavar="N",
    )
    task: str = ""

    def one_file(self, expected: str) -> Path:
        """The one file of --data or --source; errors name the `expected` option.

        Raises:
            ConfigError: no file, or more than one.
        """
        file = self.data or self.source
        if file is None or self.target or self.gold or (self.data and self.source):
            raise ConfigError(
                "head cards of this kind of model need one file.",
                expected=expected,
                got=self.task,
            )
        return file

    def refuse(self, *names: str) -> None:
        """Raises ConfigError if an option is given that this kind of model does not read."""
        for name in names:
            if getattr(self, name) is not None:
                raise ConfigError(
                    f"--{name} has no effect for this kind of model.",
                    got=self.task,
                    do="leave it out",
                )


@runtime_checkable  # the tests check annotations while they run
class HeadCorpus(Protocol):
    """A corpus over which head cards are computed.

    Attributes:
        title: its name on the page of cards.
        unit: what `count` counts.
    """

    title: str
    unit: "ExampleUnit"

    def cards(self, system: Any, batch: int) -> "list[AnyHeadCard]":
        """A card for each head of the loaded model."""
        ...

    def count(self) -> int:
        """The number of examples that the cards are computed over."""
        ...


class PairsCorpus:
    """Texts and their translations, with gold links if there are any."""

    unit: "ExampleUnit" = "sentences"

    def __init__(self, given: CorpusArgs) -> None:
        given.refuse("images")
        self._given = given
        columns = named_columns(given.data, given.columns, None, None) or "0,1"
        self._corpus, self._links = linked_pairs_of(
            given.source, given.target, given.data, columns, given.gold
        )
        self.title = self._corpus.title

    def pairs(self) -> "Iterator[AlignedPair]":
        """The pairs, from the beginning."""
        from jumok.evaluation.alignment_settings import read_aligned

        return islice(
            read_aligned(self._corpus, self._given.gold, self._links),
            self._given.most,
        )

    def cards(self, system: "Translator", batch: int) -> "list[AnyHeadCard]":
        from jumok.evaluation.heads.pairs import head_cards_over

        return head_cards_over(system, lambda: counted(self.pairs()), batch)

    def count(self) -> int:
        return sum(1 for _ in self.pairs())


class TextsCorpus:
    """Single texts, one a line."""

    unit: "ExampleUnit" = "sentences"

    def __init__(self, given: CorpusArgs) -> None:
        given.refuse("images", "columns")
        self._file, self._most = given.one_file("--data FILE, one text per line"), given.most
        self.title = self._file.name

    def _texts(self) -> Iterator[str]:
        return islice(input_lines(self._file), self._most)

    def cards(self, system: "TextSystem", batch: int) -> "list[AnyHeadCard]":
        from jumok.evaluation.heads.texts import text_head_cards_over

        return text_head_cards_over(system, lambda: counted(self._texts()), batch)

    def count(self) -> int:
        return sum(1 for _ in self._texts())


class CaptionsCorpus:
    """Images with reference captions; gold boxes may be next to them."""

    unit: "ExampleUnit" = "pictures"

    def __init__(self, given: CorpusArgs) -> None:
        from jumok.cli.evaluation.images import images_of

        self._most = given.most
        self._table = given.one_file("--data FILE, a table of captions")
        self._images = images_of(given.images, self._table, "jumok heads MODEL")
        self._columns = given.columns or KINDS[given.task].columns
        self.title = self._table.name
        self._looked_at = 0

    def cards(self, system: "Captioner", batch: int) -> "list[AnyHeadCard]":
        from jumok.cli.evaluation.images import gold_boxes, read_captioned
        from jumok.evaluation.heads.pictures import PictureCorpus, caption_head_cards_over

        files, captioned = read_captioned(self._table, self._images, self._columns, system)
        captioned = captioned[: self._most]
        self._looked_at = len(captioned)
        gold = gold_boxes(self._table, captioned, system)
        pictures = PictureCorpus(lambda: counted(captioned), files, gold)
        return caption_head_cards_over(system, pictures, batch)

    def count(self) -> int:
        return self._looked_at


class LabelsCorpus:
    """Images with labels, as for `jumok evaluate`."""

    unit: "ExampleUnit" = "pictures"

    def __init__(self, given: CorpusArgs) -> None:
        given.refuse("images", "columns")
        from jumok.cli.evaluation.images import source_of

        self._source = source_of(given.one_file("--data FOLDER or FILE, images with labels"))
        self._most = given.most
        self.title = self._source.title
        self._looked_at = 0

    def cards(self, system: "ImageClassification", batch: int) -> "list[AnyHeadCard]":
        self._looked_at = 0
        from jumok.cli.evaluation.images import labelled_pictures
        from jumok.evaluation.heads.pictures import picture_head_cards_over

        return picture_head_cards_over(
            system,
            self._noted(
                labelled_pictures(system, counted(islice(self._source.read(), self._most)))
            ),
            batch,
        )

    def _noted(self, pictures: "Iterable[LabelledPicture]") -> "Iterator[LabelledPicture]":
        for picture in pictures:
            self._looked_at += 1
            yield picture

    def count(self) -> int:
        return self._looked_at
