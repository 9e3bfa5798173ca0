"""Options that name columns of a table, and pairs of texts."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from jumok.data.report import UTF8
from jumok.errors import ConfigError

if TYPE_CHECKING:
    from jumok.data.files.tables import Column
    from jumok.data.pairs.corpus import Corpus

COLUMN_DIGITS = 9


def as_column(name: str) -> "Column":
    """A column by its name, or by its number if `name` consists of digits."""
    name = name.strip()
    return int(name) if name.isdecimal() and len(name) <= COLUMN_DIGITS else name


def two_columns(named: str, sides: str, names: str) -> "tuple[Column, Column]":
    """The two columns that --columns names.

    Args:
        sides: what they hold, for the error: "the text's and the label's".
        names: an example, for the error: "text,label".

    Raises:
        ConfigError: --columns does not name two columns.
    """
    columns = named.split(",")
    if len(columns) != 2:
        raise ConfigError(
            f"--columns takes two column names or numbers: {sides}.",
            expected=f"for example --columns 0,1 or --columns {names}",
            got=named,
        )
    return as_column(columns[0]), as_column(columns[1])


@runtime_checkable  # the tests check annotations while they run
class LanguageFiles(Protocol):
    """Options of a command whose --from and --to name languages of the model; without --columns
    they name columns of --data, too.
    """

    @property
    def data(self) -> Path | None: ...
    @property
    def columns(self) -> str | None: ...
    @property
    def from_(self) -> str | None: ...
    @property
    def to(self) -> str | None: ...


def columns_beside(files: LanguageFiles) -> str | None:
    """As `named_columns` for such options."""
    if files.data is None and files.columns:
        return named_columns(None, files.columns, None, None)
    if files.data is None or files.columns:
        return files.columns or None
    return named_columns(files.data, None, files.from_, files.to)


def of_languages(system: Any, files: LanguageFiles) -> Any:
    """The system for these languages, which of one with one pair may be names of columns alone."""
    if files.data is not None and not files.columns and len(getattr(system, "pairs", ())) < 2:
        return system
    from jumok.systems.catalog import for_languages

    return for_languages(system, files.from_, files.to)


def named_columns(
    data: Path | None, columns: str | None, source: str | None, target: str | None
) -> str | None:
    """The value of --columns, or of --from and --to as "from,to"; None without any of them.

    Raises:
        ConfigError: only one of --from and --to, both ways at once, or no --data.
    """
    if data is None and (columns, source, target) != (None, None, None):
        raise ConfigError(
            "--columns, --from and --to need --data.", do="give --data, or leave them out"
        )
    if (source is None) != (target is None):
        raise ConfigError("--from and --to go together.", do="give both: --from en --to fr")
    if columns is not None and source is not None:
        raise ConfigError(
            "--columns cannot be combined with --from and --to: both name columns of --data.",
            do="give --columns alone, or --from and --to",
        )
    return columns if source is None else f"{source},{target}"


def pairs_of(
    source: Path | None,
    target: Path | None,
    data: Path | None,
    columns: str,
    target_option: str = "--target",
    *,
    encoding: str = UTF8,
    delimiter: str = "",
) -> "Corpus":
    """Pairs of texts: two files, or two columns of one.

    Args:
        target_option: the option that names the translation, for the error.

    Raises:
        ConfigError: a side is missing, or named twice.
    """
    files = source is not None and target is not None
    if files == (data is not None) or (source is None) != (target is None):
        raise ConfigError(
            "a text and its translation are needed.",
            do=f"--source FILE {target_option} FILE, or --data FILE.tmx --from en --to fr",
        )
    from jumok.data.pairs.corpus import Corpus

    if data is None:
        return Corpus(source=source, target=target, encoding=encoding)
    first, second = two_columns(columns, "the text's and its translation's", "en,ko")
    return Corpus(
        file=data,
        source_column=first,
        target_column=second,
        encoding=encoding,
        delimiter=delimiter,
    )


def linked_pairs_of(
    source: Path | None, target: Path | None, data: Path | None, columns: str, gold: Path | None
) -> "tuple[Corpus, Column | None]":
    """The pairs of `pairs_of`, and the column of gold links if --columns names a third.

    Raises:
        ConfigError: as `pairs_of`; or gold links are named twice.
    """
    links = ""
    if data is not None and columns.count(",") == 2:
        columns, _, links = columns.rpartition(",")
    if links and gold is not None:
        raise ConfigError(
            "gold links are named twice: by the third column of --columns and by --gold.",
            do="leave out the third column, or --gold",
        )
    return pairs_of(source, target, data, columns), as_column(links) if links else None
