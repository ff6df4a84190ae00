"""Scenarios: a workload, faults and expected facts, played on a clock that moves without real time."""
