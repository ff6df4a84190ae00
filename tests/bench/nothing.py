"""A server that does nothing, to show what the client alone costs: reads a request, answers ``{}``."""

from __future__ import annotations

import asyncio
import re
import sys

_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_BODY = b'{"StreamNames":[],"HasMoreStreams":false,"FailedRecordCount":0,"Records":[]}'
_ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(_BODY) + _BODY


class Nothing(asyncio.Protocol):
    """Counts bytes until a request is complete."""

    def __init__(self) -> None:
        self._head = b""
        self._left = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self._left == 0:
            self._head += data
            end = self._head.find(b"\r\n\r\n")
            if end < 0:
                return
            length = _LENGTH.search(self._head, 0, end)
            self._left = end + 4 + (int(length[1]) if length else 0) - len(self._head)
            self._head = b""
        else:
            self._left -= len(data)
        if self._left == 0:
            self._transport.write(_ANSWER)  # type: ignore[attr-defined]


async def main(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(Nothing, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
