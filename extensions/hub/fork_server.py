"""The process that starts the hub and forks the seats. It has imported everything, and runs no thread."""

from __future__ import annotations

import gc
import os
import selectors
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import Any, Final, NamedTuple, Protocol

from emulator.clock import stopwatch
from extensions.hub.seat_messages import (
    HubReady,
    SeatEnded,
    SeatMessage,
    SeatReady,
    StartSeat,
    StopSeat,
    decode_message,
    encode_message,
)
from sandbox.cli.output.exit_codes import explain
from sandbox.profiles.in_process import CannotStartError
from sandbox.profiles.running import Running

_READ_BYTES: Final = 1 << 16
_LOOK_SECONDS: Final = 1.0
_STOP_SECONDS: Final = 20.0
"""For a process to end before it is killed."""
_HUB: Final = ""

Tell = Callable[[SeatMessage], None]


class LeftByHub(NamedTuple):
    """What a hub that died has left: its addresses, None where it was none, and the seats that run still."""

    running: Running | None
    awake: Sequence[SeatReady]


class ForkedWork(Protocol):
    """What the children do. Each returns when its process is to end.

    ``orphaned`` can be read when the process that forked it is gone.
    """

    def run_hub(self, link: socket.socket, left: LeftByHub, tell: Tell, orphaned: int) -> None:
        """Serve, with messages to and from the server on the ``link``."""

    def run_seat(self, asked: StartSeat, tell: Tell, orphaned: int) -> None:
        """Run a person's sandbox."""


@dataclass(slots=True, eq=False)
class _Child:
    """A child process; ``pipe`` has its messages, and ``killed_at`` is when it is killed at the latest.

    ``again`` is what to start when it has ended.
    """

    name: str
    pid: int
    pipe: int
    unread: bytes = b""
    ready: SeatReady | None = None
    why: str = ""
    killed_at: float | None = None
    again: StartSeat | None = None


class ForkServer:
    """Runs the hub, and the seats that it asks for. A hub that dies is started again; the seats go on."""

    def __init__(self, work: ForkedWork, on_ready: Callable[[HubReady], None]) -> None:
        self._work = work
        self._on_ready = on_ready
        self._children: dict[str, _Child] = {}
        self._selector = selectors.DefaultSelector()
        self._link: socket.socket | None = None
        self._unread = b""
        self._hub: Running | None = None
        self._ending = False
        self._failure = ""
        # No child keeps the end that is written to, so the kernel closes it with this process.
        self._orphaned, self._held_open = os.pipe()
        self._wakened, self._wakes = os.pipe()

    def run(self) -> None:
        """Serve until SIGINT or SIGTERM. Raises CannotStartError where the hub ends before it was ready."""
        gc.disable()
        gc.collect()
        # What the children share is not looked at again, and stays shared.
        gc.freeze()
        for descriptor in (self._wakened, self._wakes):
            os.set_blocking(descriptor, False)
        self._selector.register(self._wakened, selectors.EVENT_READ, self._drain)
        with self._signals():
            self._start_hub()
            while self._children:
                for key, _ in self._selector.select(_LOOK_SECONDS):
                    key.data()
                self._reap()
                if self._ending:
                    self._end_children()
        if self._hub is None:
            raise CannotStartError(self._failure or "the hub ended before it was ready")

    @contextmanager
    def _signals(self) -> Iterator[None]:
        before = {
            number: signal.signal(number, handler)
            for number, handler in (
                (signal.SIGINT, self._note_end),
                (signal.SIGTERM, self._note_end),
                (signal.SIGCHLD, _do_nothing),
            )
        }
        waking = signal.set_wakeup_fd(self._wakes, warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(waking)
            for number, handler in before.items():
                signal.signal(number, handler)

    def _note_end(self, _number: int, _frame: FrameType | None) -> None:
        self._ending = True

    def _drain(self) -> None:
        with suppress(BlockingIOError):
            os.read(self._wakened, _READ_BYTES)

    # -- the children

    def _start_hub(self) -> None:
        ours, theirs = socket.socketpair()
        awake = [each.ready for each in self._children.values() if each.ready and each.killed_at is None]
        self._link, self._unread = ours, b""

        def run(tell: Tell) -> None:
            ours.close()
            self._work.run_hub(theirs, LeftByHub(self._hub, awake), tell, self._orphaned)

        self._fork(_HUB, run)
        theirs.close()
        self._selector.register(ours, selectors.EVENT_READ, self._read_link)

    def _start_seat(self, asked: StartSeat) -> None:
        def run(tell: Tell) -> None:
            if self._link is not None:
                self._link.close()
            self._work.run_seat(asked, tell, self._orphaned)

        child = self._children.get(asked.name)
        if child is None:
            self._fork(asked.name, run)
        elif child.killed_at is not None:
            child.again = asked

    def _fork(self, name: str, run: Callable[[Tell], None]) -> None:
        heard, said = os.pipe()
        pid = os.fork()
        if not pid:
            self._become_child(heard, said, name, run)
        os.close(said)
        child = self._children[name] = _Child(name, pid, heard)
        self._selector.register(heard, selectors.EVENT_READ, lambda: self._read_child(child))

    def _become_child(self, heard: int, said: int, name: str, run: Callable[[Tell], None]) -> None:
        """Do the work of a child, and end the process."""

        def tell(message: SeatMessage) -> None:
            os.write(said, encode_message(message))

        code = 1
        try:
            # Ctrl-C is for the server, which tells its children.
            os.setsid()
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
                signal.signal(number, signal.SIG_DFL)
            self._selector.close()
            others = [each.pipe for each in self._children.values()]
            for descriptor in (heard, self._held_open, self._wakened, self._wakes, *others):
                os.close(descriptor)
            run(tell)
            code = 0
        except BaseException as error:  # noqa: BLE001 -- the server goes on, and says why this did not
            tell(SeatEnded(name, explain(error)[0]))
        finally:
            with suppress(OSError):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)

    def _reap(self) -> None:
        while self._children:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            child = next((each for each in self._children.values() if each.pid == pid), None)
            if child is not None:
                self._forget(child, os.waitstatus_to_exitcode(status))

    def _forget(self, child: _Child, code: int) -> None:
        self._read_child(child)
        with suppress(KeyError):
            self._selector.unregister(child.pipe)
        os.close(child.pipe)
        del self._children[child.name]
        why = child.why or ("" if code == 0 else f"its process ended with {code}")
        if child.name != _HUB:
            self._send(SeatEnded(child.name, why))
            if child.again is not None and not self._ending:
                self._start_seat(child.again)
            return
        self._failure = why
        self._close_link()
        if self._hub is not None and not self._ending:
            self._start_hub()
        else:
            self._ending = True

    def _end_children(self) -> None:
        for child in self._children.values():
            self._end(child)

    def _end(self, child: _Child) -> None:
        """Ask a child to end, or kill one that was asked long ago."""
        if child.killed_at is None:
            child.killed_at = stopwatch() + _STOP_SECONDS
            os.kill(child.pid, signal.SIGTERM)
        elif stopwatch() > child.killed_at:
            os.kill(child.pid, signal.SIGKILL)

    # -- messages

    def _read_child(self, child: _Child) -> None:
        os.set_blocking(child.pipe, False)
        try:
            piece = os.read(child.pipe, _READ_BYTES)
        except BlockingIOError:
            return
        if not piece:
            with suppress(KeyError):
                self._selector.unregister(child.pipe)
        *lines, child.unread = (child.unread + piece).split(b"\n")
        for line in lines:
            match decode_message(line):
                case HubReady() as ready:
                    if self._hub is None:
                        self._hub = ready.running
                        self._on_ready(ready)
                case SeatReady() as ready:
                    child.ready = ready
                    self._send(ready)
                case SeatEnded(why=why):
                    child.why = why

    def _read_link(self) -> None:
        assert self._link is not None
        with suppress(ConnectionError):
            if piece := self._link.recv(_READ_BYTES):
                *lines, self._unread = (self._unread + piece).split(b"\n")
                for line in lines:
                    self._obey(decode_message(line))
                return
        self._close_link()

    def _obey(self, message: SeatMessage) -> None:
        match message:
            case StartSeat() if not self._ending:
                self._start_seat(message)
            case StopSeat(name=name) if child := self._children.get(name):
                self._end(child)

    def _send(self, message: SeatMessage) -> None:
        if self._link is not None:
            with suppress(OSError):
                self._link.sendall(encode_message(message))

    def _close_link(self) -> None:
        if self._link is not None:
            self._selector.unregister(self._link)
            self._link.close()
            self._link = None


def _do_nothing(*_: Any) -> None: ...
