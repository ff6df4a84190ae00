"""What the clients of a kind of channel are certified with, for each kind that declares it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from emulator.channels.registry import KINDS
from rdss_sandbox.extension import import_place
from sandbox.certify.attempt import Attempt
from sandbox.certify.clause import Role
from sandbox.certify.consumer_run import ConsumerRun
from sandbox.certify.lab import Lab
from sandbox.certify.queue_consumer_run import QueueConsumerRun
from sandbox.certify.queue_lab import QueueLab
from sandbox.certify.stages import QUEUE_STAGES, STREAM_STAGES, Stage
from schemas.contract import Contract


class Certified(NamedTuple):
    """The sandbox of a trial, what plays a consumer's stages in it, and every stage of a role, in order."""

    lab: Callable[[int, Contract], Lab]
    consumer_run: Callable[[Attempt, Any], ConsumerRun]
    stages: Mapping[Role, tuple[Stage, ...]]


STREAM: Final = Certified(Lab, ConsumerRun, STREAM_STAGES)
QUEUE: Final = Certified(QueueLab, QueueConsumerRun, QUEUE_STAGES)


def find_certified(kind: str) -> Certified:
    """Find what clients of a kind are certified with, which declares it."""
    found: Certified = import_place(KINDS[kind].certified)
    return found
