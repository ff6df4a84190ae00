"""Streams as their clients see them: an engine's, on disk and in memory, and each profile's through boto3."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from emulator.clock import Clock
from emulator.kinesis import KinesisError
from emulator.rng import new_uuid
from tests.emulator.kinesis.engine_calls import Api, Calls
from tests.profile_sandboxes import ACCOUNT, PROFILES, REGION, ProfileSandbox, in_profiles, use_sandbox


class ProfileApi(Calls):
    """The streams of a whole sandbox, asked for with boto3; times are seconds since the epoch here too."""

    def __init__(self, sandbox: ProfileSandbox) -> None:
        self.name = f"s-{new_uuid()[:8]}"
        self.arn = f"arn:aws:kinesis:{REGION}:{ACCOUNT}:stream/{self.name}"
        self.clock = sandbox.clock
        self._sandbox = sandbox

    def __call__(self, operation: str, /, **request: Any) -> dict[str, Any]:
        from botocore.exceptions import ClientError

        try:
            answer: dict[str, Any] = in_seconds(self._sandbox.call(operation, request))
        except ClientError as error:
            said = error.response["Error"]
            raise KinesisError(said["Code"], said["Message"]) from error
        return answer

    def pass_by(self, seconds: float) -> None:
        if self._sandbox.own_streams:
            self.clock.advance(seconds)
        else:
            Clock().wait(seconds)

    def refuses(self, code: str, match: str | None, operation: str, /, **request: Any) -> KinesisError:
        """An upstream that is not ours has words of its own."""
        return super().refuses(code, match if self._sandbox.own_streams else None, operation, **request)


def in_seconds(answer: Any) -> Any:
    if isinstance(answer, datetime):
        return answer.timestamp()
    if isinstance(answer, dict):
        return {name: in_seconds(value) for name, value in answer.items()}
    return [in_seconds(value) for value in answer] if isinstance(answer, list) else answer


@pytest.fixture(params=["disk", "memory", *in_profiles()])
def api(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Calls]:
    """A relaxed engine on disk, then in memory, then the streams of each profile."""
    if request.param in PROFILES:
        with use_sandbox(request.param, request) as sandbox:
            yield ProfileApi(sandbox)
        return
    api = Api(tmp_path / "kinesis" if request.param == "disk" else None)
    yield api
    api.engine.close()
