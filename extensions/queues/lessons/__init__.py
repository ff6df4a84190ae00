"""Lessons about queues."""
