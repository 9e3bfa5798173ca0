"""The untyped objects of lxml and translate-toolkit, as protocols."""

from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from typing import Protocol, runtime_checkable


@runtime_checkable  # the tests check annotations while they run
class XmlElement(Protocol):
    """An element of an XML file; its children are elements and comments.

    Attributes:
        tag: the name, with the namespace in braces; a function where this is a comment or an
            instruction.
        tail: the text behind the element, up to the next one.
        sourceline: from 1.
    """

    text: str | None
    tail: str | None

    @property
    def tag(self) -> object: ...

    @property
    def attrib(self) -> MutableMapping[str, str]: ...

    @property
    def sourceline(self) -> int: ...

    def __iter__(self) -> "Iterator[XmlElement]": ...

    def __reversed__(self) -> "Iterator[XmlElement]": ...

    def __len__(self) -> int: ...

    def get(self, name: str) -> str | None: ...

    def set(self, name: str, value: str) -> None: ...

    def find(self, path: str) -> "XmlElement | None": ...

    def findall(self, path: str) -> "list[XmlElement]": ...

    def iterfind(self, path: str) -> "Iterator[XmlElement]": ...

    def iter(self, tag: str) -> "Iterator[XmlElement]": ...

    def addprevious(self, element: "XmlElement") -> None: ...

    def getparent(self) -> "XmlElement | None": ...

    def index(self, child: "XmlElement") -> int: ...

    def insert(self, index: int, element: "XmlElement") -> None: ...

    def append(self, element: "XmlElement") -> None: ...

    def extend(self, elements: "Iterable[XmlElement]") -> None: ...

    def clear(self) -> None: ...

    def remove(self, element: "XmlElement") -> None:
        """Removes a child, and its tail."""
        ...

    def makeelement(
        self, tag: str, attributes: Mapping[str, str] | None = None
    ) -> "XmlElement": ...


@runtime_checkable
class PoText(Protocol):
    """A text of an entry, with its plural forms."""

    @property
    def strings(self) -> "Sequence[str]": ...


@runtime_checkable
class PoUnit(Protocol):
    """An entry of a PO file; its line is from 1."""

    target: str

    @property
    def source(self) -> PoText: ...

    @property
    def line_number(self) -> int: ...

    @property
    def typecomments(self) -> "Sequence[str]":
        """The lines with flags: #, c-format."""
        ...

    def hasplural(self) -> bool: ...

    def isheader(self) -> bool: ...

    def isobsolete(self) -> bool: ...

    def isfuzzy(self) -> bool: ...

    def istranslated(self) -> bool: ...

    def markfuzzy(self) -> None: ...


@runtime_checkable
class PoStore(Protocol):
    """A PO file."""

    units: "Sequence[PoUnit]"

    def getheaderplural(self) -> "Sequence[str | None]":
        """The number of plural forms, and the formula that chooses one."""
        ...

    def __bytes__(self) -> bytes: ...
