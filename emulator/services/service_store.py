"""Stores what moto's services hold: each service in a log of its own, before the answer of a request leaves.

A log is read, and moto's service filled from it, when the first request needs that service. So a start takes
no longer with a large state than without.
"""

from __future__ import annotations

import gc
import shutil
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from emulator.buckets.objects.in_moto import keeping_in
from emulator.clock import stopwatch
from emulator.events import Events
from emulator.journal import Change, DamagedLogError, KeyedLog, no_space, unlist_below
from emulator.journal.reserve import reserve_of
from emulator.machine.private_files import make_directory
from emulator.services import touched as touching
from emulator.services.request_gate import RequestGate
from emulator.services.saved_services import SavedPiece, SavedServices, read_saved, save
from emulator.services.service_log import check_version, open_log
from emulator.services.touched import Touched

if TYPE_CHECKING:
    from emulator.buckets.objects.bodies import Bodies


NAMES: Final = ("dynamodb", "s3", "sqs", "sns", "ssm", "cloudwatch")
_ALIASES: Final = {"monitoring": "cloudwatch"}
_CALLS: Final[dict[str, tuple[str, ...]]] = {
    "dynamodb": (),
    "sqs": (),
    "ssm": (),
    "cloudwatch": (),
    "sns": ("sqs",),
    "s3": ("sqs", "sns"),
}
"""The services that each service calls: SNS and S3 notify queues."""
_WAITING: Final = frozenset((("sqs", "ReceiveMessage"), ("sqs", "")))
"""Services and actions that may wait for many seconds inside moto; the query protocol has no action here."""
_TRIES: Final = 20


class ServiceStore:
    """The logs in ``directory``; without one everything is in memory, and a log is None.

    ``on_open`` are called when a service has been filled. A service whose log is damaged refuses every
    request, with the file and what to do; the others go on.
    """

    def __init__(self, directory: Path | None, events: Events, *, fsync: bool) -> None:
        self._directory = directory
        self._events = events
        self._fsync = fsync
        self._opening = threading.RLock()
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._open: dict[str, tuple[KeptService, KeyedLog | None]] = {}
        self._ready: set[str] = set()
        self._bodies: Bodies | None = None
        self._loaded: SavedServices | None = None
        self._loads = 0
        self._gate = RequestGate()
        self._damaged: dict[str, DamagedLogError] = {}
        self._failed: defaultdict[str, list[Touched]] = defaultdict(list)
        self.on_open: dict[str, Callable[[], None]] = {}

    def check_versions(self) -> None:
        """Raise ``OtherVersionError`` when another version wrote a log that this one does not read."""
        for name in NAMES if self._directory is not None else ():
            check_version(self._path(name))

    @contextmanager
    def request(
        self, service: str, environ: Mapping[str, Any], *, archives: Bodies | None = None
    ) -> Iterator[None]:
        """Fill the services that a request needs, and store what it changes before the context ends.

        ``archives`` are the bodies of the sandbox's own archives when they send it.

        Raises ``DamagedLogError``, and OSError when the changes cannot be stored. They are then stored with
        the next request.
        """
        name = _ALIASES.get(service, service)
        action = environ.get("HTTP_X_AMZ_TARGET", "").rpartition(".")[2]
        own = archives is not None
        touched = Touched(name, environ["REQUEST_METHOD"], environ["PATH_INFO"], action, own=own)
        # A snapshot must not wait for a client that waits for messages.
        with nullcontext() if (name, action) in _WAITING else self._gate.entered():
            touching.begin(touched)
            loads = self._loads
            try:
                for other in _called_by(name, action):
                    # A service that may not even be called must not have this one refused.
                    with suppress(DamagedLogError):
                        self._open_one(other)
                if name in NAMES:
                    self._open_one(name)
                with keeping_in(archives or self._bodies):
                    yield
            finally:
                touching.end()
                touched.outdated = loads != self._loads
                # Also for a request that failed: it may have changed something first.
                self._keep(touched)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let no request change anything while the context lasts."""
        with self._gate.closed(), self._opening:
            yield

    def _open_one(self, name: str) -> None:
        """Fill a service from its log, once. Raises ``DamagedLogError``."""
        if name in self._ready:
            return
        with self._opening:
            if name in self._damaged:
                raise self._damaged[name]
            if name not in self._open:
                self._open[name] = self._fill(name) if self._directory is not None else self._begin(name)
                self.on_open.get(name, _do_nothing)()
                # Only now, or another request would be answered before what is made on opening is there.
                self._ready.add(name)

    def clear(self) -> None:
        """Remove everything that is stored. moto's services must be empty; each opens again when used."""
        with self._opening:
            for name, (service, log) in self._open.items():
                with self._locks[name]:
                    service.forget()
                    if log is not None:
                        log.close()
            if self._bodies is not None:
                self._bodies.clear()
            if self._directory is not None:
                unlist_below(self._directory)
                for path in self._directory.glob("*.log"):
                    path.unlink()
            self._loads += 1
            self._loaded = self._bodies = None
            self._open.clear()
            self._ready.clear()
            self._damaged.clear()
            self._failed.clear()

    def save(self) -> list[bytes]:
        """Return a copy of every service, for ``load``. Call it while the store is ``held``.

        Raises ``DamagedLogError`` and OSError.
        """
        values: dict[str, list[Change]] = {}
        for name in NAMES:
            if name in self._open:
                values[name] = _copy(name, self._open[name][0].everything)
            elif self._directory is not None and self._path(name).exists():
                log = open_log(self._path(name), fsync=False)
                values[name] = list(log.read().items())
                log.close()
            elif self._loaded is not None:
                values[name] = self._loaded.values.get(name, [])
        pieces = [SavedPiece(piece, stored) for piece, stored in self._bodies_of_now().list_pieces()]
        return save(values, pieces)

    def load(self, saved: Sequence[bytes | memoryview]) -> None:
        """Store what was saved; each service is filled from it when used. The store is empty and ``held``.

        Raises OSError.
        """
        from emulator.buckets.objects.piece_table import PieceId

        found = read_saved(saved)
        bodies = self._bodies_of_now()
        bodies.put_back((PieceId(*piece.id), piece.stored) for piece in found.pieces)
        if self._fsync:
            bodies.sync()
        if self._directory is None:
            self._loaded = found
            return
        make_directory(self._directory)
        for name, values in found.values.items():
            if values:
                with closing(open_log(self._path(name), fsync=self._fsync)) as log:
                    log.replace(values, synced=self._fsync)

    def _bodies_of_now(self) -> Bodies:
        """The bodies of S3's objects, from their first use on."""
        if self._bodies is None:
            from emulator.buckets.objects.bodies import Bodies
            from emulator.buckets.objects.kept_bodies import KeptBodies

            self._bodies = Bodies() if self._directory is None else KeptBodies(self._directory)
        return self._bodies

    def close(self) -> None:
        """Close the logs. What moto still does is not stored."""
        with self._opening:
            for name, (_, log) in self._open.items():
                with self._locks[name]:
                    if log is not None:
                        log.close()
            if self._bodies is not None:
                self._bodies.close()
            self._open.clear()
            self._ready.clear()

    def _begin(self, name: str) -> tuple[KeptService, None]:
        """Fill a service that is in memory from what was loaded, if anything was."""
        service = self._build(name)
        _note_actions()
        service.install()
        values = self._loaded.values.pop(name, []) if self._loaded is not None else []
        with _without_collections():
            service.restore({key: value for key, value in values if value is not None})
        return service, None

    def _fill(self, name: str) -> tuple[KeptService, KeyedLog]:
        assert self._directory is not None
        began = stopwatch()
        make_directory(self._directory)
        try:
            log = open_log(
                self._path(name),
                fsync=self._fsync,
                list_living=lambda: self._open[name][0].everything(),  # noqa: PLW0108 -- it opens later
            )
        except DamagedLogError as error:
            self._damaged[name] = error
            self._events.emit("journal.damaged", why=str(error))
            raise
        if log.torn_bytes:
            self._events.emit("journal.cut", file=str(self._path(name)), bytes=log.torn_bytes)
        service = self._build(name)
        _note_actions()
        service.install()
        with _without_collections():
            values = log.read()
            service.restore(values)
        if values:
            self._events.emit(
                "service.restored", service=name, values=len(values), seconds=stopwatch() - began
            )
        return service, log

    def _build(self, name: str) -> KeptService:
        from emulator.services import swept_state

        match name:
            case "dynamodb":
                from emulator.services.dynamodb_state import DynamodbState

                return DynamodbState()
            case "sqs":
                from emulator.services.sqs_state import SqsState

                return SqsState()
            case "s3":
                return self._build_s3()
            case "sns":
                return swept_state.sns_state()
            case "ssm":
                return swept_state.ssm_state()
        return swept_state.cloudwatch_state()

    def _build_s3(self) -> KeptService:
        from emulator.buckets.objects.kept_bodies import KeptBodies
        from emulator.services.s3_state import S3State

        bodies = self._bodies_of_now()
        if isinstance(bodies, KeptBodies):
            for error in bodies.damage:
                self._events.emit("journal.damaged", why=str(error))
            for path, torn in bodies.torn:
                self._events.emit("journal.cut", file=str(path), bytes=torn)
        return S3State(bodies, fsync=self._fsync)

    def _keep(self, touched: Touched) -> None:
        """Store the changes of a request, in every service that it touched."""
        for name, opened in tuple(self._open.items()):
            service, log = opened
            if log is None or not (touched.service == name or name in touched.units or self._waits(name)):
                continue
            with self._locks[name]:
                self._store(service, log, touched)

    def _store(self, service: KeptService, log: KeyedLog, touched: Touched) -> None:
        """Store what a request changed, and what could not be stored of earlier ones.

        A full disk refuses only what needs room: a request that changes nothing is answered, whatever is
        waiting; one that deletes is stored in room that was kept for it. Raises OSError.
        """
        name = service.name
        late = self._failed.get(name, ())
        if late and not self._has_room() and not self._changes(service, [touched]):
            return
        changes = self._changes(service, [*late, touched])
        if changes:
            try:
                log.append(changes, freeing=touched.deleting)
            except OSError as error:
                if not no_space(error) or not self._store_alone(service, log, touched):
                    self._failed[name].append(touched)
                    if not touched.receiving:
                        raise
                return
        self._failed.pop(name, None)
        service.settle()
        # A deletion may have been stored in it.
        if (reserve := reserve_of(self._path(name))) is not None:
            reserve.refill()

    def _has_room(self) -> bool:
        """Whether the disk has any room, so that it is worth a try to store what is waiting."""
        assert self._directory is not None
        return shutil.disk_usage(self._directory).free > 0

    def _store_alone(self, service: KeptService, log: KeyedLog, touched: Touched) -> bool:
        """Store a request without what waits, and say whether there is nothing left of it to be stored."""
        # Nothing waits, so this would be the same try again.
        if not self._failed.get(service.name):
            return False
        own = self._changes(service, [touched])
        with suppress(OSError):
            if own:
                log.append(own)
            return True
        return False

    def _waits(self, name: str) -> bool:
        """Whether something is to be stored that no request of now has touched."""
        return name in self._failed or touching.has_stray(name)

    def _changes(self, service: KeptService, requests: list[Touched]) -> list[Change]:
        name = service.name
        requests[-1].units[name] += touching.take_stray(name)
        return _copy(
            name,
            lambda: (
                change
                for request in requests
                for change in service.changes(request, request.units.get(name, ()))
            ),
        )

    def _path(self, name: str) -> Path:
        assert self._directory is not None
        return self._directory / f"{name}.log"


def _copy(name: str, read: Callable[[], Iterable[Change]]) -> list[Change]:
    """Read changes of a service, while requests that are not held back may change what is read."""
    for _ in range(_TRIES):
        try:
            return list(read())
        except RuntimeError as error:
            # Who changed it stores that itself, soon after.
            if "changed size" not in str(error):
                raise
    raise RuntimeError(f"{name} changes faster than it can be copied")


def _called_by(name: str, action: str) -> tuple[str, ...]:
    """The services that a request to one may call; all of them for one that is not stored."""
    # DynamoDB imports from buckets, and exports to them.
    if name not in _CALLS or action.startswith(("Import", "Export")):
        return NAMES
    return _CALLS[name]


def _note_actions() -> None:
    """Let moto say which operation it has found in a request, whatever the protocol."""
    from moto.core.responses import BaseResponse

    responses: Any = BaseResponse
    find = responses._get_action  # noqa: SLF001 -- where moto does it
    if getattr(find, "notes", False):
        return

    def get_action(request: Any) -> Any:
        action = find(request)
        now = touching.current()
        now.action = now.action or str(action or "")
        return action

    changed: Any = get_action
    changed.notes = True
    responses._get_action = changed  # noqa: SLF001


@contextmanager
def _without_collections() -> Iterator[None]:
    """Leave out garbage collections, which take most of the time when many objects are made."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _do_nothing() -> None:
    """Take no step when a service opens."""


class KeptService(Protocol):
    """What a service holds, as keys and values. moto is imported when any of these is called."""

    name: str

    def install(self) -> None:
        """Change moto, in this whole process, so that it says what it touches."""

    def restore(self, values: Mapping[bytes, bytes]) -> None:
        """Put stored values into moto, whose service is empty."""

    def changes(self, touched: Touched, units: Iterable[Any], /) -> Iterator[Change]:
        """Yield what ``touched`` has changed, of which ``units`` is known."""

    def everything(self) -> Iterator[Change]:
        """Yield every key with its present value."""

    def settle(self) -> None:
        """Release what only changes that are now stored had in use."""

    def forget(self) -> None:
        """Forget what was stored: the service is empty, and its log too."""
