"""The durable log that every other store is built on.

Acknowledged data survives ``kill -9``. With ``fsync`` it also survives loss of power.
"""

from emulator.journal.aside import put_aside
from emulator.journal.frames import DamagedLogError, ends_whole
from emulator.journal.inventory import Inventory, Loss, unlist_below
from emulator.journal.keyed_log import Change, KeyedLog
from emulator.journal.log import Log
from emulator.journal.payloads import Payloads, payloads_of
from emulator.journal.reserve import no_space
from emulator.journal.segment import Block
from emulator.journal.segments import SEGMENT_BYTES, Segments, Slice, skip_lost_numbers

__all__ = [
    "SEGMENT_BYTES",
    "Block",
    "Change",
    "DamagedLogError",
    "Inventory",
    "KeyedLog",
    "Log",
    "Loss",
    "Payloads",
    "Segments",
    "Slice",
    "ends_whole",
    "no_space",
    "payloads_of",
    "put_aside",
    "skip_lost_numbers",
    "unlist_below",
]
