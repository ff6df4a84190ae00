"""The lesson on handlers: what is learned in it is a handler for Lambda as it is."""

from __future__ import annotations

import json
from base64 import b64encode

from extensions.functions.engine.function_code import zip_files
from sandbox.learn.lesson import Language, find_lesson, read_course
from tests.extensions.functions.conftest import Aws


def test_the_solution_runs_in_lambda(aws: Aws) -> None:
    """It rejects a bad message, and the batch is done with; the broken one fails all of it."""
    lesson = find_lesson(read_course(), "lambda-handler")
    variables = {"SANDBOX_ERROR_STREAM": "error", "SANDBOX_INVALID_STREAM": "invalid"}
    event = {"Records": [{"kinesis": {"data": b64encode(b"no message").decode(), "sequenceNumber": "1"}}]}
    for name, source in (
        ("broken", lesson.client(Language.PYTHON).read_text()),
        ("solved", lesson.solve(Language.PYTHON)),
    ):
        archive = zip_files({"client.py": source.encode()})
        aws.make(
            name, "", Handler="client.handler", Timeout=30, MemorySize=256, Code={"ZipFile": archive},
            Environment={"Variables": variables},
        )  # fmt: skip
    assert aws.invoke("broken", json.dumps(event).encode())[1] == "Unhandled"
    assert json.loads(aws.invoke("solved", json.dumps(event).encode())[0]) == {"batchItemFailures": []}
    (rejected,) = (view for view in aws.emulator.components.streams.streams(aws.emulator.components.home)
                   if view.name == "invalid")  # fmt: skip
    assert sum(shard.put for shard in rejected.shards) == 1
