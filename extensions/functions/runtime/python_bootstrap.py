"""Runs a Python handler in a process of its own: the client of the Lambda Runtime API.

It is started by its path, with nothing of the sandbox on the import path.
"""

from __future__ import annotations

import importlib
import json
import os
import socket
import sys
import time
import traceback
from contextlib import suppress
from importlib.machinery import PathFinder
from typing import Any

API = "/2018-06-01/runtime"


class Context:
    """What a handler is told of its invocation, as Lambda's context object has it."""

    def __init__(self, request_id: str, deadline_ms: int, arn: str, client_context: str | None) -> None:
        self.aws_request_id = request_id
        self.invoked_function_arn = arn
        self.function_name = os.environ["AWS_LAMBDA_FUNCTION_NAME"]
        self.function_version = os.environ["AWS_LAMBDA_FUNCTION_VERSION"]
        self.memory_limit_in_mb = os.environ["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"]
        self.log_group_name = os.environ["AWS_LAMBDA_LOG_GROUP_NAME"]
        self.log_stream_name = os.environ["AWS_LAMBDA_LOG_STREAM_NAME"]
        self.client_context = client_context
        self.identity = None
        self._deadline_ms = deadline_ms

    def get_remaining_time_in_millis(self) -> int:
        """How long the handler may still take, in milliseconds."""
        return max(int(self._deadline_ms - time.time() * 1000), 0)  # noqa: TID251 -- the machine's time

    def log(self, message: object) -> None:
        """Write to the log, as ``print`` does."""
        sys.stdout.write(str(message))


def limit_memory() -> None:
    """Let the handler's own memory grow to what the function has, beside the interpreter's."""
    import resource

    own = 64 << 20
    most = (int(os.environ["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"]) << 20) + own
    # A system without this limit lets it grow.
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def describe(error: BaseException, request_id: str) -> dict[str, Any]:
    """An exception in the form of the Runtime API. ``request_id`` is empty before the first invocation."""
    trace = traceback.format_list(traceback.extract_tb(error.__traceback__)[1:])
    return {
        "errorMessage": str(error),
        "errorType": type(error).__name__,
        "requestId": request_id,
        "stackTrace": trace,
    }


def load_handler(spelled: str) -> Any:
    """Import the handler, named ``module.function``. What is wrong is raised by Lambda's own names."""
    module, _, name = spelled.rpartition(".")
    root = os.environ["LAMBDA_TASK_ROOT"]
    sys.path.insert(0, root)
    top = module.replace("/", ".").partition(".")[0]
    if top in sys.builtin_module_names:
        conflict = f"Cannot use built-in module {module} as a handler module"
        raise type("Runtime.BuiltInModuleConflict", (Exception,), {})(conflict)
    if top in sys.modules and PathFinder.find_spec(top, [root]):
        # It is called as a module that was imported here (token.py), which would be found in its place.
        del sys.modules[top]
    try:
        loaded = importlib.import_module(module.replace("/", "."))
    except ImportError as error:
        wrong = f"Unable to import module '{module}': {error}"
        raise type("Runtime.ImportModuleError", (Exception,), {})(wrong) from error
    except SyntaxError as error:
        wrong = f"Syntax error in module '{module}': {error}"
        raise type("Runtime.UserCodeSyntaxError", (Exception,), {})(wrong) from error
    if not hasattr(loaded, name):
        missing = f"Handler '{name}' missing on module '{module}'"
        raise type("Runtime.HandlerNotFound", (Exception,), {})(missing)
    return getattr(loaded, name)


class Runtime:
    """A connection to the Runtime API that stays open. ``http.client`` would double what a start takes."""

    def __init__(self) -> None:
        self.address = os.environ["AWS_LAMBDA_RUNTIME_API"]
        host, _, port = self.address.partition(":")
        self.socket = socket.create_connection((host, int(port)))
        self.answers = self.socket.makefile("rb")

    def post(self, path: str, body: bytes, headers: dict[str, str] | None = None) -> None:
        """Answer, once all that was written is out."""
        sys.stdout.flush()
        sys.stderr.flush()
        self.ask("POST", path, body, headers or {})

    def next(self) -> tuple[dict[str, str], bytes]:
        """Wait for the next invocation: its headers, by their names in lower case, and its event."""
        return self.ask("GET", "/invocation/next", b"", {})

    def ask(
        self, method: str, path: str, body: bytes, headers: dict[str, str]
    ) -> tuple[dict[str, str], bytes]:
        """Send a request: the headers and body of its answer. Raises OSError where there is none."""
        sent = {"Host": self.address, "Content-Length": str(len(body)), **headers}
        head = [f"{method} {API}{path} HTTP/1.1", *(f"{name}: {value}" for name, value in sent.items())]
        self.socket.sendall("\r\n".join([*head, "", ""]).encode() + body)
        if not self.answers.readline():
            raise ConnectionError("the connection was closed")
        found: dict[str, str] = {}
        while line := self.answers.readline().strip():
            name, _, value = line.decode("latin-1").partition(":")
            found[name.lower()] = value.strip()
        return found, self.answers.read(int(found.get("content-length", 0)))

    def fail(self, path: str, error: BaseException, request_id: str = "") -> None:
        """Report an exception, and write it to the log."""
        described = describe(error, request_id)
        sys.stdout.write(f"[ERROR] {described['errorType']}: {described['errorMessage']}\n")
        if described["stackTrace"]:
            sys.stdout.write("Traceback (most recent call last):\n" + "".join(described["stackTrace"]))
        headers = {"Lambda-Runtime-Function-Error-Type": described["errorType"]}
        self.post(path, json.dumps(described).encode(), headers)


def run() -> int:
    """Take invocations until the sandbox ends. Returns the exit code."""
    runtime = Runtime()
    try:
        limit_memory()
        handler = load_handler(os.environ["_HANDLER"])
    except Exception as error:  # noqa: BLE001 -- whatever the user's module raises
        runtime.fail("/init/error", error)
        return 1
    while True:
        headers, event = runtime.next()
        request = headers["lambda-runtime-aws-request-id"]
        os.environ["_X_AMZN_TRACE_ID"] = headers.get("lambda-runtime-trace-id", "")
        client = headers.get("lambda-runtime-client-context")
        deadline = int(headers["lambda-runtime-deadline-ms"])
        context = Context(request, deadline, headers["lambda-runtime-invoked-function-arn"], client)
        try:
            answer = json.dumps(handler(json.loads(event or b"null"), context)).encode()
        except Exception as error:  # noqa: BLE001 -- whatever the handler raises
            runtime.fail(f"/invocation/{request}/error", error, request)
        else:
            runtime.post(f"/invocation/{request}/response", answer)


if __name__ == "__main__":
    try:
        sys.exit(run())
    except OSError:
        sys.exit(0)  # the sandbox has ended
