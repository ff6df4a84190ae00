"""What a sandbox is started with, and the topologies that it can have."""
