"""Faults between a producer and a consumer, on demand, and reproducible from the seed."""
