"""Faults: what can go wrong between a producer and a consumer, on demand and the same every time."""
