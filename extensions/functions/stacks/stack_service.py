"""Stacks at work: what is kept of them, what is under way, and their API."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emulator.channels.aws_session import own_session
from emulator.http.asgi import App
from emulator.kinesis import Scope
from emulator.listeners.aws.credentials import DEFAULT_ACCOUNT
from extensions.functions.stacks.cloudformation_app import CloudFormationApp
from extensions.functions.stacks.resource_maker import ResourceMaker
from extensions.functions.stacks.stack_deployment import StackDeployment
from extensions.functions.stacks.stack_operations import StackOperations, list_operations
from extensions.functions.stacks.stack_store import StackStore

if TYPE_CHECKING:
    from emulator.assembly.components import Components


class StackService:
    """Stacks, kept in ``log``, which make their resources at the AWS port, whose URL ``aws`` gives."""

    def __init__(self, components: Components, log: Path | None, aws: Callable[[], str]) -> None:
        self._components = components
        self._aws = aws
        self._stopping = threading.Event()
        self.store = StackStore(log, fsync=components.settings.fsync)
        if self.store.torn_bytes:
            components.events.emit("journal.cut", file=str(log), bytes=self.store.torn_bytes)
        maker = ResourceMaker(self._client, self._stopping)
        self._deployment = StackDeployment(
            self.store,
            maker,
            clock=components.clock,
            events=components.events,
            stopping=self._stopping,
            failed=components.report_failure,
        )
        operations = StackOperations(
            self.store, self._deployment, components.clock, maker.client, self._session
        )
        self.app: App = CloudFormationApp(list_operations(operations), components.report_failure)

    def start(self) -> None:
        """Go on with what was under way."""
        self._deployment.start()

    def stop(self) -> None:
        """Leave what is under way to the next process."""
        self._stopping.set()
        self._deployment.stop()

    def close(self) -> None:
        """Close files."""
        self.store.close()

    def _session(self, region: str) -> Any:
        return own_session(region, self._components.settings.token, self._components.trust)

    def _client(self, service: str, scope: Scope) -> Any:
        # The account of a key of 12 digits is the key.
        as_account = {
            "aws_access_key_id": scope.account,
            "aws_secret_access_key": "sandbox",
            "aws_session_token": self._components.settings.token,
        }
        keys = {} if scope.account == DEFAULT_ACCOUNT else as_account
        return self._session(scope.region).client(service, endpoint_url=self._aws(), **keys)
