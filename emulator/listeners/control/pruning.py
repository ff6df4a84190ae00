"""Pruning: remove old or excess objects and events."""

from __future__ import annotations

from http import HTTPStatus

from emulator.archive.pruning import NoSuchBucketError, Pruning
from emulator.listeners.control.endpoint_routing import ApiError, handles, translate_errors
from rdss_sandbox.api.sandbox_state import SandboxState
from rdss_sandbox.shapes.pruning import Prune, Pruned


class PruneResources:
    """``/prune``."""

    def __init__(self, pruning: Pruning) -> None:
        self._pruning = pruning

    @handles(SandboxState.prune)
    def prune(self, limits: Prune) -> Pruned:
        if limits.older_than is None and limits.keep_bytes is None:
            raise ApiError(HTTPStatus.BAD_REQUEST, "nothing_to_prune", "give older_than, keep_bytes, or both")
        with translate_errors((NoSuchBucketError, HTTPStatus.NOT_FOUND, "NoSuchBucket")):
            return self._pruning.prune(limits)
