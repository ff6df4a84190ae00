"""Relays Kinesis and the other AWS services to an upstream, with the faults in front."""
