"""A sandbox in a process of its own, and the clients that ``tests.real_clients.install`` brings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.real_clients import install

if TYPE_CHECKING:
    from mypy_boto3_kinesis import KinesisClient

from tests.real_clients.sandbox_process import Sandbox, installed


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    running = Sandbox(tmp_path_factory.mktemp("sandbox"))
    yield running
    running.close()


@pytest.fixture(scope="module")
def kinesis(sandbox: Sandbox) -> Iterator[KinesisClient]:
    client = sandbox.client("kinesis")
    yield client
    client.close()


@pytest.fixture(scope="session")
def aws_cli() -> Path:
    """The ``aws`` command."""
    return installed("the AWS CLI", lambda: install.python_environment("awscli", install.AWS_CLI)) / "aws"


@pytest.fixture(scope="session")
def zaqar() -> Path:
    """The ``bin`` of the environment that holds python-zaqarclient."""
    return installed("python-zaqarclient", lambda: install.python_environment("zaqar", install.ZAQAR))


@pytest.fixture(scope="session")
def javascript() -> Path:
    """The folder whose ``node_modules`` holds the AWS SDK for JavaScript."""
    return installed(
        "the AWS SDK for JavaScript", lambda: install.node_packages("javascript", *install.JAVASCRIPT)
    ).parent


@pytest.fixture(scope="session")
def kcl() -> Path:
    """The ``bin`` of the environment that holds the KCL, its jars and its Python side."""
    return installed("the Java KCL", lambda: install.python_environment("kcl", install.KCL))
