"""The durable log under everything: what was acknowledged survives ``kill -9``, and power loss with ``fsync``."""

from emulator.journal.frames import DamagedLog
from emulator.journal.log import Log
from emulator.journal.segments import Segments, Slice

__all__ = ["DamagedLog", "Log", "Segments", "Slice"]
