"""Spark itself: its Java, its session, its workers and its failures."""
