"""An execution environment: one process, which takes one invocation at a time from the Lambda Runtime API.

    Environment.invoke -> queue -> GET  /invocation/next       -> the process
                       <- future <- POST /invocation/{id}/...  <- the process

The port is the environment's own, so that whoever asks there is its process. Time-outs are in real time, as
the process runs in real time.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from emulator.clock import Clock, stopwatch
from emulator.http.asgi import HttpScope, Receive, Send, answer, wait_for_disconnect, whole_body
from emulator.http.server import Server, serve
from emulator.rng import new_uuid
from extensions.functions.runtime.function_logs import FunctionLogs, OutputLines, group_of

INIT_SECONDS: Final = 10.0
MOST_ANSWER_BYTES: Final = 6_291_556
"""The longest answer of a synchronous invocation, as Lambda states it."""
_API: Final = "/2018-06-01/runtime"
_PIPE_BYTES: Final = 1 << 16


class Program(NamedTuple):
    """What an environment runs. ``timeout`` is seconds, ``memory`` megabytes."""

    command: Sequence[str]
    variables: Mapping[str, str]
    folder: str
    function: str
    version: str
    arn: str
    timeout: float
    memory: int


class Outcome(NamedTuple):
    """What came of an invocation: the ``payload``, and ``error``, ``Unhandled`` or empty.

    ``log`` has the lines that it wrote. ``seconds`` is real time.
    """

    payload: bytes
    error: str
    log: tuple[str, ...]
    request_id: str
    seconds: float


class _Invocation:
    """One invocation on its way: ``done`` gets the payload and the error."""

    def __init__(self, request_id: str, payload: bytes, deadline: float) -> None:
        self.request_id = request_id
        self.payload = payload
        self.deadline = deadline
        self.done: asyncio.Future[tuple[bytes, str]] = asyncio.get_running_loop().create_future()

    def settle(self, payload: bytes, error: str = "") -> None:
        if not self.done.done():
            self.done.set_result((payload, error))


class Environment:
    """One process for one version of a function. All methods are called on one event loop."""

    def __init__(self, program: Program, logs: FunctionLogs, clock: Clock) -> None:
        self.program = program
        self._logs = logs
        self._clock = clock
        self._group = group_of(program.function)
        today = clock.now().strftime("%Y/%m/%d")
        self.stream = f"{today}/[{program.version}]{new_uuid().replace('-', '')}"
        self._server: Server | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._next: asyncio.Queue[_Invocation] = asyncio.Queue()
        self._current: _Invocation | None = None
        self._ready = asyncio.Event()
        self._init_error: bytes | None = None
        self._lines = OutputLines()
        self._written: list[str] = []
        self._pipe = -1
        self._ended = False

    @property
    def usable(self) -> bool:
        """Whether it may take another invocation."""
        return not self._ended and self._process is not None and self._process.returncode is None

    async def invoke(self, payload: bytes, request_id: str) -> Outcome:
        """Run one invocation, and the process first if it does not run. The outcome tells of any failure."""
        self._written.clear()
        self._note(f"START RequestId: {request_id} Version: {self.program.version}")
        began = stopwatch()
        init = 0.0
        try:
            if self._process is None:
                await self._start()
                init = stopwatch() - began
            found, error = await self._run(payload, request_id)
        except asyncio.CancelledError:
            # The process is still at it, so nothing else may be given to it.
            self._ended = True
            raise
        seconds = stopwatch() - began - init
        self._read_pipe()
        self._note(f"END RequestId: {request_id}")
        self._note(self._report(request_id, seconds, init))
        return Outcome(found, error, tuple(self._written), request_id, seconds)

    @property
    def init_failure(self) -> str:
        """Why it cannot take an invocation: what went wrong before the first one; empty where nothing did."""
        error = {} if self._init_error is None else msgspec.json.decode(self._init_error)
        return ": ".join(str(error[name]) for name in ("errorType", "errorMessage") if name in error)

    def signal(self, number: signal.Signals) -> bool:
        """Send a signal to the process and all that it started. False where there is none."""
        process = self._process
        if process is None or process.returncode is not None:
            return False
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        return True

    async def close(self) -> None:
        """End the process, at once, and everything that it started."""
        self._ended = True
        self.signal(signal.SIGKILL)
        process, self._process = self._process, None
        if process is not None:
            await _outlast(process)
            self._read_pipe()
        self._close_pipe()
        if self._server is not None:
            await self._server.close(0.0)
            self._server = None

    async def _start(self) -> None:
        self._server = await serve(self._answer, "127.0.0.1", 0)
        self._pipe, writing = os.pipe()
        os.set_blocking(self._pipe, False)
        asyncio.get_running_loop().add_reader(self._pipe, self._read_pipe)
        variables = {**self.program.variables, "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{self._server.port}"}
        variables["AWS_LAMBDA_LOG_GROUP_NAME"] = self._group
        variables["AWS_LAMBDA_LOG_STREAM_NAME"] = self.stream
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self.program.command,
                env=variables,
                cwd=self.program.folder,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=writing,
                stderr=writing,
                start_new_session=True,
            )
        except OSError as error:
            self._fail_init("Runtime.InvalidEntrypoint", f"{self.program.command[0]}: {error.strerror}")
        finally:
            os.close(writing)
        if self._ended:
            # Who closed it meanwhile found no process, or no server, to end.
            await self.close()
        elif self._process is not None:
            await self._wait(self._ready.wait(), INIT_SECONDS)

    async def _run(self, payload: bytes, request_id: str) -> tuple[bytes, str]:
        if self._init_error is not None:
            return await self._end(self._init_error)
        if not self._ready.is_set():
            return await self._end(self._describe_exit(request_id))
        invocation = _Invocation(request_id, payload, self._clock_free_deadline())
        self._current = invocation
        self._next.put_nowait(invocation)
        try:
            await self._wait(asyncio.shield(invocation.done), self.program.timeout)
        finally:
            self._current = None
        if invocation.done.done():
            return invocation.done.result()
        if self._process is not None and self._process.returncode is None:
            limit = f"Task timed out after {self.program.timeout:.2f} seconds"
            return await self._end(_error("Sandbox.Timedout", f"RequestId: {request_id} Error: {limit}"))
        return await self._end(self._describe_exit(request_id))

    async def _wait(self, awaited: Awaitable[object], seconds: float) -> None:
        """Wait for something, for the end of the process, or for so many real seconds."""
        assert self._process is not None
        works = [asyncio.ensure_future(awaited), asyncio.ensure_future(self._process.wait())]
        try:
            await asyncio.wait(works, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for work in works:
                work.cancel()

    def _clock_free_deadline(self) -> float:
        """The machine's time at which the process is killed, which the handler compares with its own."""
        return Clock().time() + self.program.timeout

    async def _end(self, error: bytes) -> tuple[bytes, str]:
        self._read_pipe()
        await self.close()
        return error, "Unhandled"

    def _describe_exit(self, request_id: str) -> bytes:
        process = self._process
        if process is None or process.returncode is None:
            limit = f"Error: Task timed out after {INIT_SECONDS:.2f} seconds"
            return _error("Sandbox.Timedout", f"RequestId: {request_id} {limit}")
        code = process.returncode
        if code == 0:
            how = "Runtime exited without providing a reason"
        elif code < 0:
            how = f"Runtime exited with error: signal: {signal.strsignal(-code)}"
        else:
            how = f"Runtime exited with error: exit status {code}"
        return _error("Runtime.ExitError", f"RequestId: {request_id} Error: {how}")

    def _fail_init(self, kind: str, why: str) -> None:
        self._init_error = _error(kind, why)
        self._note(f"INIT_REPORT Status: error Error Type: {kind}")

    # -- the Runtime API

    async def _answer(self, scope: HttpScope, receive: Receive, send: Send) -> None:
        path = scope["path"].removeprefix(_API)
        if scope["method"] == "GET" and path == "/invocation/next":
            await self._give_next(receive, send)
            return
        body = await whole_body(receive, MOST_ANSWER_BYTES * 4)
        _, _, rest = path.partition("/invocation/")
        request_id, _, kind = rest.partition("/")
        current = self._current
        if path == "/init/error":
            self._init_error = body
            self._ready.set()
        elif current is None or current.request_id != request_id:
            body = msgspec.json.encode({"errorMessage": "no such request", "errorType": "InvalidRequestID"})
            await answer(send, 400, [(b"content-type", b"application/json")], body)
            return
        elif kind == "response" and len(body) > MOST_ANSWER_BYTES:
            most = f"Response payload size exceeded maximum allowed payload size ({MOST_ANSWER_BYTES} bytes)."
            current.settle(_error("Function.ResponseSizeTooLarge", most), "Unhandled")
        else:
            current.settle(body, "" if kind == "response" else "Unhandled")
        await answer(send, 202, [(b"content-type", b"application/json")], b'{"status":"OK"}\n')

    async def _give_next(self, receive: Receive, send: Send) -> None:
        await whole_body(receive)
        self._ready.set()
        gone = asyncio.ensure_future(wait_for_disconnect(receive))
        waiting = asyncio.ensure_future(self._next.get())
        try:
            await asyncio.wait((gone, waiting), return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
            waiting.cancel()
        if not waiting.done() or waiting.cancelled():
            return
        invocation = waiting.result()
        headers = [
            (b"content-type", b"application/json"),
            (b"lambda-runtime-aws-request-id", invocation.request_id.encode()),
            (b"lambda-runtime-deadline-ms", str(int(invocation.deadline * 1000)).encode()),
            (b"lambda-runtime-invoked-function-arn", self.program.arn.encode()),
            (b"lambda-runtime-trace-id", f"Root={trace_of(invocation.request_id)};Sampled=0".encode()),
        ]
        await answer(send, 200, headers, invocation.payload)

    # -- what the process writes

    def _read_pipe(self) -> None:
        """Take what the process has written so far, which it does before it answers."""
        while self._pipe >= 0:
            try:
                data = os.read(self._pipe, _PIPE_BYTES)
            except BlockingIOError:
                return
            if not data:
                self._close_pipe()
                return
            self._note(*self._lines.feed(data))

    def _close_pipe(self) -> None:
        if self._pipe >= 0:
            asyncio.get_running_loop().remove_reader(self._pipe)
            os.close(self._pipe)
            self._pipe = -1
            self._note(*self._lines.end())

    def _note(self, *lines: str) -> None:
        self._written += lines
        self._logs.write(self._group, self.stream, lines)

    def _report(self, request_id: str, seconds: float, init: float) -> str:
        took = seconds * 1000
        text = (
            f"REPORT RequestId: {request_id}\tDuration: {took:.2f} ms\tBilled Duration: {int(took) + 1} ms\t"
            f"Memory Size: {self.program.memory} MB\tMax Memory Used: {self._memory_used()} MB\t"
        )
        return f"{text}Init Duration: {init * 1000:.2f} ms\t" if init else text

    def _memory_used(self) -> int:
        """The most memory that the process had, in megabytes; 0 where the system does not tell."""
        if self._process is None:
            return 0
        status = Path(f"/proc/{self._process.pid}/status")
        with suppress(OSError, StopIteration, ValueError), status.open() as lines:
            line = next(each for each in lines if each.startswith("VmHWM"))
            return int(line.split()[1]) >> 10
        return 0


def trace_of(request_id: str) -> str:
    """The trace of an invocation, which SDKs name in each request that its handler makes."""
    digits = request_id.replace("-", "")
    return f"1-{digits[:8]}-{digits[8:]}"


async def _outlast(process: asyncio.subprocess.Process) -> None:
    """Wait for a killed process, also when that is cancelled: nobody else would, and it takes a moment."""
    ended = asyncio.ensure_future(process.wait())
    cancelled: asyncio.CancelledError | None = None
    while not ended.done():
        try:
            await asyncio.shield(ended)
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled


def _error(kind: str, message: str) -> bytes:
    return msgspec.json.encode({"errorType": kind, "errorMessage": message})
