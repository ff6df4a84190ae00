"""Functions in a running sandbox. Nothing of them is loaded before one is asked for, unless some are kept."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from emulator.assembly.component import Component, Saved
from emulator.http.asgi import App
from emulator.http.lazy_app import LazyApp

if TYPE_CHECKING:
    from emulator.assembly.components import Components
    from extensions.functions.function_service import FunctionService
    from extensions.functions.stacks.stack_service import StackService

FUNCTIONS = "functions.log"
MAPPINGS = "function-mappings.log"
EVENTS = "function-events.log"
STACKS = "stacks.log"


class FunctionComponent(Component):
    """The service is there from the first request on, or from the start, where functions are kept or wanted.

    In front of an upstream there is none: its own Lambda is asked.
    """

    def __init__(self, components: Components) -> None:
        self._components = components
        self._aws = ""
        path = components.directory.path if components.directory else None
        self._logs = [path / name if path else None for name in (FUNCTIONS, MAPPINGS, EVENTS)]
        self._stack_log = path / STACKS if path else None
        self._lock = threading.Lock()
        self._service: FunctionService | None = None
        self._stacks: StackService | None = None
        kept = any(log is not None and log.exists() for log in self._logs)
        if kept or components.settings.lambda_loaders:
            self.find_service()
        if self._stack_log is not None and self._stack_log.exists():
            self.find_stacks()

    def find_service(self) -> FunctionService:
        """The service, made if it was not needed so far."""
        with self._lock:
            if self._service is None:
                from extensions.functions.function_service import FunctionService

                self._service = FunctionService(self._components, self._logs, lambda: self._aws)
            return self._service

    def find_stacks(self) -> StackService:
        """The service of stacks, made if it was not needed so far."""
        with self._lock:
            if self._stacks is None:
                from extensions.functions.stacks.stack_service import StackService

                self._stacks = StackService(self._components, self._stack_log, lambda: self._aws)
            return self._stacks

    def aws_services(self) -> Mapping[str, App]:
        if self._components.infrastructure.state is None:
            return {}
        return {
            "lambda": LazyApp(lambda: self.find_service().build_lambda()),
            "cloudformation": LazyApp(lambda: self.find_stacks().app),
            "logs": LazyApp(lambda: self.find_service().build_logs()),
        }

    def set_endpoint(self, aws: str) -> None:
        self._aws = aws

    def start(self) -> None:
        if self._service is not None:
            self._service.start()
        if self._stacks is not None:
            self._stacks.start()

    def stop(self) -> None:
        if self._stacks is not None:
            self._stacks.stop()
        if self._service is not None:
            self._service.stop()

    def close(self) -> None:
        if self._stacks is not None:
            self._stacks.close()
        if self._service is not None:
            self._service.close()

    def held(self) -> AbstractContextManager[object]:
        return nullcontext() if self._service is None else self._service.held()

    def save(self) -> Mapping[str, Sequence[bytes]]:
        functions = {} if self._service is None else self._service.save()
        stacks = {} if self._stacks is None else {"stacks": self._stacks.store.save()}
        return {**functions, **stacks}

    def load(self, saved: Saved, number: int) -> None:
        del number
        if self._service is not None or saved.get("functions"):
            self.find_service().load(saved)
        if self._stacks is not None or saved.get("stacks"):
            self.find_stacks().store.load(saved.get("stacks", ()))

    def resume(self) -> None:
        if self._service is not None:
            self._service.resume()
        if self._stacks is not None:
            self._stacks.start()

    def reset(self) -> None:
        if self._service is not None:
            self._service.reset()
        if self._stacks is not None:
            self._stacks.store.load(())
