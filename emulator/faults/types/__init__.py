"""One file for each fault type. How to add one: docs/faults.md."""
