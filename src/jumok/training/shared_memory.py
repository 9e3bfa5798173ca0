"""What processes of one machine send each other, through memory that they share (Linux only).

Two processes have a channel: a memory segment for each direction, and a socket, by which each tells
the other that it has written. A copy in memory is several times as fast as a network connection to
the same machine (docs/benchmarks/scale.md), and a process that has ended is noticed as soon,
because its sockets close. Segments and sockets have no names in the file system, so nothing is left
behind.
"""

import mmap
import os
import secrets
import socket
import struct
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import torch

from jumok.shapes import Shaped, Tensor
from jumok.training.ranks import Ranks, told_by_all

SLOT = 1 << 20
"""Bytes that are written at once. A segment has two slots: one is read, the other is filled."""

_WRITTEN = b"."
_RANK = struct.Struct("!I")
_OWNER = struct.Struct("3i")  # of a socket: process, user, group
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_NETWORK = Path("/proc/self/ns/net")


class Channel:
    """The way to one other process of this machine.

    Args:
        connection: to it.
        outgoing, incoming: descriptors of the segments that this side writes and reads; they may be
            closed afterwards.
    """

    def __init__(self, connection: socket.socket, outgoing: int, incoming: int) -> None:
        self._connection = connection
        self._outgoing, self._incoming = _mapped(outgoing), _mapped(incoming)
        self._turn = 0

    def swap(self, own: Tensor, theirs: Tensor) -> None:
        """Sends a tensor and receives one; the other side calls it with the same two sizes.

        The other side's next word says that it has read the slot before, which may then be written
        again. So two slots are enough.

        Args:
            theirs: contiguous; is filled.

        Raises:
            ConnectionError: the other process has ended.
        """
        sent, received = _bytes_of(own.contiguous()), _bytes_of(theirs)
        for start in range(0, max(len(sent), len(received)), SLOT):
            part = sent[start : start + SLOT]
            self._outgoing[self._turn, : len(part)] = part
            self._connection.sendall(_WRITTEN)
            if not self._connection.recv(len(_WRITTEN)):
                raise ConnectionResetError("the connection to a process of this machine has ended")
            part = received[start : start + SLOT]
            part.copy_(self._incoming[self._turn, : len(part)])
            self._turn ^= 1


@contextmanager
def channels(ranks: Ranks, seconds: float) -> Iterator[Mapping[int, Channel]]:
    """The channels to all other processes of this machine, by rank, while entered.

    The processes find out together which these are: they see the same kernel and the same network,
    and belong to the same user. Elsewhere than on Linux there are none.

    Args:
        seconds: in which the others have to answer.

    Raises:
        OSError: one of them did not.
    """
    with ExitStack() as opened:
        machine, name, listener = "", "", None
        if sys.platform == "linux":
            try:
                machine = f"{_BOOT.read_text()} {_NETWORK.stat().st_ino} {os.getuid()}"
                name = f"\0jumok {secrets.token_hex()}"
                listener = opened.enter_context(socket.socket(socket.AF_UNIX))
                listener.bind(name)
                listener.listen(ranks.count)
                listener.settimeout(seconds)
            except OSError:  # a sandbox without one of them
                machine, listener = "", None
        places = told_by_all(ranks, {"machine": machine, "name": name})
        near = [rank for rank, each in enumerate(places) if machine and each["machine"] == machine]
        found: dict[int, Channel] = {}
        # Each calls those above it before it answers those below, so no two wait for each other.
        for rank in near:
            if rank > ranks.index:
                connection = opened.enter_context(socket.socket(socket.AF_UNIX))
                connection.settimeout(seconds)
                connection.connect(str(places[rank]["name"]))
                _, found[rank] = _met(connection, ranks.index)
        while listener is not None and len(found) < len(near) - 1:
            connection = opened.enter_context(listener.accept()[0])
            connection.settimeout(seconds)
            if _user_of(connection) == os.getuid():  # anyone on this machine may call
                rank, channel = _met(connection, ranks.index)
                found[rank] = channel
        yield found


def _met(connection: socket.socket, own: int) -> tuple[int, Channel]:
    """Gives the other side a segment, and takes one from it; the other's rank, and the channel.

    Args:
        own: the rank of this process.
    """
    outgoing = os.memfd_create("jumok")
    try:
        os.ftruncate(outgoing, 2 * SLOT)
        socket.send_fds(connection, [_RANK.pack(own)], [outgoing])
        said, segments, _, _ = socket.recv_fds(connection, _RANK.size, 1)
        if len(said) < _RANK.size or not segments:
            raise ConnectionResetError("a process of this machine ended before it was met")
        [rank], [incoming] = _RANK.unpack(said), segments
        try:
            channel = Channel(connection, outgoing, incoming)
        finally:
            os.close(incoming)
    finally:
        os.close(outgoing)
    connection.settimeout(None)
    return rank, channel


def _mapped(segment: int) -> Shaped[Tensor, "2 slot"]:
    return torch.frombuffer(mmap.mmap(segment, 2 * SLOT), dtype=torch.uint8).view(2, SLOT)


def _bytes_of(tensor: Tensor) -> Shaped[Tensor, " bytes"]:
    """The memory of a contiguous tensor."""
    return tensor.view(-1).view(torch.uint8)


def _user_of(connection: socket.socket) -> int:
    """The user of the process at the other end."""
    owner = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _OWNER.size)
    user: int = _OWNER.unpack(owner)[1]
    return user
