"""The bugs of producers of a stream."""

from __future__ import annotations

from typing import Final

from sandbox.certify.clause import Group
from tests.sandbox.certify.population.kind import Kind

_KILLS: Final = ("delays", "killed before the answer", "killed after telling")
_REFUSALS: Final = ("delays", "throttling")
_LOSSES: Final = frozenset({"nothing-lost"})
_CONTRACT: Final = frozenset({Group.CONTRACT})

KINDS: Final = (
    Kind(
        "failed entries are passed over",
        "FailedRecordCount is not looked at: every entry of a call that was answered counts as sent.",
        "retries-failed-entries",
        ("delays", "partial failures"),
        _LOSSES | {"survives-errors"},
    ),
    Kind(
        "the whole batch again",
        "After a call that failed in part all of its entries are put again.",
        "retries-failed-entries",
        ("delays", "partial failures"),
    ),
    Kind(
        "drops what is refused",
        "What is refused for lack of throughput is left out.",
        "survives-throttling",
        _REFUSALS,
        _LOSSES | {"retries-failed-entries"},
    ),
    Kind(
        "gives up after two tries",
        "What is refused for the second time is left out.",
        "survives-throttling",
        _REFUSALS,
        _LOSSES | {"retries-failed-entries"},
    ),
    Kind(
        "gives up after four tries",
        "What is refused as often as an SDK tries is left out.",
        "survives-throttling",
        _REFUSALS,
        _LOSSES | {"retries-failed-entries"},
    ),
    Kind(
        "tells of what is refused",
        "What was refused is reported as sent.",
        "survives-throttling",
        _REFUSALS,
        _LOSSES | {"survives-errors"},
    ),
    Kind(
        "ends at a refusal",
        "A refusal for lack of throughput ends the program.",
        "survives-throttling",
        _REFUSALS,
        _LOSSES | {"retries-failed-entries"},
    ),
    Kind(
        "a worker ends at a refusal",
        "An exception of a worker is looked at by nobody: it ends, and its message is lost.",
        "survives-throttling",
        _REFUSALS,
        _LOSSES | {"retries-failed-entries"},
    ),
    Kind(
        "ends at an error",
        "A server's error ends the program.",
        "survives-errors",
        ("delays", "errors"),
        _LOSSES,
    ),
    Kind(
        "drops what is cut off",
        "What was under way when the connection was cut is left out.",
        "survives-errors",
        ("delays", "errors"),
        _LOSSES,
    ),
    Kind(
        "no longer pauses",
        "The pause before each further try is as long as the first.",
        "backs-off",
        _REFUSALS,
        frozenset({"back-off-as-specified"}),
    ),
    Kind(
        "no pauses",
        "What is refused is tried again at once.",
        "backs-off",
        _REFUSALS,
        frozenset({"back-off-as-specified"}),
    ),
    Kind(
        "marked before the put",
        "A message is kept as sent before it is put, and passed over after a death in between.",
        "resumes-after-a-kill",
        _KILLS,
        _LOSSES | {"retries-failed-entries", "survives-throttling"},
    ),
    Kind(
        "tells before the answer",
        "A message is reported as sent before the stream has answered.",
        "resumes-after-a-kill",
        _KILLS,
        _LOSSES | {"survives-throttling"},
    ),
    Kind(
        "forgets what was sent",
        "A start puts again what was sent before.",
        "resumes-after-a-kill",
        ("delays", "killed after telling"),
    ),
    Kind(
        "the last ones are left out",
        "What does not fill a batch, or comes last, is not sent when the program ends.",
        "nothing-lost",
        ("delays",),
    ),
    Kind(
        "a new messageId at each try",
        "What is tried again has another messageId, so that nobody recognises the duplicate.",
        "keeps-the-message-id",
        _REFUSALS,
        _LOSSES | {"survives-throttling", "retries-failed-entries", "resumes-after-a-kill"},
        groups=_CONTRACT,
    ),
    Kind(
        "another text at each try",
        "The text of what is tried again is not the same.",
        "keeps-the-message-id",
        _REFUSALS,
        groups=_CONTRACT,
    ),
    Kind(
        "no valid messages",
        "What is put lacks a field of the header.",
        "valid-messages",
        ("delays",),
        finds=frozenset({"invalid-message"}),
        groups=_CONTRACT,
    ),
    Kind(
        "pauses of their own",
        "The first pause is not that of the specification.",
        "back-off-as-specified",
        _REFUSALS,
        groups=_CONTRACT,
    ),
    Kind(
        "large messages are not split",
        "What is over the limit is put whole.",
        "never-oversize",
        ("sequences",),
        frozenset({"splits-sequences-rightly"}),
        frozenset({"over-the-limit"}),
    ),
    Kind(
        "the first part alone",
        "Of a message that is split the first part is put.",
        "splits-sequences-rightly",
        ("sequences",),
    ),
    Kind(
        "sends what has expired",
        "The time until which a message counts is not looked at.",
        "sends-nothing-expired",
        ("delays", "expired messages"),
        finds=frozenset({"expired-message"}),
    ),
)
