"""The durable log under everything: what was acknowledged survives ``kill -9``, with ``fsync`` power loss."""

from emulator.journal.frames import DamagedLog
from emulator.journal.log import Log
from emulator.journal.segments import SEGMENT_BYTES, Segments, Slice
from emulator.journal.space import no_space

__all__ = ["SEGMENT_BYTES", "DamagedLog", "Log", "Segments", "Slice", "no_space"]
