"""A sandbox's own AWS endpoint, and one Spark session for all of these tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from emulator.assembly.embedded import embedded
from emulator.settings.settings import Settings
from rdss_sandbox.shapes.topology import Topology
from tests.sandbox.pipeline.workload import INTERPRETED, Endpoint

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def endpoint(credentials: None) -> Iterator[Endpoint]:
    settings = Settings(aws_port=0, control_port=0, data_dir=None, topology=Topology())
    with embedded(settings) as emulator:
        yield Endpoint(emulator)


@pytest.fixture(scope="session")
def credentials() -> Iterator[None]:
    """Credentials for every process that Spark starts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "test")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        patch.setenv("AWS_REGION", "us-east-1")
        yield


@pytest.fixture(scope="session")
def spark(credentials: None) -> Iterator[SparkSession]:
    from sandbox.pipeline.spark.spark_session import open_session

    session = open_session("local[2]", memory="1g", settings=INTERPRETED)
    yield session
    session.stop()
