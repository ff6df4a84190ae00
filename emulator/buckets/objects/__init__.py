"""The bodies of S3's objects, which are kept on disk."""

from emulator.buckets.objects.object_bodies import Bodies, Body, Chunk

__all__ = ["Bodies", "Body", "Chunk"]
