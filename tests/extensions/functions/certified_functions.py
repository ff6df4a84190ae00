"""The population of handlers: right ones of several shapes, and the bugs that they can have."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Final

from extensions.functions.verdict.deployment import QUEUE, STREAM, Deployment
from extensions.functions.verdict.handler_ways import find_way
from extensions.functions.watched_function import read_handler
from sandbox.certify.certified_kinds import Certified
from sandbox.certify.clause import Group, Role
from tests.sandbox.certify.population.kind import Kind, Part, Shape

_HANDLERS: Final = Path(__file__).parent / "handlers"
_FIRST: Final = ("duplicates",)
_POISON: Final = ("duplicates", "poison")
_KILLS: Final = ("duplicates", "killed with records in hand", "killed after telling", "killed while idle")
_LOSSES: Final = frozenset({"nothing-lost"})


def _deploy(program: Path, settings: dict[str, Any]) -> Certified:
    return find_way(Deployment(read_handler(f"{program}:handler"), **settings))


def _shape(
    name: str, channel: str, file: str, groups: frozenset[Group] | None = None, **settings: Any
) -> Shape:
    """A right handler in a file, deployed with settings of ``Deployment``."""
    made = Shape(
        name,
        Role.CONSUMER,
        channel,
        _HANDLERS / file,
        "node" if file.endswith(".mjs") else "",
        # In a batch of one message most bugs are none.
        changes=_HANDLERS / f"{'none' if settings.get('batch_size') == 1 else file.removesuffix('.py')}.diff",
        way=partial(_deploy, settings={"channel": channel, **settings}),
    )
    return made._replace(groups=groups) if groups else made


_BOTH: Final = frozenset(Group)
SHAPES: Final = (
    _shape("raises", STREAM, "raises.py", bisect=True),
    _shape("reports", STREAM, "reports.py", bisect=True, report_batch_item_failures=True),
    _shape("transaction", STREAM, "transaction.py", bisect=True),
    _shape("rejects", STREAM, "rejects.py"),
    _shape("JavaScript", STREAM, "reports.mjs", bisect=True, report_batch_item_failures=True),
    _shape("JavaScript-raises", STREAM, "raises.mjs", bisect=True),
    _shape("contract", STREAM, "contract.py", groups=_BOTH),
    _shape("raises", QUEUE, "raises.py", batch_size=1),
    _shape("reports", QUEUE, "reports.py", report_batch_item_failures=True),
    _shape("deletes", QUEUE, "deletes.py"),
    _shape("rejects", QUEUE, "rejects.py"),
    _shape("JavaScript", QUEUE, "reports.mjs", report_batch_item_failures=True),
    _shape("JavaScript-raises", QUEUE, "raises.mjs", batch_size=1),
    _shape("contract", QUEUE, "contract.py", groups=_BOTH),
)
_SHARED: Final = (
    Kind(
        "the first record alone",
        "Of each batch the first record is processed, and success is answered.",
        "nothing-lost",
        _FIRST,
        frozenset({"answers-after-the-effect"}),
    ),
    Kind("no memory of messageIds", "What comes twice is processed twice.", "nothing-twice", _FIRST),
    Kind(
        "messageIds in memory",
        "What was processed is remembered in the process, so that another one processes it again.",
        "nothing-twice",
        ("duplicates", "new environments", "distant duplicates"),
    ),
    Kind("altered bodies", "A body is decoded and written anew before the work.", "bodies-unaltered", _FIRST),
    Kind(
        "answers before the work",
        "The work goes on in the background when the handler answers, where Lambda freezes it.",
        "answers-after-the-effect",
        _FIRST,
        _LOSSES,
    ),
    Kind(
        "poison is swallowed",
        "What cannot be processed is logged, and answered as done.",
        "reports-poison",
        _POISON,
    ),
    Kind(
        "failures in a shape of its own",
        "The answer names the failures under another name, which Lambda takes for success.",
        "reports-poison",
        _POISON,
        _LOSSES | {"answers-after-the-effect"},
    ),
    Kind(
        "a failure sticks",
        "What a failure leaves in the process fails every later batch in it too.",
        "gives-up-poison-alone",
        _POISON,
        _LOSSES | {"nothing-twice", "reports-poison"},
    ),
    Kind(
        "stops when time is short",
        "With little time left the handler answers success, and forgets the rest of the batch.",
        "survives-time-outs",
        ("duplicates", "time-outs"),
        _LOSSES | {"answers-after-the-effect"},
    ),
    Kind(
        "marked before the work",
        "A message is kept as processed before the work, and passed over after a death in between.",
        "resumes-after-a-kill",
        _KILLS,
        _LOSSES | {"answers-after-the-effect"},
    ),
)
_OF_STREAMS: Final = (
    Kind(
        "swallows failures",
        "An exception ends the batch, is logged, and success is answered.",
        "nothing-lost",
        _POISON,
        frozenset({"reports-poison", "answers-after-the-effect"}),
    ),
    Kind("newest first", "A batch is processed from its end.", "keeps-the-order", ("duplicates", "order")),
    Kind("in parallel", "A batch is processed in any order.", "keeps-the-order", ("duplicates", "order")),
)
_OF_QUEUES: Final = (
    Kind(
        "the rest is forgotten",
        "The first record that fails ends the batch, and is alone in the answer.",
        "nothing-lost",
        _POISON,
        frozenset({"answers-after-the-effect"}),
    ),
    Kind(
        "one failure fails all",
        "The answer names all records of the batch when one has failed.",
        "gives-up-poison-alone",
        _POISON,
    ),
    Kind(
        "another identifier",
        "The answer names what has failed by something else than its id, which fails the whole batch.",
        "gives-up-poison-alone",
        _POISON,
    ),
)
PARTS: Final = (
    Part(Role.CONSUMER, STREAM, (*_SHARED, *_OF_STREAMS), "handlers of a stream"),
    Part(Role.CONSUMER, QUEUE, (*_SHARED, *_OF_QUEUES), "handlers of a queue"),
)
