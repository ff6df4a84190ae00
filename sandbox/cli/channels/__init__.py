"""Commands about streams: faults, access, shards and readers."""
