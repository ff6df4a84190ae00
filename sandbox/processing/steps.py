"""The steps of a route, as the integration file declares them: one for each thing that an exchange can do."""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

import msgspec

from sandbox.processing.calls import KeyKind
from sandbox.processing.records import Binding

Template: TypeAlias = Any
"""See ``expressions``; a text that does not begin with ``$`` stands for itself."""
Failure: TypeAlias = Literal["validation", "business", "nothing found", "several found", "technical"]


class _Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="do"):
    """A step that is left out unless the condition ``when`` holds."""

    when: str | None = None


class Call(_Step, frozen=True, tag="call"):
    """Call a simulated system, once however often the message is processed.

    ``request`` is what it is sent, by default the message as it came. ``known_by`` says what the call is
    checked for repetition by: by default the object, or the message where that names none. ``key`` and
    ``operation`` are those of ``Exchange.call``. Its answer is ``$.answers.NAME`` in later steps, NAME being
    ``operation`` or else the system. A business error is collected, or fails the message.
    """

    system: str
    request: Template = None
    known_by: KeyKind | None = None
    key: Template = None
    operation: str | None = None
    business_errors: Literal["collect", "fail"] = "collect"

    @property
    def name(self) -> str:
        """What its answer is called."""
        return self.operation or self.system


class Funnel(_Step, frozen=True, tag="funnel"):
    """Go on when no other message of the same ``value`` is being processed; else come back later.

    ``in_order``: and none that is dated earlier is still to be done; ``without_failed``: but for one that
    FAILED. ``component`` names the place of the order, by default the route.
    """

    value: Template
    in_order: bool = False
    without_failed: bool = False
    component: str | None = None


class ChildOf(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A child, or with ``each``, the path of a list, one for each element, which is ``$`` then.

    Without ``body`` it has the element, or the message as it came.
    """

    service: str
    operation: str
    each: str | None = None
    body: Template = None
    object_id: Template = None
    entity_type: Template = None
    funnel: Template = None
    binding: Binding = Binding.HARD


class Split(_Step, frozen=True, tag="split"):
    """Hand over to children, processed first in this order; the route ends here."""

    children: tuple[ChildOf, ...]


class Keep(_Step, frozen=True, tag="keep"):
    """Keep data for the next attempts, ``$.kept`` there."""

    value: Template


class Remember(_Step, frozen=True, tag="remember"):
    """Remember a business error, and go on; the source is told of it at the end."""

    why: Template


class Wait(_Step, frozen=True, tag="wait"):
    """End the attempt until an answer is given to the message, ``$.answer`` from then on."""


class Fail(_Step, frozen=True, tag="fail"):
    """Fail: at once, or as ``technical`` after the attempts that are left."""

    kind: Failure = msgspec.field(name="as")
    why: Template


class End(_Step, frozen=True, tag="end"):
    """End the route here: as OK, or as an attempt without effect, which does not count."""

    kind: Literal["ok", "no effect"] = msgspec.field(name="as")


Step: TypeAlias = Call | Funnel | Split | Keep | Remember | Wait | Fail | End
STEPS: Final[dict[str, type[Step]]] = {
    "call": Call,
    "funnel": Funnel,
    "split": Split,
    "keep": Keep,
    "remember": Remember,
    "wait": Wait,
    "fail": Fail,
    "end": End,
}
"""By what a step says that it does."""
LAST: Final = (Split, Fail, End)
"""Behind one of these, unless it has a condition, no step is reached."""
