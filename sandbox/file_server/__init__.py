"""A file server over HTTPS that misbehaves on demand, and the certificates it needs."""
