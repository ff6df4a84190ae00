"""The whole state of a sandbox: copied at one instant, and replaced at once, while clients are connected."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import TYPE_CHECKING, Final

import msgspec

from emulator.assembly.component import Saved
from emulator.clock import Clock, ClockState
from rdss_sandbox.shapes.access import KeyPermission

if TYPE_CHECKING:
    from emulator.assembly.components import Components
    from emulator.assembly.own_infrastructure import OwnState

_REAL_TIME_SECONDS: Final = 3600.0
"""So long after it was saved, real time is shown again; later, records would be past their retention."""
_encode: Final = msgspec.json.Encoder().encode
_decode_clock: Final = msgspec.json.Decoder(ClockState).decode
_decode_permission: Final = msgspec.json.Decoder(KeyPermission).decode


def save(components: Components, state: OwnState) -> dict[str, list[bytes]]:
    """Copy the state of every component at one instant, by section. Raises DamagedLogError and OSError."""
    # Checkpoints first: one that is behind only repeats work, one that is ahead would lose some.
    saved = {"archives": components.archives.save()}
    extensions = components.extensions.values()
    with _all_of(each.held() for each in extensions), _held(components, state):
        saved["clock"] = [_encode(components.clock.state())]
        saved |= state.save()
        saved["amqp"] = components.amqp.save()
        saved["faults"] = components.fault_engine.save()
        saved["permissions"] = [_encode(each) for each in components.access.permissions()]
        for each in extensions:
            saved |= {section: list(copies) for section, copies in each.save().items()}
    return saved


def load(components: Components, state: OwnState, saved: Saved, number: int) -> tuple[str, ...]:
    """Replace the state of every component by what was saved; say what cannot be here, and why.

    ``number`` is higher than in any earlier load. A failure leaves a mixture. Raises OSError.
    """
    # Their workers wait for the streams, so they end before the streams are held.
    components.archives.pause()
    components.fault_engine.clear()
    extensions = components.extensions.values()
    with _all_of(each.emptied() for each in extensions), _readers_held(components), _held(components, state):
        _set_clock(components.clock, _decode_clock(saved["clock"][0]))
        state.load(saved, number)
        components.amqp.load(saved["amqp"], number)
        components.index.clear()
        if components.audit_log:
            components.audit_log.clear()
        for extension in extensions:
            extension.load(saved, number)
        components.access.load(map(_decode_permission, saved["permissions"]))
        components.diagnosis.clear()
        left_out = components.fault_engine.load(saved["faults"])
    components.archives.load(saved["archives"])
    for extension in extensions:
        extension.resume()
    return left_out


@contextmanager
def _held(components: Components, state: OwnState) -> Iterator[None]:
    """Let nothing change while the context lasts. Those that call others are held before them."""
    with state.held(), components.amqp.held():
        yield


@contextmanager
def _readers_held(components: Components) -> Iterator[None]:
    """Hold what is cleared with the streams, and reads them: held after them, it would wait for itself."""
    audit = components.audit_log.held() if components.audit_log else nullcontext()
    with components.diagnosis.held(), audit, components.index.held():
        yield


@contextmanager
def _all_of(contexts: Iterable[AbstractContextManager[object]]) -> Iterator[None]:
    with ExitStack() as stack:
        for each in contexts:
            stack.enter_context(each)
        yield


def _set_clock(clock: Clock, saved: ClockState) -> None:
    clock.resume_real_time()
    if saved.real and 0 <= clock.time() - saved.time < _REAL_TIME_SECONDS:
        return
    clock.set_state(ClockState(saved.time, saved.speed, real=False, elapsed=clock.elapsed()))
