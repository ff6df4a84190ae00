"""A Spark, and a Kinesis for it."""

from __future__ import annotations

from tests.sandbox.pipeline.conftest import credentials, endpoint, spark
