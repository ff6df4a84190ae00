"""S3 and the sandbox's own buckets in it."""
