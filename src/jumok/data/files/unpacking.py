"""Compressed files: how much they may unpack to, and the members of zip archives."""

import zipfile

ALWAYS_UNPACKED = 64 << 20
MOST_UNPACKED = 100
"""A file may unpack to this many times its size, and ALWAYS_UNPACKED bytes more: a trace in which
almost all is masked is 20 times its file, a Word document about as much."""

BLOCK = 1 << 16
"""The most bytes of a member that are unpacked at once."""

READABLE = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
ENCRYPTED = 1


def most_unpacked(packed: int) -> int:
    """The most bytes that a file of so many bytes may unpack to."""
    return ALWAYS_UNPACKED + MOST_UNPACKED * packed


def check_members(archive: zipfile.ZipFile, packed: int) -> None:
    """Checks what an archive of so many bytes says of its members, before any is unpacked.

    Raises:
        ValueError: one is encrypted or in another compression, or together they are too large.
    """
    for member in archive.infolist():
        if member.flag_bits & ENCRYPTED or member.compress_type not in READABLE:
            raise ValueError(f"{member.filename} is encrypted, or in an unusual compression")
    unpacked = sum(member.file_size for member in archive.infolist())
    if unpacked > most_unpacked(packed):
        raise ValueError(
            f"it unpacks to {unpacked:,} bytes, and to at most {most_unpacked(packed):,} it may"
        )


def unpacked(archive: zipfile.ZipFile, member: zipfile.ZipInfo | str) -> bytes:
    """A member's bytes; never more are unpacked than the archive says, and a BLOCK.

    Raises:
        BadZipFile: it has other bytes than the archive says.
    """
    with archive.open(member) as stream:
        return b"".join(iter(lambda: stream.read(BLOCK), b""))
