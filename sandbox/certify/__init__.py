"""Certificates: a client is run as it is, under seeded faults, and judged by what the wire showed."""
