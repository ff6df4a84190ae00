"""Scenarios: a workload, faults, and what must become of it, played on a clock that waits for nobody."""
