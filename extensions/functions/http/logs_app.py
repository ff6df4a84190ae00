"""CloudWatch Logs on the AWS port, for what functions wrote: its lists, and the events in them."""

from __future__ import annotations

import json
from typing import Any, Final

from emulator.http.asgi import HttpScope, Receive, Send, answer, whole_body
from emulator.rng import new_uuid
from extensions.functions.engine.errors import LambdaError
from extensions.functions.runtime.function_logs import FunctionLogs, LogLine

_PAGE: Final = 10_000
_JSON: Final = (b"content-type", b"application/x-amz-json-1.1")
_NO_GROUP: Final = "The specified log group does not exist."


class LogsApp:
    """The ASGI application. Functions make the groups and streams; nothing else is written here."""

    def __init__(self, logs: FunctionLogs) -> None:
        self._logs = logs
        self._operations = {
            "DescribeLogGroups": self._describe_groups,
            "DescribeLogStreams": self._describe_streams,
            "FilterLogEvents": self._filter_events,
            "GetLogEvents": self._get_events,
        }

    async def __call__(self, scope: HttpScope, receive: Receive, send: Send) -> None:
        target = dict(scope["headers"]).get(b"x-amz-target", b"").decode("latin-1").rpartition(".")[2]
        body = await whole_body(receive)
        status, headers = 200, [_JSON, (b"x-amzn-requestid", new_uuid().encode())]
        try:
            document = self._operations.get(target, _refuse)(_read(body))
        except LambdaError as error:
            status, document = error.status, {"__type": error.code, "message": error.message}
            headers.append((b"x-amzn-errortype", error.code.encode()))
        await answer(send, status, headers, json.dumps(document).encode())

    def _describe_groups(self, request: dict[str, Any]) -> dict[str, Any]:
        prefix = request.get("logGroupNamePrefix", "")
        found = [each for each in self._logs.groups() if each.startswith(prefix)]
        return {"logGroups": [{"logGroupName": each, "arn": _arn(each)} for each in found]}

    def _describe_streams(self, request: dict[str, Any]) -> dict[str, Any]:
        first: dict[str, LogLine] = {}
        last: dict[str, LogLine] = {}
        for line in self._lines(request):
            first.setdefault(line.stream, line)
            last[line.stream] = line
        prefix = request.get("logStreamNamePrefix", "")
        return {
            "logStreams": [
                {
                    "logStreamName": name,
                    "firstEventTimestamp": first[name].time,
                    "lastEventTimestamp": last[name].time,
                }
                for name in sorted(last)
                if name.startswith(prefix)
            ]
        }

    def _filter_events(self, request: dict[str, Any]) -> dict[str, Any]:
        """A page: ``filterPattern`` is words that a line has, or a text in quotes."""
        words = _read_words(request.get("filterPattern", ""))
        streams = request.get("logStreamNames")
        limit = min(int(request.get("limit", _PAGE)), _PAGE)
        found = [
            line
            for line in _in_time(self._lines(request), request)
            if (not streams or line.stream in streams) and all(word in line.message for word in words)
        ]
        events = [
            {**_event(line), "logStreamName": line.stream, "eventId": str(line.number)}
            for line in found[:limit]
        ]
        more = {"nextToken": str(found[limit - 1].number)} if len(found) > limit else {}
        return {"events": events, "searchedLogStreams": [], **more}

    def _get_events(self, request: dict[str, Any]) -> dict[str, Any]:
        name = request.get("logStreamName", "")
        found = [line for line in _in_time(self._lines(request), request) if line.stream == name]
        token = f"f/{found[-1].number if found else 0}"
        return {
            "events": [_event(line) for line in found],
            "nextForwardToken": token,
            "nextBackwardToken": token,
        }

    def _lines(self, request: dict[str, Any]) -> list[LogLine]:
        token = request.get("nextToken", "").removeprefix("f/")
        found = self._logs.read(request.get("logGroupName", ""), int(token) if token.isdecimal() else 0)
        if found is None:
            raise LambdaError("ResourceNotFoundException", _NO_GROUP)
        return found


def _refuse(_request: dict[str, Any]) -> dict[str, Any]:
    raise LambdaError("UnknownOperationException", "The logs of functions are read here, and that is all.")


def _in_time(lines: list[LogLine], request: dict[str, Any]) -> list[LogLine]:
    start, end = request.get("startTime", 0), request.get("endTime")
    return [line for line in lines if line.time >= start and (end is None or line.time < end)]


def _event(line: LogLine) -> dict[str, Any]:
    return {"timestamp": line.time, "message": f"{line.message}\n", "ingestionTime": line.time}


def _read_words(pattern: str) -> list[str]:
    stripped = pattern.strip()
    return (
        [stripped[1:-1]] if stripped[:1] == stripped[-1:] == '"' and len(stripped) > 1 else stripped.split()
    )


def _read(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body or b"{}")
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise LambdaError("SerializationException", "the request is no JSON object")
    return found


def _arn(group: str) -> str:
    return f"arn:aws:logs:us-east-1:000000000000:log-group:{group}:*"
