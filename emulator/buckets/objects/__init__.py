"""The bodies of S3's objects, which are kept on disk."""

from emulator.buckets.objects.bodies import Bodies
from emulator.buckets.objects.object_bodies import Body

__all__ = ["Bodies", "Body"]
