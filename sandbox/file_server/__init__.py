"""A file server over HTTPS that simulates failures, and certificates for it."""
