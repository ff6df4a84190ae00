"""What the consumer published itself is dropped when it comes back."""

from __future__ import annotations

from sandbox.certify.clause import ALL_CHANNELS, Clause, Finding, Group, Judgement, Role, judged
from sandbox.certify.history import History, Level


def judge(history: History) -> Judgement:
    """A message that came back is a breach when it is told of, or put on a queue, after that."""
    read = {each.message_id: each_read.at for each_read in history.reads() for each in each_read.records}
    findings, exposure = [], 0
    for echo in history.returned:
        if read.get(echo.message_id, 0.0) < echo.at:
            continue
        exposure += 1
        told = any(each.message_id == echo.message_id and each.at > echo.at for each in history.told)
        queue = next(
            (
                put.stream
                for put in history.puts_elsewhere()
                if put.at > echo.at and any(each.message_id == echo.message_id for each in put.entries)
            ),
            None,
        )
        if told or queue:
            done = "processed" if told else f"put on {queue}"
            findings.append(
                Finding(
                    f"{echo.message_id}, which the consumer put on {echo.stream}, came back and was {done}",
                    Level.GOLD,
                    {"messageId": echo.message_id, "stream": echo.stream},
                )
            )
    return judged(exposure, findings, "stimulus-never-landed" if history.returned else "feature-never-used")


CLAUSE = Clause(
    id="drops-its-own-echo",
    role=Role.CONSUMER,
    group=Group.CONTRACT,
    level=Level.GOLD,
    demand="What the consumer published itself is dropped when it comes back.",
    source="RDSS Message API 4.0.0, Local Data Repository",
    exercise="What it put on its output stream and on the queues is put on its input, byte for byte.",
    needed=2,
    judge=judge,
    channels=ALL_CHANNELS,
)
