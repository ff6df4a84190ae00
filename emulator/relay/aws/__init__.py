"""Kinesis and the other services of an upstream, with the faults in front."""
