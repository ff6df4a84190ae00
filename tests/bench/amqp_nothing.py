"""An AMQP server that only answers, to show what the driver alone costs: it counts the bytes of publishes.

``python -m tests.bench.amqp_nothing`` prints the port it took.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any, ClassVar, Final

import uvloop

from emulator.amqp.wire import methods
from emulator.amqp.wire.commands import GREETING, Command, CommandReader, build_command
from emulator.amqp.wire.methods import Method
from tests.bench.amqp_driver import PREFETCH

_ANSWERS: Final[dict[type, Callable[[Any], Method]]] = {
    methods.ConnectionStartOk: lambda _: methods.ConnectionTune(2047, 131_072, 0),
    methods.ConnectionOpen: lambda _: methods.ConnectionOpenOk(""),
    methods.ChannelOpen: lambda _: methods.ChannelOpenOk(b""),
    methods.ConfirmSelect: lambda _: methods.ConfirmSelectOk(),
    methods.QueueDeclare: lambda asked: methods.QueueDeclareOk(asked.queue, 0, 0),
    methods.QueueDelete: lambda _: methods.QueueDeleteOk(0),
    methods.BasicQos: lambda _: methods.BasicQosOk(),
    methods.BasicConsume: lambda asked: methods.BasicConsumeOk(asked.consumer_tag),
    methods.BasicCancel: lambda asked: methods.BasicCancelOk(asked.consumer_tag),
}
_ACK_BYTES: Final = len(build_command(1, methods.BasicAck(1, False)).frames[0])


class AnsweringServer(asyncio.Protocol):
    """One connection. All publishes of it are like its first."""

    contents: ClassVar[dict[str, list[bytes]]] = {}
    """The frames of what was published to a queue."""
    waiting: ClassVar[Counter[str]] = Counter()
    """How many messages were published to a queue, and not consumed."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport
        self._reader = CommandReader()
        self._unread = b""
        self._greeted = False
        self._key = ""
        self._size = self._arrived = self._told = 0
        self._delivery = b""
        self._out = self._acked = 0

    def data_received(self, data: bytes) -> None:
        if self._size:
            self._confirm(len(data))
        elif self._out:
            self._take_acks(data)
        else:
            self._unread += data
            self._answer_all()

    def _answer_all(self) -> None:
        if not self._greeted:
            self._greeted = True
            self._unread = self._unread[len(GREETING) :]
            self._write(0, methods.ConnectionStart(0, 9, {}, b"PLAIN", b"en_US"))
        taken = 1
        while self._unread and taken and not self._size and not self._out:
            found, taken = self._reader.feed(memoryview(self._unread), 1)
            self._unread = self._unread[taken:]
            for command in found:
                for each in command.split():
                    self._answer(each)
        if self._size:
            self._confirm(len(self._unread))

    def _answer(self, command: Command) -> None:
        method = command.decode()
        if isinstance(method, methods.BasicPublish):
            self._key, self._size = method.routing_key, command.size
            self.contents[self._key] = command.frames[1:]
            self._confirm(command.size)
        elif type(method) in _ANSWERS:
            self._write(command.channel, _ANSWERS[type(method)](method))
        if isinstance(method, methods.QueueDelete):
            del self.waiting[method.queue]
        elif isinstance(method, methods.BasicConsume):
            self._key = method.queue
            deliver = methods.BasicDeliver(method.consumer_tag, 1, False, "", method.queue)
            self._delivery = b"".join((*build_command(1, deliver).frames, *self.contents[method.queue]))
            self._deliver(PREFETCH)

    def _confirm(self, size: int) -> None:
        self._arrived += size
        if (messages := self._arrived // self._size) > self._told:
            self.waiting[self._key] += messages - self._told
            self._told = messages
            self._write(1, methods.BasicAck(messages, True))

    def _deliver(self, room: int) -> None:
        number = min(room, self.waiting[self._key])
        self.waiting[self._key] -= number
        self._out += number
        self._transport.writelines([self._delivery] * number)

    def _take_acks(self, data: bytes) -> None:
        due = self._out * _ACK_BYTES - self._acked
        self._acked += min(len(data), due)
        number, self._acked = divmod(self._acked, _ACK_BYTES)
        self._out -= number
        self._deliver(number)
        if len(data) > due:
            self.data_received(data[due:])

    def _write(self, channel: int, method: Method) -> None:
        self._transport.write(build_command(channel, method).frames[0])


async def main() -> None:
    """Serve until killed."""
    server = await asyncio.get_running_loop().create_server(AnsweringServer, "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(main())
