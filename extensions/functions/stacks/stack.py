"""A stack, and what is kept of it. Where a field is one of AWS's, it is kept by AWS's name."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import field

from emulator.kinesis import Scope
from extensions.functions.engine.errors import LambdaError


class BadStackError(LambdaError):
    """CloudFormation refuses a template, a parameter, or what is asked of a stack."""

    def __init__(self, message: str, code: str = "ValidationError") -> None:
        super().__init__(code, message)


class TransformFailedError(BadStackError):
    """A transform does not take a template."""


class StackResource(msgspec.Struct, omit_defaults=True):
    """A resource of a stack: its properties without intrinsic functions, and what was made by them.

    ``physical`` is the id of what was made; "" while there is nothing. ``keys`` are the arguments by which
    its service knows it, and ``attributes`` those of Fn::GetAtt.
    """

    type: str = field(name="ResourceType")
    properties: dict[str, Any] = {}
    status: str = field(default="", name="ResourceStatus")
    reason: str = field(default="", name="ResourceStatusReason")
    physical: str = field(default="", name="PhysicalResourceId")
    changed: float = field(default=0.0, name="Timestamp")
    keys: dict[str, str] = {}
    attributes: dict[str, str] = {}
    deletion_policy: str = "Delete"
    replace_policy: str = "Delete"


class StackEvent(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of a stack or of one of its resources, at a ``time`` in seconds since the epoch."""

    id: str = field(name="EventId")
    time: float = field(name="Timestamp")
    logical: str = field(name="LogicalResourceId")
    physical: str = field(name="PhysicalResourceId")
    type: str = field(name="ResourceType")
    status: str = field(name="ResourceStatus")
    reason: str = field(default="", name="ResourceStatusReason")
    properties: str = field(default="", name="ResourceProperties")


class Draft(msgspec.Struct, kw_only=True):
    """A template with its parameters, of which the values of those ``hidden`` are not shown.

    ``processed`` is the template without transforms.
    """

    template: str = ""
    processed: str = ""
    parameters: dict[str, str] = {}
    hidden: list[str] = []
    tags: list[dict[str, str]] = field(default_factory=list, name="Tags")
    capabilities: list[str] = field(default_factory=list, name="Capabilities")
    on_failure: str = "ROLLBACK"


class ChangeSet(msgspec.Struct, kw_only=True):
    """A change set. ``reason`` says why it cannot be executed, where its status is FAILED."""

    id: str = field(name="ChangeSetId")
    name: str = field(name="ChangeSetName")
    created: float = field(name="CreationTime")
    draft: Draft
    description: str = field(default="", name="Description")
    status: str = field(default="CREATE_COMPLETE", name="Status")
    reason: str = field(default="", name="StatusReason")
    changes: list[dict[str, Any]] = field(default_factory=list, name="Changes")


class Stack(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A stack. ``before`` is what it had when its change began, until that is done or undone.

    ``former`` is its draft then.
    """

    id: str = field(name="StackId")
    name: str = field(name="StackName")
    account: str
    region: str
    created: float = field(name="CreationTime")
    draft: Draft
    status: str = field(default="", name="StackStatus")
    reason: str = field(default="", name="StackStatusReason")
    updated: float = field(default=0.0, name="LastUpdatedTime")
    deleted: float = field(default=0.0, name="DeletionTime")
    description: str = field(default="", name="Description")
    protected: bool = field(default=False, name="EnableTerminationProtection")
    outputs: list[dict[str, str]] = field(default_factory=list, name="Outputs")
    resources: dict[str, StackResource] = {}
    before: dict[str, StackResource] = {}
    former: Draft | None = None
    events: list[StackEvent] = []
    change_sets: dict[str, ChangeSet] = {}

    @property
    def scope(self) -> Scope:
        return Scope(self.account, self.region)
