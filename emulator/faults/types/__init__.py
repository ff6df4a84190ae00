"""One file a fault. How to add one: docs/faults.md."""
