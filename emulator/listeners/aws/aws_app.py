"""The AWS endpoint: every service on one port. A request's headers say which service it is for."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec

from emulator.diagnosis.recorder import Recorder
from emulator.events import Events
from emulator.http.asgi import App, HttpScope, Receive, Send, answer, whole_body
from emulator.listeners.aws.access_policy import AWS_HEALTH_PATHS
from emulator.listeners.aws.credentials import caller_of
from emulator.listeners.aws.interception import Backend, Interceptor
from emulator.listeners.aws.keeping import Keep, keep_nothing
from emulator.listeners.aws.kinesis_handler import TARGET_PREFIX, KinesisHandler
from emulator.listeners.aws.moto_api import answer_moto_api, is_moto_api
from emulator.listeners.aws.moto_calls import MotoCalls
from emulator.listeners.aws.stream_access import StreamAccess
from emulator.listeners.aws.traced_call import TracedCall, trace_of

if TYPE_CHECKING:
    from emulator.listeners.aws.moto_services import MotoServices

_LAMBDA = re.compile(r"/20\d\d-\d\d-\d\d/(functions|event-source-mappings|tags|account-settings|layers)(/|$)")
"""The paths of Lambda: a version of its API, and what it has."""
_MOTO_SERVICES = ("cloudwatch", "dynamodb", "s3", "sns", "sqs", "ssm", "sts")


class AwsApp:
    """The ASGI application of the AWS port.

    Kinesis requests go through ``interceptors`` (read for each request) to ``backend``, all others to moto.
    ``version`` is in the health answer. ``prepare_services`` is called before moto's first request, ``reset``
    when a client resets moto's server. ``access`` restricts access keys, by default none. ``calls`` makes
    moto's own HTTP calls. ``keep`` surrounds moto's answer to a request, and stores what that changes. A
    ``recorder`` writes down what clients of Kinesis do. ``services`` answer in moto's place, by the name of
    a service in signatures.
    """

    def __init__(
        self,
        backend: Backend,
        events: Events,
        interceptors: Sequence[Interceptor] = (),
        version: str = "",
        *,
        prepare_services: Callable[[], None] = lambda: None,
        access: StreamAccess | None = None,
        reset: Callable[[], object] = lambda: None,
        calls: MotoCalls | None = None,
        keep: Keep = keep_nothing,
        recorder: Recorder | None = None,
        services: Mapping[str, App] = MappingProxyType({}),
    ) -> None:
        access = access or StreamAccess(events)
        self._recorder = recorder
        self._kinesis = KinesisHandler(backend, interceptors, events, access, recorder)
        self._new_moto = partial(_moto_services, events, prepare_services, calls, keep, access)
        self._moto: MotoServices | None = None
        self._version = version
        self._reset = reset
        self._services = services

    async def __call__(self, scope: HttpScope, receive: Receive, send: Send) -> None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        if b"x-amzn-trace-id" in headers and self._recorder is not None:
            trace = trace_of(headers)
            if self._recorder.batches.has(trace):
                call = TracedCall(self._recorder.batches, trace, scope, headers, receive=receive, send=send)
                receive, send = call.receive, call.send
        if headers.get(b"x-amz-target", b"").startswith(TARGET_PREFIX):
            await self._kinesis(scope, receive, send, headers)
            return
        caller = caller_of(headers.get(b"authorization"), scope["query_string"])
        if caller and caller.service == "kinesis":
            await self._kinesis(scope, receive, send, headers)
        elif scope["path"] in AWS_HEALTH_PATHS and caller is None:
            await whole_body(receive)
            state = "running" if self._moto and self._moto.started else "available"
            services = {"kinesis": "running"} | dict.fromkeys((*_MOTO_SERVICES, *self._services), state)
            await answer(
                send,
                200,
                [(b"content-type", b"application/json")],
                msgspec.json.encode({"services": services, "edition": "community", "version": self._version}),
            )
        elif (service := caller.service if caller else _find_service(scope["path"])) in self._services:
            await self._services[service](scope, receive, send)
        elif is_moto_api(scope["path"]):
            await answer_moto_api(scope, receive, send, self._reset)
        else:
            if self._recorder is not None:
                self._recorder.note_request()
            self._moto = self._moto or self._new_moto()
            await self._moto(scope, receive, send, caller, headers)


def _find_service(path: str) -> str:
    """The service of a request that names none by a signature, where its path does; else ""."""
    return "lambda" if _LAMBDA.match(path) else ""


def _moto_services(
    events: Events, prepare: Callable[[], None], calls: MotoCalls | None, keep: Keep, access: StreamAccess
) -> MotoServices:
    from emulator.listeners.aws.moto_services import MotoServices
    from emulator.listeners.aws.service_access import ServiceAccess

    return MotoServices(events, prepare, calls, keep, ServiceAccess(access, events))
