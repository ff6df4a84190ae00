"""The Kinesis source for Spark: what it adds to the sandbox."""

from __future__ import annotations

from typing import Final

from rdss_sandbox.extension import Extension

EXTENSION: Final = Extension(name="kinesis_source", spark_source="extensions.kinesis_source")
