"""The infrastructure the sandbox pretends to be: streams, buckets, brokers, faults, audit, the clock."""
