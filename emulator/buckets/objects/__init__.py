"""The bodies of S3's objects, outside of memory."""

from emulator.buckets.objects.bodies import Bodies, Body, Chunk

__all__ = ["Bodies", "Body", "Chunk"]
