"""``sandbox demo``: messages go through faults and a live reshard and become tables; a verdict is given."""
