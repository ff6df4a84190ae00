"""What is done to a handler, stage by stage."""

from __future__ import annotations

from typing import Final

from sandbox.certify.clause import Group, Role
from sandbox.certify.history import Level
from sandbox.certify.stages import CONSUMER, DOES, Stage

_BRONZE: Final = (
    *(stage for stage in CONSUMER if stage.name == "duplicates"),
    Stage("new environments", Level.BRONZE, Group.DELIVERY, "nothing-lost", 12),
    Stage("distant duplicates", Level.BRONZE, Group.DELIVERY, "nothing-lost", 150),
)
_SILVER: Final = (
    Stage("poison", Level.SILVER, Group.DELIVERY, "reports-poison", 3),
    Stage("time-outs", Level.SILVER, Group.DELIVERY, "survives-time-outs", 10),
)
_GOLD: Final = tuple(stage for stage in CONSUMER if stage.level is Level.GOLD)
_ORDER: Final = Stage("order", Level.SILVER, Group.DELIVERY, "keeps-the-order", 20)
STREAM_STAGES: Final = {Role.CONSUMER: (*_BRONZE, *_SILVER, _ORDER, *_GOLD)}
QUEUE_STAGES: Final = {Role.CONSUMER: (*_BRONZE, *_SILVER, *_GOLD)}
DOES_TO_HANDLERS: Final = {
    **DOES,
    "new environments": "Every process is ended between two batches, as by a deployment.",
    "distant duplicates": "Messages come again behind over a hundred others, and after new environments.",
    "poison": "What is no message is sent between messages of one batch.",
    "time-outs": "The process stands still until its time-out ends it, and until little time is left.",
    "order": "Messages are put under one key; of one batch the answer is lost.",
    "killed with records in hand": "The process is killed at moments spread over its work on a batch.",
    "killed after telling": "The process is killed as it tells of a message, and shortly after.",
    "killed while idle": "Every process is killed with nothing in hand.",
}
