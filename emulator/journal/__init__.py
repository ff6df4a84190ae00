"""The durable log under everything: what was acknowledged survives ``kill -9``, with ``fsync`` power loss."""

from emulator.journal.aside import put_aside
from emulator.journal.frames import DamagedLogError, ends_whole
from emulator.journal.inventory import Inventory, Loss, unlist_below
from emulator.journal.log import Log
from emulator.journal.payloads import Payloads, payloads_of
from emulator.journal.segments import SEGMENT_BYTES, Segments, Slice, begin_behind
from emulator.journal.space import no_space

__all__ = [
    "SEGMENT_BYTES",
    "DamagedLogError",
    "Inventory",
    "Log",
    "Loss",
    "Payloads",
    "Segments",
    "Slice",
    "begin_behind",
    "ends_whole",
    "no_space",
    "payloads_of",
    "put_aside",
    "unlist_below",
]
