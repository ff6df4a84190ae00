"""The AMQP port with the broker of this process behind it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from emulator.assembly.sidecar_broker import Broker
from emulator.back_off import back_off
from emulator.journal import DamagedLogError, no_space
from emulator.journal.checking import find_damage
from emulator.journal.packed import SUFFIX

if TYPE_CHECKING:
    from emulator.amqp.broker import Broker as Engine
    from emulator.relay.amqp.amqp_server import AmqpServer
    from emulator.relay.amqp.embedded_upstream import EmbeddedUpstream

_CREDENTIALS: Final = "amqp://guest:guest@localhost/%2F"
_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 1.0
"""In real seconds, between tries to open the broker on a full disk."""
_NOTE: Final = "the AMQP port is answered by the sandbox's own broker, as RabbitMQ 4.0 would"


class EmbeddedBroker(Broker):
    """Listens on ``amqp_port`` in front of a broker in this process, and applies the faults.

    ``url`` is known before the broker is loaded; None when the port cannot be used. Clients that connect
    before are answered as soon as it is.
    """

    _upstream: EmbeddedUpstream | None = None
    _server: AmqpServer | None = None
    _starting: asyncio.Task[None] | None = None

    @property
    def answers(self) -> bool:
        """Whether clients that connect are answered, now or in a moment."""
        return self.url is not None

    @property
    def engine(self) -> Engine | None:
        """The broker itself, for calls on the loop; None until it is loaded."""
        return None if self._upstream is None else self._upstream.broker

    def note_publish(self, channel: str, routing_key: str, body: bytes, properties: bytes) -> None:
        """Record a message that was published to the broker by another way than its port."""
        if self._server is not None:
            self._server.note_publish(channel, routing_key, body, properties)

    @property
    def address(self) -> tuple[str, int]:
        """The address and the port that clients of AMQP connect to, once it listens."""
        host, port = self._listening.getsockname()[:2]
        return host, port

    def start(self, _environment: Mapping[str, str]) -> None:
        """Begin to listen, and load the broker in the background."""
        from emulator.relay.amqp.listening import bind_socket, client_url

        try:
            listening = bind_socket(self._settings.host, self._settings.amqp_port)
        except OSError as error:
            self.notes = (f"nothing answers on the AMQP port: {error.strerror}",)
            return
        self._listening = listening
        self._loop = asyncio.get_running_loop()
        self._stopping, self._tried = asyncio.Event(), asyncio.Event()
        self.url = client_url(_CREDENTIALS, listening, self._settings.token, self.tls)
        self.notes = (_NOTE,)
        self._starting = self._loop.create_task(self._start())

    async def wait_for_files(self) -> None:
        """Return when the broker has read its files, or could not."""
        if self._starting is not None:
            await self._tried.wait()

    def reset(self) -> None:
        """Remove all queues, declared exchanges and messages. Callable from any thread."""
        if self._upstream is None:
            return
        with suppress(RuntimeError):
            if asyncio.get_running_loop() is self._loop:
                self._upstream.clear()
                return
        asyncio.run_coroutine_threadsafe(self._clear(), self._loop).result()

    def dead_letter(self, queue: str, target: str) -> None:
        """Send what is rejected of a queue to another queue, as a policy of the broker's operator does.

        The queue's own arguments stay as they were declared. Callable from any thread but the loop's, once
        the broker is loaded. Raises RefusedError when the queue is not there.
        """

        async def apply() -> None:
            assert self._upstream is not None
            self._upstream.broker.vhost.dead_letter_to(queue, target)

        asyncio.run_coroutine_threadsafe(apply(), self._loop).result()

    async def stop(self) -> None:
        """Accept no more connections, close the open ones, and close the files."""
        if self._starting is not None:
            self._stopping.set()
            await self._starting
        if self._server is not None:
            await self._server.close()
        if self._upstream is not None:
            await self._upstream.close()

    async def _start(self) -> None:
        try:
            # What it takes to load is not added to the time until the other ports answer.
            await asyncio.to_thread(_load)
            await self._open_with_space()
        except Exception as error:  # noqa: BLE001 -- the other ports go on, and the status says why this does not
            self._listening.close()
            self.url = None
            why = str(error)
            if isinstance(error, DamagedLogError):
                for found in await asyncio.to_thread(_find_damage, error, self._directory):
                    self._events.emit(
                        "journal.damaged", file=str(found.path), position=found.position, why=str(found)
                    )
                why = "its files are damaged"
            self.notes = (f"nothing answers on the AMQP port: {why}",)
            self._events.emit("broker.failed", why=str(error))
        finally:
            self._tried.set()

    async def _open_with_space(self) -> None:
        """Open the broker, on a full disk as soon as there is space; clients that connect wait for it."""
        for pause in back_off(_FIRST_PAUSE, _LONGEST_PAUSE):
            try:
                await self._open()
            except OSError as error:
                if not no_space(error):
                    raise
                if self.notes == (_NOTE,):
                    self._events.emit("broker.waits", why=str(error))
                self.notes = (f"the AMQP port answers as soon as there is space: {error}",)
            else:
                self.notes = (_NOTE,)
                return
            self._tried.set()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), pause)
            if self._stopping.is_set():
                self._listening.close()
                return

    @property
    def _directory(self) -> Path | None:
        data = self._settings.data_dir
        return None if data is None else data.resolve() / "broker"

    async def _open(self) -> None:
        from emulator.relay.amqp.embedded_upstream import EmbeddedUpstream
        from emulator.relay.amqp.entry import Entry

        upstream = await EmbeddedUpstream.open(
            self._directory, self._clock, self._events, fsync=self._settings.fsync
        )
        upstream.broker.vhost.max_message_size = self._settings.amqp_max_message_size
        entry = Entry.by_usual_login(upstream.url)
        self._upstream = upstream
        self._server = self._build_server(upstream.url, self._listening, entry=entry, upstream=upstream)
        await self._server.listen()
        self._events.emit("broker.started", url=self.url, embedded=True)

    async def _clear(self) -> None:
        assert self._upstream is not None
        self._upstream.clear()


def _find_damage(first: DamagedLogError, directory: Path | None) -> list[DamagedLogError]:
    """Find the damage of each of the broker's files, of which opening them has met the ``first``."""
    found: dict[Path, DamagedLogError] = {}
    # What cannot be read now is told by the start that can read it: the first is worth saying alone.
    with suppress(OSError):
        for each in find_damage(_list_files(directory)):
            found[each.path] = each
    return [first, *(each for path, each in found.items() if path != first.path)]


def _list_files(directory: Path | None) -> list[Path]:
    there = () if directory is None else directory.iterdir()
    return sorted(path for path in there if path.suffix in {".log", SUFFIX})


def _load() -> None:
    import emulator.relay.amqp.amqp_server
    import emulator.relay.amqp.embedded_upstream  # noqa: F401 -- what takes time is to import it
