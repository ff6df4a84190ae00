"""How a deployment is certified, by its event source."""

from __future__ import annotations

from functools import partial

from extensions.functions.verdict.deployment import QUEUE, Deployment
from extensions.functions.verdict.handler_attempt import HandlerAttempt
from extensions.functions.verdict.handler_lab import HandlerLab
from extensions.functions.verdict.handler_run import HandlerRun
from extensions.functions.verdict.handler_stages import DOES_TO_HANDLERS, QUEUE_STAGES, STREAM_STAGES
from extensions.functions.verdict.queue_handler_lab import QueueHandlerLab
from sandbox.certify.certified_kinds import Certified


def find_way(deployment: Deployment) -> Certified:
    """What a handler is certified with."""
    queued = deployment.channel == QUEUE
    return Certified(
        partial(QueueHandlerLab if queued else HandlerLab, deployment),
        HandlerRun,
        QUEUE_STAGES if queued else STREAM_STAGES,
        attempt=HandlerAttempt,
        subcommand="handler",
        does=DOES_TO_HANDLERS,
    )
