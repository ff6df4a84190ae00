"""The ways to stand a sandbox up, and to find the one that stands."""
