"""``sandbox demo``: messages through faults and a live reshard, out as tables, and a verdict."""
