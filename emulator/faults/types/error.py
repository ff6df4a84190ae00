"""A call that fails with an error of the caller's choice."""

from __future__ import annotations

from emulator.faults.fault import Attribute, Direction, Done, Failure, FaultType, Hit, Phase


def inject(hit: Hit) -> Done:
    code, status = hit.attributes["code"], hit.attributes["status"]
    written = hit.attributes["written"] and hit.call.direction is Direction.PUBLISH
    message = hit.attributes["message"] or "Injected by the fault engine."
    hit.call.failure = Failure(code, message, status, written=written)
    suffix = ", after it took effect" if written else ""
    return Done(
        f"the call failed with {status} {code}{suffix}", {"code": code, "status": status, "written": written}
    )


TYPE = FaultType(
    "error",
    "A call fails with a code and a status. With written, the published messages are in the channel anyway, "
    "and the producer cannot know. RabbitMQ has no such codes: a status from 500 is an unknown outcome, a "
    "lower one a refusal. On the AMQP port that is a closed channel or a nack. An AMQP code (NO_ROUTE, "
    "NOT_FOUND, CONNECTION_FORCED, ...) returns the message, or closes the channel or the connection.",
    Phase.CALL,
    (Direction.PUBLISH, Direction.DELIVER),
    inject,
    (
        Attribute("code", "text", "InternalFailure", "the error's code"),
        Attribute("status", "integer", 500, "the HTTP status", least=400, most=599),
        Attribute("message", "text", "", "what the error says"),
        Attribute("written", "flag", False, "on publish: fail after the message was taken"),
    ),
)
