"""What lxml and translate-toolkit, which have no types of their own, give for parts of a file."""

from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from typing import Protocol, runtime_checkable


@runtime_checkable  # the tests check annotations while they run
class XmlElement(Protocol):
    """An element of an XML file, as lxml reads it; its children are elements and comments.

    Attributes:
        tag: the name, with the namespace in braces; a function where this is a comment or an
            instruction.
        text: what comes before the first child; None where nothing does.
        tail: what follows the element, up to the next one.
        attrib: the attributes by their names.
        sourceline: its line in the file, from 1.
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

    def get(self, name: str) -> str | None:
        """An attribute."""
        ...

    def set(self, name: str, value: str) -> None:
        """Sets an attribute."""
        ...

    def find(self, path: str) -> "XmlElement | None":
        """The first match among the children."""
        ...

    def findall(self, path: str) -> "list[XmlElement]":
        """All matches among the children."""
        ...

    def iterfind(self, path: str) -> "Iterator[XmlElement]":
        """All matches among the children, one by one."""
        ...

    def iter(self, tag: str) -> "Iterator[XmlElement]":
        """The element itself and everything below it that has this tag."""
        ...

    def getparent(self) -> "XmlElement | None":
        """The element that it is in; None of the root."""
        ...

    def index(self, child: "XmlElement") -> int:
        """The place of a child."""
        ...

    def insert(self, index: int, element: "XmlElement") -> None:
        """Puts an element before the child at `index`."""
        ...

    def append(self, element: "XmlElement") -> None:
        """Puts an element after the last child."""
        ...

    def extend(self, elements: "Iterable[XmlElement]") -> None:
        """Puts elements after the last child."""
        ...

    def remove(self, element: "XmlElement") -> None:
        """Removes a child, and its tail."""
        ...

    def makeelement(self, tag: str, attributes: Mapping[str, str] | None = None) -> "XmlElement":
        """A new element, in no file."""
        ...


@runtime_checkable
class PoUnit(Protocol):
    """An entry of a PO file, as translate-toolkit reads it.

    Attributes:
        source, target: msgid and msgstr: strings with their plural forms.
        line_number: its line in the file, from 1.
    """

    target: str

    @property
    def source(self) -> str: ...

    @property
    def line_number(self) -> int: ...

    def isheader(self) -> bool: ...

    def isobsolete(self) -> bool: ...

    def isfuzzy(self) -> bool: ...

    def istranslated(self) -> bool: ...

    def markfuzzy(self) -> None: ...
