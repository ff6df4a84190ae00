"""Functions at work: what is kept of them, their environments, mappings and APIs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emulator.assembly.component import Saved
from emulator.channels.aws_session import own_session
from emulator.http.asgi import App
from emulator.kinesis import Scope
from emulator.rng import Chance
from extensions.functions.deployed_loaders import DeployedLoaders
from extensions.functions.engine.errors import BadValueError, NotFoundError
from extensions.functions.engine.function import Place
from extensions.functions.engine.functions import Functions
from extensions.functions.event_loop import EventLoopThread
from extensions.functions.mappings.mapping_service import MappingService
from extensions.functions.mappings.mapping_store import MappingStore
from extensions.functions.runtime.event_queue import EventQueue
from extensions.functions.runtime.function_logs import FunctionLogs
from extensions.functions.runtime.invocation_faults import InvocationFaults
from extensions.functions.runtime.invoker import Invoker
from extensions.functions.runtime.recorded_handlers import HandlerRecorder, name_source
from extensions.functions.settings import FunctionSettings
from rdss_sandbox.aws_environment import aws_environment
from rdss_sandbox.shapes.recorded_batches import BatchSource

if TYPE_CHECKING:
    from collections.abc import Iterator

    from emulator.assembly.components import Components


class FunctionService:
    """Functions run in processes of their own; all that waits for them is on one ``loop``.

    What is kept is in the ``logs``, of functions, mappings and events. ``aws`` gives the URL of the AWS port.
    """

    def __init__(self, components: Components, logs: Sequence[Path | None], aws: Callable[[], str]) -> None:
        self._components = components
        self._aws = aws
        settings = components.settings
        self.functions = Functions(logs[0], fsync=settings.fsync)
        self.store = MappingStore(logs[1], fsync=settings.fsync)
        self._loaders = DeployedLoaders(components, self.functions, self.store)
        self.logs = FunctionLogs(components.clock)
        self.loop = EventLoopThread("functions")
        own_settings = settings.of(FunctionSettings)
        self._faults = InvocationFaults(components.fault_engine, components.clock)
        self.invoker = Invoker(
            self.functions,
            self.logs,
            components.clock,
            components.events,
            most=own_settings.functions_concurrency,
            idle_seconds=own_settings.functions_idle_seconds,
            access=self._variables,
            faults=self._faults,
            recorder=HandlerRecorder(components.infrastructure.recorder.batches, components.clock),
        )
        self.mappings = MappingService(
            self.store,
            self.invoker,
            components.streams,
            clock=components.clock,
            events=components.events,
            client=self._client,
            handed_over=self._loaders.note_loaded,
        )
        self.queue = EventQueue(
            self.functions,
            self.invoker,
            clock=components.clock,
            events=components.events,
            client=self._client,
            log=logs[2],
            fsync=settings.fsync,
        )
        torn = (self.functions.torn_bytes, self.store.torn_bytes, self.queue.torn_bytes)
        for file, count in zip(logs, torn, strict=True):
            if count:
                components.events.emit("journal.cut", file=str(file), bytes=count)
        self.functions.changed = self._forget
        for place in self.functions.places():
            self._faults.note_function(place.name)
        components.infrastructure.recorder.batches.list_sources = self._list_sources

    def start(self) -> None:
        """Deploy the loaders that are wanted, and run the mappings that there are. Raises CannotRunError."""
        self._loaders.remove()
        self._deploy()

    def resume(self) -> None:
        """Do the same after a load, which has left no loader."""
        self._deploy()

    def stop(self) -> None:
        """End every process and mapping."""
        if self.loop.running:
            self.loop.run(self._stop())
            self.loop.close()

    def close(self) -> None:
        """Close files."""
        self.queue.close()
        self.store.close()
        self.functions.close()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let nothing change while the context lasts, which begins when what mappings invoked has ended."""
        if self.loop.running:
            self.loop.run(self.mappings.finish())
        try:
            with self.functions.lock:
                yield
        finally:
            self._run()

    def save(self) -> Mapping[str, Sequence[bytes]]:
        """Copy the state by section."""
        return {
            "functions": self.functions.save(),
            "code": self.functions.save_code(),
            "mappings": self.store.save(),
            "function-events": self.queue.save(),
        }

    def load(self, saved: Saved) -> None:
        """Replace the state by what was saved. Raises OSError."""
        if self.loop.running:
            self.loop.run(self.queue.stop())
        self.queue.load(saved.get("function-events", ()))
        self.functions.load(saved.get("functions", ()), saved.get("code", ()))
        self.store.load(saved.get("mappings", ()))
        # Those of a snapshot would read on, while the archives' objects are made again from the streams.
        self._loaders.remove()

    def reset(self) -> None:
        """Forget everything."""
        if self.loop.running:
            self.loop.run(self.queue.stop())
            self.loop.run(self.mappings.stop())
        self.queue.load(())
        self.store.load(())
        self.functions.load((), ())
        self.logs.clear()
        self._deploy()

    def _deploy(self) -> None:
        self._loaders.deploy()
        self._run()

    def _run(self) -> None:
        if self.store.list_in() or not self.queue.is_empty:
            self.loop.run(self._start())

    async def _start(self) -> None:
        self.mappings.start()
        self.queue.start()

    async def _stop(self) -> None:
        await self.queue.stop()
        await self.mappings.stop()
        await self.invoker.close()

    def _forget(self, place: Place) -> None:
        self._faults.note_function(place.name)
        if self.loop.running:
            self.loop.begin(self.invoker.forget(place))

    def _list_sources(self) -> Iterator[BatchSource]:
        for mapping, hidden in self.mappings.list_hidden():
            with suppress(NotFoundError):
                _, version = self.functions.resolve(mapping.place, mapping.qualifier)
                seconds, source = float(mapping.batching_seconds), name_source(mapping.source)
                yield BatchSource(mapping.function, source, seconds, float(version.timeout), hidden)

    def build_lambda(self) -> App:
        """The API of Lambda."""
        from extensions.functions.http import function_operations, mapping_operations
        from extensions.functions.http.invoke_operations import InvokeOperations
        from extensions.functions.http.lambda_app import LambdaApp

        components = self._components
        functions = function_operations.FunctionOperations(self.functions, components.clock, self._fetch)
        mappings = mapping_operations.MappingOperations(self.mappings, self.functions, components.streams)
        draws = Chance(components.settings.seed).draws("functions")
        invoking = InvokeOperations(self.functions, self.invoker, self.queue, draws)
        operations = {
            **function_operations.list_operations(functions),
            **mapping_operations.list_operations(mappings),
            "Invoke": invoking.invoke,
        }
        moved = {name: self.loop.moved(operation) for name, operation in operations.items()}
        return LambdaApp(moved, components.report_failure)

    def build_logs(self) -> App:
        """The API of CloudWatch Logs."""
        from extensions.functions.http.logs_app import LogsApp

        return LogsApp(self.logs)

    def _variables(self, region: str) -> dict[str, str]:
        return aws_environment(self._aws(), region, self._components.settings.token, self._components.trust)

    def _client(self, service: str, region: str) -> Any:
        session = own_session(region, self._components.settings.token, self._components.trust)
        made: Any = session.client(service, endpoint_url=self._aws())  # type: ignore[call-overload]
        return made

    def _fetch(self, scope: Scope, bucket: str, key: str) -> bytes:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            found: bytes = self._client("s3", scope.region).get_object(Bucket=bucket, Key=key)["Body"].read()
        except (BotoCoreError, ClientError) as error:
            raise BadValueError(f"Error occurred while GetObject. {error}") from error
        return found
