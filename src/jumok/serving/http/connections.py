"""What uvicorn leaves open on a connection: the size of a head, and damage behind an answer."""

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_BYTES = 64 * 1024
"""The most bytes of a head."""

LINGER_SECONDS = 2.0
"""How long what a refused client still sends is thrown away: at a closed connection its system
would throw the answer away."""


class Connection(H11Protocol):
    """One connection of a client."""

    def data_received(self, data: bytes) -> None:
        """Gives the parser what has arrived; of a head no more than it may have, since the parser
        has no limit for one that is whole."""
        while data and self.conn.their_state is not h11.ERROR:
            size = len(data)
            if self.conn.their_state is h11.IDLE:
                size = HEAD_BYTES - len(self.conn.trailing_data[0])
            super().data_received(data[:size])
            data = data[size:]

    def send_400_response(self, msg: str) -> None:
        """Refuses what is no request, and closes the connection."""
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):  # its answer has begun
            self.transport.close()
        elif self.conn.our_state is h11.IDLE and len(self.conn.trailing_data[0]) >= HEAD_BYTES:
            self._refuse_head()
        else:
            super().send_400_response(msg)

    def _refuse_head(self) -> None:
        text = f"The head of a request has at most {HEAD_BYTES} bytes."
        headers = [("content-type", "text/plain"), ("connection", "close")]
        reason = "Request Header Fields Too Large"
        for event in (
            h11.Response(status_code=431, headers=headers, reason=reason),
            h11.Data(data=text.encode()),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.write_eof()
        asyncio.get_running_loop().call_later(LINGER_SECONDS, self.transport.close)
