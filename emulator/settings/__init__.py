"""The settings of a sandbox, and its topologies."""
