"""The bodies of S3's objects, which are kept on disk."""
