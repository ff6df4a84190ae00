"""The shapes of the control API, shared by its server, its clients and its OpenAPI document."""

from rdss_sandbox.shapes.audit import AuditPlace, AuditStatus
from rdss_sandbox.shapes.buckets import Bucket, BucketList, ObjectPage, ObjectRow
from rdss_sandbox.shapes.clock import ClockChange, ClockReading
from rdss_sandbox.shapes.events import Event, EventPage, News, event_of
from rdss_sandbox.shapes.faults import (
    Fault,
    FaultAttribute,
    FaultChange,
    FaultList,
    FaultType,
    FaultTypes,
    NewFault,
)
from rdss_sandbox.shapes.messages import (
    Count,
    Counts,
    MessageDetail,
    MessagePage,
    MessageRead,
    MessageReads,
    MessageRow,
    NewMessage,
    Original,
    Sent,
    StoredMessage,
)
from rdss_sandbox.shapes.refusals import Problem, Refusal
from rdss_sandbox.shapes.sequences import JoinedSequence, SequencePage, SequenceRow
from rdss_sandbox.shapes.status import Health, Reset, Status, Version
from rdss_sandbox.shapes.streams import Reshard, Shard, Stream, StreamDetail, StreamList
from rdss_sandbox.shapes.topology import (
    AuditTap,
    BucketName,
    Populated,
    StreamName,
    Topology,
    TransitionSeconds,
)

__all__ = [
    "AuditPlace",
    "AuditStatus",
    "AuditTap",
    "Bucket",
    "BucketList",
    "BucketName",
    "ClockChange",
    "ClockReading",
    "Count",
    "Counts",
    "Event",
    "EventPage",
    "Fault",
    "FaultAttribute",
    "FaultChange",
    "FaultList",
    "FaultType",
    "FaultTypes",
    "Health",
    "JoinedSequence",
    "MessageDetail",
    "MessagePage",
    "MessageRead",
    "MessageReads",
    "MessageRow",
    "NewFault",
    "NewMessage",
    "News",
    "ObjectPage",
    "ObjectRow",
    "Original",
    "Populated",
    "Problem",
    "Refusal",
    "Reset",
    "Reshard",
    "Sent",
    "SequencePage",
    "SequenceRow",
    "Shard",
    "Status",
    "StoredMessage",
    "Stream",
    "StreamDetail",
    "StreamList",
    "StreamName",
    "Topology",
    "TransitionSeconds",
    "Version",
    "event_of",
]
