"""The durable log under everything: what was acknowledged survives ``kill -9``, with ``fsync`` power loss."""

from emulator.journal.frames import DamagedLog
from emulator.journal.log import Log
from emulator.journal.segments import Segments, Slice

__all__ = ["DamagedLog", "Log", "Segments", "Slice"]
