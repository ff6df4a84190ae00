"""The steps of a route in the integration file, one kind for each thing that an exchange can do."""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

import msgspec

from extensions.processing.calls import KeyKind
from extensions.processing.stored_messages import Binding

Template: TypeAlias = Any
"""A template of ``expressions``; a text that does not begin with ``$`` is literal."""
Failure: TypeAlias = Literal["validation", "business", "nothing found", "several found", "technical"]


class _Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="do"):
    """A step; it is left out unless the condition ``when`` holds."""

    when: str | None = None


class CallStep(_Step, frozen=True, tag="call"):
    """Call a simulated system; the call succeeds once, even if the message is processed several times.

    ``request`` is the request, by default the body of the message. ``known_by`` is the kind of the key: by
    default the object, or the message if that names no object. ``key`` and ``operation`` are those of
    ``Exchange.call``. Later steps read the answer as ``$.answers.NAME``, where NAME is ``operation`` or else
    the system. A business error is collected, or fails the message.
    """

    system: str
    request: Template = None
    known_by: KeyKind | None = None
    key: Template = None
    operation: str | None = None
    business_errors: Literal["collect", "fail"] = "collect"

    @property
    def name(self) -> str:
        """The name of the answer in ``$.answers``."""
        return self.operation or self.system


class Funnel(_Step, frozen=True, tag="funnel"):
    """Postpone the message while another of the same ``value`` is being processed.

    ``in_order`` also waits for open messages with an earlier timestamp. ``without_failed`` does not wait for
    messages that FAILED. ``component`` names the place of the order, by default the route.
    """

    value: Template
    in_order: bool = False
    without_failed: bool = False
    component: str | None = None


class DeclaredChild(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A child; with ``each``, the path of a list, one child for each element, which ``$`` stands for.

    Without ``body`` the child has the element, or else the body of the parent.
    """

    service: str
    operation: str
    each: str | None = None
    body: Template = None
    object_id: Template = None
    entity_type: Template = None
    funnel: Template = None
    binding: Binding = Binding.HARD


class SplitStep(_Step, frozen=True, tag="split"):
    """Split the message into children, whose first run is in this order; the route ends here."""

    children: tuple[DeclaredChild, ...]


class Keep(_Step, frozen=True, tag="keep"):
    """Keep data for the next attempts, which read it as ``$.kept``."""

    value: Template


class Remember(_Step, frozen=True, tag="remember"):
    """Collect a business error and continue; the source gets it at the end."""

    why: Template


class Wait(_Step, frozen=True, tag="wait"):
    """End the attempt until the message is given an answer, which later attempts read as ``$.answer``."""


class Fail(_Step, frozen=True, tag="fail"):
    """Fail the message: at once, or with ``technical`` after the remaining attempts."""

    kind: Failure = msgspec.field(name="as")
    why: Template


class EndStep(_Step, frozen=True, tag="end"):
    """End the route: as OK, or as an attempt without effect, which is not counted."""

    kind: Literal["ok", "no effect"] = msgspec.field(name="as")


Step: TypeAlias = CallStep | Funnel | SplitStep | Keep | Remember | Wait | Fail | EndStep
STEPS: Final[dict[str, type[Step]]] = {
    "call": CallStep,
    "funnel": Funnel,
    "split": SplitStep,
    "keep": Keep,
    "remember": Remember,
    "wait": Wait,
    "fail": Fail,
    "end": EndStep,
}
"""The kinds of steps by the value of ``do``."""
LAST: Final = (SplitStep, Fail, EndStep)
"""A step behind one of these is never reached, unless the earlier step has a condition."""
